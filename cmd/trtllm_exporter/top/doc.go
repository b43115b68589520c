// Package top shows the fleet of an exporter in a terminal: a table that refreshes itself, the
// details of one replica, and the table once as text. It queries the exporter over HTTP, and must
// know neither how servers are scraped or judged nor where the exporter runs. Begin reading at
// [Run] and [Once].
package top
