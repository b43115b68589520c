//go:build e2e_live

package live

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// emptyFile lists the panels that are empty for a healthy server of some kind with
// requests, and the text that they show.
const emptyFile = "testdata/empty.txt"

// occasional returns panels whose data a healthy fleet has only at times.
func occasional() []string {
	return []string{
		"trtllm-fleet / Alerts",
		"trtllm-fleet / Replicas not ready",
		"trtllm-latency / Unsuccessful requests by reason",
		"trtllm-replica / Failures by model",
		"trtllm-capacity / Hidden queue of Triton's executor (estimate)",
	}
}

// TestEmptyPanelsHaveReasons runs the queries of every panel for each kind of server, and
// compares the panels without data with the list.
func TestEmptyPanelsHaveReasons(t *testing.T) {
	s := startStack(t, setting{
		fleet:      healthy().FleetSpec,
		values:     values(t),
		prometheus: []string{"15s", "2s"},
		exporters: []exporter{
			serving(healthyConfig("global: { scrape_interval: 2s, scrape_timeout: 2s, window: 20s }")),
		},
	})
	s.awaitReady(t, s.replicas(), time.Minute)
	filled := make(map[string]map[simulate.Kind]bool)
	for range 3 {
		pause(t, 20*time.Second)
		s.look(t, filled)
	}
	var list strings.Builder
	empty, last := 0, ""
	for _, q := range panelQueries("", "", "") {
		if q.title == last || !ofServers(&q) {
			continue
		}
		last = q.title
		var kinds []string
		for _, kind := range everyKind() {
			if !filled[q.title][kind] {
				kinds = append(kinds, string(kind))
			}
		}
		if len(kinds) > 0 {
			empty++
			reason := q.panel.FieldConfig.Defaults.NoValue
			fmt.Fprintf(&list, "%s: %s\n    %s\n", q.title, strings.Join(kinds, ", "), reason)
			require.NotEmpty(t, reason, q.title)
		}
	}
	t.Logf("%d panels are empty for some kind of server", empty)
	if os.Getenv("LIVE_UPDATE") != "" {
		require.NoError(t, os.MkdirAll("testdata", 0o750))
		require.NoError(t, os.WriteFile(emptyFile, []byte(list.String()), 0o600))
		return
	}
	want, err := os.ReadFile(emptyFile)
	require.NoError(t, err)
	require.Equal(t, string(want), list.String(), "LIVE_UPDATE=1 rewrites %s", emptyFile)
}

// ofServers reports whether the data of a query depend on the kind of server.
func ofServers(q *panelQuery) bool {
	return q.panel.Type != "row" && q.dashboard != "trtllm-exporter" && !slices.Contains(occasional(), q.title)
}

// look records which panels have data for which kind of server.
func (s *stack) look(t *testing.T, filled map[string]map[simulate.Kind]bool) {
	t.Helper()
	for _, kind := range everyKind() {
		for _, q := range panelQueries("10s", "1m", ofKind(kind)) {
			// An objective comes from the configuration and is not a measurement.
			if !ofServers(&q) || filled[q.title][kind] ||
				strings.HasSuffix(q.legend, " objective") || strings.HasSuffix(q.legend, " allowed") {
				continue
			}
			if filled[q.title] == nil {
				filled[q.title] = make(map[simulate.Kind]bool)
			}
			filled[q.title][kind] = len(s.query(t, q.expr)) > 0
		}
	}
}
