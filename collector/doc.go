// Package collector runs the line from a target to the page: discovery finds
// targets, a loop scrapes each on its own clock, and the pipeline takes every
// page through parse, relabel and derive to a snapshot that readers view.
//
//	discovery -> target -> scrape -> parse -> relabel -> derive -> snapshot
//
// The package owns the life of loops and the exporter's own series about its
// targets. It knows no page format and no names of servers; readers of the
// page, flags and files are not its business.
package collector
