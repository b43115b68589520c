// Package lane repeats the same request to many addresses at little cost: plain HTTP/1.1 to
// IP addresses, over one connection per address, without a goroutine for each. It must know
// neither the limits of pools nor what the answers are used for.
//
// A [Lane] is one address and one request. A [Batch] sends the requests of many lanes one
// after the other and reads the answers as they arrive, in one goroutine. Waking up costs
// more than all the work on a page, so the batch polls the sockets only every ten
// milliseconds. The kernel timestamps each answer, so the pause does not count in its
// duration. Begin reading at [Batch.Run].
//
// A lane accepts only the simplest answers: HTTP/1.1 with status 200, a head of at most 4 KiB,
// one Content-Length within the limit, at most one Content-Type, header lines of printable
// ASCII, neither encoded nor chunked, and no byte after the body. FuzzLane is the check against
// net/http: whatever bytes a server sends, split anywhere, an answer that the lane accepts has
// the same body and content type there.
//
// On any other answer, if the connection fails, or if the answer is not complete within 200 ms,
// the lane closes the connection and reports only that there is no answer: the caller repeats
// the request through net/http, which also finds the reason. After one failure the lane is used
// again, since the exporter's machine may be busy and a server may close a kept connection at
// any time. After a second in a row, of any kind, it rests for five minutes, and later after
// each further one, until an answer is accepted: few requests are sent twice.
//
// No address can receive the bytes of another, since a connection serves a single lane and
// each answer has its own memory. A connection over which data arrived between two requests
// is replaced. All connections count against the limit of the process: a lane never waits for
// one, and while others wait, connections that no request uses are closed.
package lane
