package main

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	versioncollector "github.com/prometheus/client_golang/prometheus/collectors/version"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
)

// ownMetrics writes the table of the exporter's own metrics.
func ownMetrics(b *bytes.Buffer) error {
	b.WriteString("\n" + ownHead)
	if err := buildInfo(b); err != nil {
		return err
	}
	for _, m := range assess.ExporterMetrics() {
		ownMetric(b, m.Name, string(m.Type), m.Labels(), m.Help)
	}
	return nil
}

func ownMetric(b *bytes.Buffer, name, typ string, labels []string, help string) {
	text := ""
	if len(labels) > 0 {
		text = words(slices.Sorted(slices.Values(labels)))
	}
	fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", name, typ, text, cell(help))
}

// buildInfo writes the metric that Prometheus' library makes of the version of a program.
func buildInfo(b *bytes.Buffer) error {
	registry := prometheus.NewRegistry()
	registry.MustRegister(versioncollector.NewCollector("trtllm_exporter"))
	families, err := registry.Gather()
	if err != nil {
		return err
	}
	for _, f := range families {
		var labels []string
		for _, pair := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, pair.GetName())
		}
		ownMetric(b, f.GetName(), "gauge", labels, f.GetHelp())
	}
	return nil
}
