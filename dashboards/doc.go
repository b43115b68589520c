// Package dashboards defines the Grafana dashboards in Go and encodes them as JSON for Grafana 11
// and later. The JSON is committed under json; `go generate` writes it.
//
// The package knows the names of the exporter's metrics but must not know how they are computed;
// tools/querycheck checks the queries against the catalogue. Begin reading at fleet in fleet.go.
package dashboards

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

//go:generate go run ../tools/dashboards json

// All returns the dashboards in the order of their links.
func All() []Dashboard {
	all := []Dashboard{
		fleet(), replica(), latency(), capacity(), disaggregation(), gpu(), versions(), exporter(),
	}
	for i := range all {
		all[i].complete()
	}
	return all
}

// ClusterLabel is the default name of the cluster label.
const ClusterLabel = "cluster"

// Encode returns the JSON of a dashboard for the given cluster label, empty if there is none.
func Encode(d *Dashboard, clusterLabel string) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(d.collapse().withoutClusterVariable(clusterLabel)); err != nil {
		return nil, err
	}
	return []byte(withAddresses(withClusterLabel(out.String(), clusterLabel), d.exporter, d.runbook)), nil
}

// Write writes all dashboards into a directory, customized by chosen.
func Write(folder, clusterLabel string, chosen *Choices) error {
	for _, d := range All() {
		text, err := Encode(d.With(chosen), clusterLabel)
		if err != nil {
			return fmt.Errorf("%s: %w", d.UID, err)
		}
		if err := writeWhole(filepath.Join(folder, d.UID+".json"), text); err != nil {
			return err
		}
	}
	return nil
}

// writeWhole writes a file, or leaves the one that is there: Grafana may read it at any time, and a disk may be full.
func writeWhole(path string, text []byte) error {
	part := path + ".part"
	err := os.WriteFile(part, text, 0o644) //nolint:gosec // Grafana reads it as another user.
	if err == nil {
		err = os.Rename(part, path)
	}
	if err != nil {
		_ = os.Remove(part) // It may not be there.
	}
	return err
}
