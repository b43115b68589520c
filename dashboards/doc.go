// Package dashboards owns the dashboards for Grafana 11 and later: what they
// show, in Go, and how that becomes the JSON that Grafana reads. The JSON is
// committed under json; `go generate` writes it again.
//
// The package knows the names of the exporter's metrics and must not know how
// they come about. Queries are held to the catalogue by tools/querycheck.
package dashboards

import (
	"bytes"
	"encoding/json"
)

//go:generate go run ../tools/dashboards json

// All are the dashboards, in the order of their links.
func All() []Dashboard {
	all := []Dashboard{fleet(), replica(), latency(), capacity(), gpu(), versions(), exporter()}
	for i := range all {
		all[i].complete()
	}
	return all
}

// ClusterLabel is the label of clusters unless another is chosen.
const ClusterLabel = "cluster"

// Encode writes a dashboard as Grafana reads it, for series that have the given
// label of clusters, empty for none.
func Encode(d *Dashboard, clusterLabel string) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(d.folded().choosing(clusterLabel)); err != nil {
		return nil, err
	}
	return []byte(labelled(out.String(), clusterLabel)), nil
}
