// Package engine describes the kinds of LLM servers: their ports and paths, how to detect them,
// what their APIs answer about version, models and health, and how their series map to the
// exporter's own signals.
//
// Begin reading at [Engine], the interface that describes one kind, and base, which has defaults
// for all methods. A kind is one value, declared in the file of its name; larger kinds continue in
// files that begin with that name. To add a kind, embed base, fill in its fields, override what
// differs and call register. All other files serve every kind and name none.
//
// The files api_*.go are about one server: [Endpoint] sends the requests, [Answers] keeps the
// answers as long as they count, and [Pacer] decides how soon to query again. The package holds no
// global state and does no I/O: requests go through a [Client].
package engine
