// Package engine describes the kinds of LLM servers: their ports and paths, how to detect them,
// what their APIs answer about version, models and health, and how their series map to the
// exporter's own signals.
//
// Begin reading at [Kind]: constants of a kind of server, and functions where these do not suffice.
// A kind is one literal, in the file of its name; larger kinds continue in files that begin with that
// name. To add a kind, write that literal and add it to the list in [All]. All other files serve
// every kind and name none.
//
// The files api_*.go are about one server: [Endpoint] sends the requests, [Answers] keeps the
// answers as long as they count, and [Pacer] decides how soon to query again. The package holds no
// global state and does no I/O: requests go through a [Client].
package engine
