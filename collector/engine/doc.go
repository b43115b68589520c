// Package engine knows the kinds of servers: which answer on which port and
// path, how to tell them apart, which questions tell who they are, and what
// the names of their series mean in the exporter's words. One file holds one
// kind. The package keeps no state, no window and no clock, and does no I/O
// of its own: it asks through an [Asker].
package engine
