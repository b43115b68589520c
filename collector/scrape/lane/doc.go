// Package lane repeats the same request to many addresses at little cost: plain HTTP/1.1 to
// IP addresses, over connections that belong to one address each, without a goroutine for
// any of them. It must not know the limits of pools, nor what the answers are for.
//
// A [Lane] is one address and one request. A [Batch] sends the requests of many lanes one
// after the other, and reads the answers as they arrive, in one goroutine. Waking up costs
// more than all the work on a page, so the batch sleeps for ten milliseconds between two
// looks at the sockets, and one look finds many answers. The kernel notes when each of them
// arrived, so the pause does not count in its duration. Begin reading at [Batch.Run].
//
// # What it accepts
//
// A lane accepts the plainest answer only: HTTP/1.1 with status 200, one Content-Length
// within the limit, at most one Content-Type, header lines of printable ASCII, neither
// encoded nor chunked, and no byte after the body. Host names, TLS, proxies, credentials and
// configured headers have no lane at all. The fuzz test FuzzLane compares it with net/http:
// an answer that a lane accepts, net/http reads in the same way, with the same body and
// content type, wherever the network splits it.
//
// # When it gives up
//
// A lane gives up on any other answer, when the connection fails, and when the answer is
// not complete within a fifth of a second. It then closes the connection and reports only
// that there is no answer: the caller repeats the request through net/http, which also finds
// the reason. So that few requests are sent twice, the lane rests afterwards: for five
// minutes after an answer that it does not accept or a connection that fails, for a minute
// after the second late answer in a row. It does not rest after a kept connection that ends
// just as it is used again.
//
// # Connections
//
// A connection serves one lane only, and an answer is read into memory that holds nothing
// else, so no address can get the bytes of another. A connection over which data arrived
// between two requests is replaced before it is used again. All connections count among
// those that the process may have, and no lane keeps one while a request waits for one.
package lane
