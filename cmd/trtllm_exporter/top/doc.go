// Package top shows the fleet that an exporter knows in a terminal: a table that
// follows it, a closer look at one replica, and the same once as text. It asks an
// exporter over HTTP and must not know how servers are scraped or judged, nor
// where the exporter runs.
package top
