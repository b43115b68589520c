// Package api queries a server's API for its health, identity and iterations. It keeps earlier
// answers as long as they count.
//
// Package engine defines, for each kind of server, the requests and the meaning of answers; the
// replica decides when to send them. The package must know neither how pages are fetched or
// parsed nor replicas. Begin reading at [Endpoint] and [Answers.Reconcile].
package api
