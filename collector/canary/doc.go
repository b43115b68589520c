// Package canary sends canary requests, one small streamed request at a time, and owns
// what their answers show that no metric does: streams that never end, dead model
// processes behind a ready API, and answers that change. It keeps the record of the
// results and renders their series.
//
// The caller decides whom to query and when. The package must not know pages, scrapes or
// names of servers, only the two protocols in which answers are streamed.
// Begin reading at Ask in ask.go.
package canary
