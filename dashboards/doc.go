// Package dashboards owns the dashboards for Grafana 11 and later: what they
// show, in Go, and how that becomes the JSON that Grafana reads. The JSON is
// committed under json; `go generate` writes it again.
//
// The package knows the names of the exporter's metrics and must not know how
// they come about. Queries are held to the catalogue by tools/querycheck.
package dashboards

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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
	return []byte(strings.ReplaceAll(labelled(out.String(), clusterLabel), runbook+"#", cmp.Or(d.runbook, runbook)+"#")), nil
}

// Write writes every dashboard into a folder, with what is chosen otherwise.
func Write(folder, clusterLabel string, chosen *Choices) error {
	for _, d := range All() {
		text, err := Encode(d.With(chosen), clusterLabel)
		if err != nil {
			return fmt.Errorf("%s: %w", d.UID, err)
		}
		if err := os.WriteFile(filepath.Join(folder, d.UID+".json"), text, 0o644); err != nil { //nolint:gosec // Grafana reads it as another user.
			return err
		}
	}
	return nil
}
