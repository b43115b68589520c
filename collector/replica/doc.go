// Package replica owns the state of one replica: it takes a page of its server
// down the line to a published snapshot, and has what else is asked of the
// server asked next to that.
//
//	fetch -> parse -> relabel -> derive -> assess -> snapshot
//
// All that changes is changed under the replica's lock. What takes time runs next to
// that as a short job (page, health, identity, iterations, canary), which gets a copy
// of what it needs and hands back one answer.
//
// When a replica is due is not its business: its collector says so. It knows
// neither other replicas nor kinds of servers by name.
package replica
