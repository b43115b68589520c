//go:build e2e_triton && linux

package e2e

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"
)

// identified returns the labels that a series of the server has on the exporter's page.
func (s *tritonServer) identified(raw labels.Labels) labels.Labels {
	b := labels.NewBuilder(raw)
	b.Set("engine", "triton")
	b.Set("engine_version", s.release.triton)
	b.Set("trtllm_version", s.release.trtllm)
	b.Set("pool_id", "default")
	b.Set("replica_id", s.address())
	if raw.Has("model") {
		b.Set("model_id", "ensemble") // The entry model names all its parts.
	}
	return b.Labels()
}

// requireReexposed requires that the exporter's page has exactly the series of the server.
// The server's page was read before and after the exporter's, which was scraped in between: counters must
// be in between, and series that did not change must be equal to
// the byte. It returns the number of the latter.
func (s *tritonServer) requireReexposed(
	t *testing.T,
	before, exported, after page,
	steady func(sample) bool,
) (exact int) {
	t.Helper()
	expected := map[string]bool{}
	for _, old := range before.raw() {
		latest, still := after.samples[old.labels.String()]
		require.True(t, still, "Triton took %s off its page", old.labels)
		key := s.identified(old.labels).String()
		expected[key] = true
		got, there := exported.samples[key]
		require.True(t, there, "%s is not on the exporter's page", key)
		switch {
		case math.IsNaN(old.value) && math.IsNaN(latest.value):
			require.True(t, math.IsNaN(got.value), "%s is %s, on Triton's page it is not a number", key, got.text)
		case old.text == latest.text && steady(old):
			require.Equal(t, old.text, got.text, key)
			exact++
		case before.grows(old):
			require.GreaterOrEqual(t, got.value, old.value, key)
			require.LessOrEqual(t, got.value, latest.value, key)
		}
	}
	for _, got := range exported.raw() {
		require.True(t, expected[got.labels.String()], "Triton does not have %s", got.labels)
	}
	for name, kind := range before.types {
		require.Equal(t, kind, exported.types[name], "TYPE of %s", name)
		require.Equal(t, before.help[name], exported.help[name], "HELP of %s", name)
	}
	return exact
}

// ofServer reports whether a series is about the server, and not about the machine.
func ofServer(s sample) bool {
	return !strings.HasPrefix(s.labels.Get(model.MetricNameLabel), "nv_cpu_")
}

// restingSeries returns the number of series of an idle server, or the name of one that
// changes.
func restingSeries(before, after page) (count int, moving string) {
	for _, old := range before.raw() {
		switch {
		case !ofServer(old) || old.labels.Has(model.QuantileLabel):
		case old.text != after.samples[old.labels.String()].text:
			return 0, old.labels.String()
		default:
			count++
		}
	}
	return count, ""
}

// requireSameWhenIdle compares the pages of an idle server some seconds after its start.
func (s *tritonServer) requireSameWhenIdle(t *testing.T, e *exporter) {
	t.Helper()
	s.shows(t, idle())
	for end := time.Now().Add(patience); ; {
		before := s.page(t)
		exported := e.renewed(t)
		after := s.page(t)
		resting, moving := restingSeries(before, after)
		if moving == "" {
			exact := s.requireReexposed(t, before, exported, after, ofServer)
			require.GreaterOrEqual(t, exact, resting)
			t.Logf("%d of %d series equal to the byte", exact, len(before.samples))
			return
		}
		require.True(t, time.Now().Before(end), "%s moves while Triton idles", moving)
	}
}
