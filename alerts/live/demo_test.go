//go:build e2e_live

package live

import (
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
)

// TestDemoFiresItsAlerts watches a round of the demo with the shipped rules and configuration: each fault
// lasts until the alert that it is about fires.
func TestDemoFiresItsAlerts(t *testing.T) {
	t.Parallel()
	s := startStack(t, setting{
		exporters: []exporter{{command: []string{"demo"}}},
		values:    shippedValues(t, 0),
	})
	const round = 32 * time.Minute
	pause(t, round)
	fired := make(map[model.LabelValue]bool)
	for _, a := range s.query(t, `count_over_time(ALERTS{alertstate="firing"}[`+round.String()+`])`) {
		fired[a.Metric["alertname"]] = true
		t.Logf("%s fired", a.Metric)
	}
	var missing []string
	for fault, alert := range map[string]model.LabelValue{
		"an executor freezes, and later every request fails": "LLMReplicaBroken",
		"a process is killed again and again":                "LLMReplicaRestarts",
		"a pool gets more requests than it can serve":        "LLMPoolSaturated",
		"a replica runs another version":                     "LLMExpectationMismatch",
	} {
		if !fired[alert] {
			missing = append(missing, fault+": no "+string(alert))
		}
	}
	require.Empty(t, missing)
}
