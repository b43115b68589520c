// Package collector owns the set of replicas: it reconciles them with the targets that
// discovery finds (reconcile.go), schedules their work (scheduler.go), and compares the
// replicas of each pool (pool_series.go). What a replica does when it is due is in
// package replica. The package must not know page formats, kinds of servers, clients of
// /metrics or flags. Begin reading at Run in collector.go.
package collector
