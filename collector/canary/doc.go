// Package canary sends canary requests, one small streamed request at a time, to detect what no
// metric shows: streams that never end, dead model processes behind a ready API, and answers that
// change. It records the results and renders their series.
//
// The caller decides which server to query and when. The package must know neither pages, scrapes
// nor kinds of servers, only the two protocols in which answers are streamed. Begin reading at
// [Config.Ask].
package canary
