// Package engine describes the kinds of LLM servers: their ports and paths, how to tell them apart,
// what their APIs answer about version, models and health, and what their series mean in terms of
// the exporter's own signals.
//
// Begin with [Engine], the interface that describes one kind, and base, which has the default for
// every method. A kind is one value, declared in the file of its name; larger kinds continue in
// files that begin with that name. To add a kind, embed base, fill in its fields, override what
// differs and call register. All other files serve every kind: they look at the value and name no
// kind.
//
// The package holds no state and no windows, reads no clock, and does no I/O of its own: requests
// go through a [Client].
package engine
