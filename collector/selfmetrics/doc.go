// Package selfmetrics is the table of the exporter's metrics about itself and its
// targets: every name, type, HELP text and label is written here and nowhere
// else. Rooms make their metrics from it, queries of dashboards and alerts are
// checked against it. It knows neither values nor the rooms that have them.
package selfmetrics
