// Package top shows the fleet of an exporter in a terminal: a table that refreshes itself, the
// details of one replica, and the table once as text. It asks the exporter over HTTP, and must
// not know how servers are scraped or judged, nor where the exporter runs.
package top
