// Package web serves what the exporter knows: the merged page on /metrics, the state of the
// replicas as JSON and HTML, service discovery of its own pages, probes, and the lifecycle paths.
// It reads snapshots and never scrapes, so no target can slow it down or make it fail. For the
// status pages it keeps the last ten minutes of a few numbers of each replica in memory. It must
// not know how pages are parsed, how series are derived or where targets come from. Begin reading
// at [Server.Handler] in routes.go.
package web
