// Package collector owns the set of replicas: it reconciles them with the
// targets that discovery finds, has a clock that says when each is due, and
// compares the replicas of a pool with each other. What a replica does when it
// is due is in package replica. It knows no page format and no kind of server;
// clients of /metrics, flags and files are not its business.
package collector
