//go:build e2e_deb && linux

package deb

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
)

// identity returns the labels of every series of a model.
func identity() []string {
	return []string{"engine", "engine_version", "trtllm_version", "pool_id", "replica_id", "model_id"}
}

// replica is a server of the simulated fleet.
type replica struct {
	Pool    string `json:"pool_id"`
	Name    string `json:"replica_id"`
	Metrics string `json:"metrics_url"`
	API     string `json:"api_url"`
	Health  string `json:"health"`
}

// startFleet starts the demo as a unit and returns the addresses of its servers.
func (m *machine) startFleet(t *testing.T) []replica {
	t.Helper()
	// A copy, because the package is removed later.
	m.run(t, "[ -x /root/fleet ] || cp /usr/bin/trtllm_exporter /root/fleet")
	m.run(t, "systemd-run --unit=fleet /root/fleet demo --web.listen-address=127.0.0.1:19802")
	const ask = "curl -sf 'http://127.0.0.1:19802/targets?format=json'"
	var fleet []replica
	within(t, "the fleet answers", func() bool {
		output, err := m.try(ask)
		if err != nil {
			return false
		}
		var doc struct{ Targets []replica }
		require.NoError(t, json.Unmarshal([]byte(output), &doc), "%s", output)
		fleet = doc.Targets
		for _, r := range fleet {
			if r.Health != "up" {
				return false
			}
		}
		return len(fleet) > 1
	})
	return fleet
}

// configuration returns a configuration for the fleet.
func configuration(t *testing.T, fleet []replica) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("global: { scrape_interval: 1s, scrape_timeout: 900ms, window: 15s }\npools:\n")
	pool := ""
	for _, r := range fleet {
		if r.Pool != pool {
			pool = r.Pool
			fmt.Fprintf(&b, "  - pool_id: %s\n    static_configs:\n", pool)
		}
		page, err := url.Parse(r.Metrics)
		require.NoError(t, err)
		api, err := url.Parse(r.API)
		require.NoError(t, err)
		fmt.Fprintf(&b, "      - { targets: [%q], labels: { replica_id: %q, __metrics_path__: %q, "+
			"__api_address__: %q } }\n",
			page.Host, r.Name, page.Path, api.Host)
	}
	return b.String()
}

// page returns the exporter's page, or an error.
func (m *machine) page() (map[string]*dto.MetricFamily, error) {
	text, err := m.try("curl -sf http://127.0.0.1:9802/metrics")
	if err != nil {
		return nil, err
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	return parser.TextToMetricFamilies(strings.NewReader(text + "\n"))
}

// replicasOf counts derived series of models by replica, and requires all identity labels.
func replicasOf(t *testing.T, page map[string]*dto.MetricFamily) map[string]int {
	t.Helper()
	found := map[string]int{}
	for name, family := range page {
		if !strings.HasPrefix(name, "llm_server_") {
			continue
		}
		for _, metric := range family.GetMetric() {
			labels := map[string]string{}
			for _, pair := range metric.GetLabel() {
				labels[pair.GetName()] = pair.GetValue()
			}
			if labels["model_id"] == "" {
				continue // It is about a replica or a pool.
			}
			for _, label := range identity() {
				require.NotEmpty(t, labels[label], "%s of %v has no %s", name, labels, label)
			}
			found[labels["pool_id"]+"/"+labels["replica_id"]]++
		}
	}
	return found
}

// scrapes waits until the page has every replica with rates.
func (m *machine) scrapes(t *testing.T, fleet []replica) {
	t.Helper()
	within(t, "the page has the whole fleet", func() bool {
		page, err := m.page()
		if err != nil {
			return false
		}
		found := replicasOf(t, page)
		for _, r := range fleet {
			if found[r.Pool+"/"+r.Name] == 0 {
				return false
			}
		}
		return len(page["llm_server_generation_tokens_per_second"].GetMetric()) > 0 && len(found) == len(fleet)
	})
}
