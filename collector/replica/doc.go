// Package replica owns one replica: where its server answers, the page that is
// taken from it down the line to a published snapshot, and the questions that
// are asked next to it.
//
//	fetch -> parse -> relabel -> derive -> assess -> snapshot
//
// All that changes belongs to one owner at a time; see owner. What takes time
// runs next to it as a short job (page, health, identity, iterations, canary),
// which gets a copy of what it needs and hands back one answer.
//
// When a replica is due is not its business: its collector says so. It knows
// neither other replicas nor kinds of servers by name.
package replica
