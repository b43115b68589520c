// Package api calls a server's own API: whether the server is there and ready, who it is,
// and for its iterations. It keeps those of the earlier answers that still count.
//
// Each kind of server defines in package engine which requests there are and what an answer
// means; the replica decides when to send them. The package must not know how pages are
// fetched or parsed, nor replicas. Begin reading at [Endpoint] and [Answers.Reconcile].
package api
