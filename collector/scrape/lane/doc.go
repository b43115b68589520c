// Package lane is the fast way to ask many addresses the same thing again and
// again: plain HTTP/1.1 to IP addresses, over connections that belong to one
// address each, with no goroutine for any of them.
//
// A [Lane] is one address and one request. A [Batch] puts the requests of many
// lanes together: it sends one after the other, and reads the answers as they
// come, in one goroutine. That is what it is for: waking up costs more than all
// the work on a page. Between two looks at what came the batch sleeps for ten
// milliseconds, so that one look finds many answers; the kernel notes when each of
// them came, so no answer takes longer for it.
//
// # What it believes
//
// Only the plainest answer: HTTP/1.1 with status 200, one Content-Length of at
// most the limit, header lines of printable ASCII, neither encoded nor in chunks,
// and not a byte after the body. Names, TLS, proxies, credentials and redirects
// have no lane at all. A fuzz test holds what it believes to net/http: whatever
// it accepts net/http reads the same way, to the last byte.
//
// # When it gives up
//
// On any other answer, on a failure, and when the answer is not there within a
// fifth of a second. It then closes the connection and says only that there is no
// answer: the caller asks again through net/http, which also says what is wrong.
// The lane rests afterwards, five minutes after an answer that it does not
// believe and a minute after two in a row that took too long, so that few requests
// are sent twice. A kept connection that ends just as it is used again is no reason
// to rest.
//
// # Connections
//
// A connection serves one lane only, and an answer is read into memory that holds
// nothing else, so no address gets another's bytes. A connection over which
// something came that was not asked for is replaced before it is used again. All
// count among the connections that the process may have; lanes keep none while
// others wait for one.
package lane
