// Package lane repeats the same request to many addresses at little cost: plain HTTP/1.1 to
// IP addresses, over connections that belong to one address each, without a goroutine for
// any of them. It must not know the limits of pools, nor what the answers are for.
//
// A [Lane] is one address and one request. A [Batch] sends the requests of many lanes one
// after the other, and reads the answers as they arrive, in one goroutine. Waking up costs
// more than all the work on a page, so the batch sleeps for ten milliseconds between two
// looks at the sockets. The kernel notes when each answer arrived, so the pause does not
// count in its duration. Begin reading at [Batch.Run].
//
// A lane accepts the plainest answer only: HTTP/1.1 with status 200, one Content-Length
// within the limit, at most one Content-Type, header lines of printable ASCII, neither
// encoded nor chunked, and no byte after the body. FuzzLane checks that net/http reads what
// it accepts in the same way. On any other answer, when the connection fails, and when the
// answer is not complete within a fifth of a second, it closes the connection and reports
// only that there is no answer: the caller repeats the request through net/http, which also
// finds the reason. So that few requests are sent twice, the lane then rests for a while.
//
// No address can get the bytes of another, since a connection serves one lane only and each
// answer has its own memory. A connection over which data arrived between two requests is
// replaced. All connections count among those that the process may have.
package lane
