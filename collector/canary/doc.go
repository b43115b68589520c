// Package canary owns the canary: one small streamed request to a server, what
// its answer shows that no metric does, the record of those so far, and its
// entries of the catalogue with their series. A stream that never ends, dead model processes behind a ready API, and answers that
// changed are seen by a client only.
//
// A request is bounded in every way: one request at a time, a deadline for the
// whole and for each of its stages, a limit on what is read. Whom to ask and
// when is the caller's to say; the package must not know pages, scrapes or
// names of servers, only the two protocols that answers are streamed in.
package canary
