// Package replica owns the state of one replica. It takes each page of its server through
// these steps to a published snapshot, and calls the server's API alongside:
//
//	fetch -> parse -> relabel -> derive -> assess -> snapshot
//
// State changes only under the replica's lock. Whatever takes time runs without the lock as
// a short job, which gets a copy of what it needs and delivers one answer; see job.go. The
// package must not know other replicas, nor kinds of servers by name. Begin reading at
// scrapeAndPublish in scrape.go.
package replica
