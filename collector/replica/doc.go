// Package replica owns the state of one replica. It takes each page of its server
// through these steps to a published snapshot, and queries the server's API, sends
// canary requests and reads iteration statistics alongside:
//
//	fetch -> parse -> relabel -> derive -> assess -> snapshot
//
// Begin reading at scrapeAndPublish in scrape.go.
//
// State changes only under the replica's lock. Whatever takes time (page, health,
// identity, iterations, canary) runs without the lock as a short job, which gets a
// copy of what it needs and delivers one answer; see job.go.
//
// The collector decides when a replica is due. The package must not know other
// replicas, nor kinds of servers by name.
package replica
