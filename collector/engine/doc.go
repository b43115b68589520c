// Package engine describes the kinds of LLM servers: their ports and paths, how to detect them,
// what their APIs answer about version, models and health, and how their series map to the
// exporter's own signals.
//
// Begin reading at [Engine], the interface that describes one kind, and base, which has defaults
// for all methods. A kind is one value, declared in the file of its name; larger kinds continue in
// files that begin with that name. To add a kind, embed base, fill in its fields, override what
// differs and call register. All other files serve every kind and name none.
//
// The package holds no state, reads no clock, and does no I/O: requests go through a [Client].
package engine
