package matrix_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// TestOutcomesMatchCapability requires error ratios on every page of a window in
// which requests ended, and none where the capability says that they are unknown.
func TestOutcomesMatchCapability(t *testing.T) {
	everyCell(t, func(c *cell) {
		for i := range c.seen {
			rate, ended := c.seen[i].Value("requests_per_second")
			_, shown := c.seen[i].Value("request_error_ratio", "class", string(engine.ClassServer))
			can := c.seen[i].Capabilities[engine.CanOutcomes]
			require.Equal(c, c.scenario.Pages[i].Scrape.OK, can.Reason != "", "only a page shows capabilities")
			require.Equal(c, can.OK && ended && rate > 0, shown, "page %d, %s", i, can.Reason)
		}
	})
}

// TestStallMatchesCapability compares the capability with the state of servers whose requests hang
// after some went well: it takes a question to tell that from long requests.
func TestStallMatchesCapability(t *testing.T) {
	everyCell(t, func(c *cell) {
		last := &c.seen[len(c.seen)-1]
		can := last.Capabilities[engine.CanStall]
		switch c.scenario.Name {
		case "hung, a request gets nothing":
			confirmed := can.OK && strings.Contains(can.Reason, "confirms it")
			require.Equal(c, confirmed && last.Still.InFlight > 0, last.State == assess.Stalled, can.Reason)
			require.Equal(c, last.State != assess.Stalled || last.Routes, last.Probes.Live)
		case "requests come and nothing moves", "the same over missed scrapes", "the queue grows and nothing moves",
			"hung, and nobody comes", "clients left, gauges are stale":
			require.Equal(c, last.Still.InFlight > 0, last.Suspected, last.Reason)
			require.True(c, can.OK || !last.Suspected, can.Reason)
			require.Equal(c, assess.Ready, last.State)
		default:
			require.NotEqual(c, assess.Stalled, last.State)
		}
	})
}

// TestHealthyServersAreNeverBroken checks that no single sign makes a healthy server
// broken, which a probe would answer with 503.
func TestHealthyServersAreNeverBroken(t *testing.T) {
	everyCell(t, func(c *cell) {
		for i := range c.seen {
			require.False(c, c.scenario.Healthy && c.seen[i].Severity == assess.Broken, "page %d: %s", i, c.seen[i].Reason)
			require.True(c, !c.scenario.Healthy || c.seen[i].Probes.Live, "page %d: %s", i, c.seen[i].Reason)
		}
	})
}

// TestQuantitiesMatchCapabilities compares the other capabilities of every healthy server
// with the quantities that are derived from its pages.
func TestQuantitiesMatchCapabilities(t *testing.T) {
	families := map[string][]string{
		engine.CanTokens:     {"generation_tokens_total"},
		engine.CanLiveTokens: {"generation_tokens_live_per_second", "generation_tokens_per_second_estimate", "generation_tokens_per_second"},
		engine.CanQueue:      {"queue_depth"},
		engine.CanRunning:    {"requests_running"},
		engine.CanTTFT:       {"time_to_first_token_average_seconds"},
		engine.CanTPOT:       {"inter_token_latency_average_seconds", "time_per_output_token_average_seconds"},
		engine.CanQuantiles:  {"request_duration_percentile_seconds"},
		engine.CanKVCache:    {"kv_cache_utilization_ratio"},
		engine.CanKVReuse:    {"kv_cache_reuse_ratio", "kv_cache_reuse_ratio_estimate", "prompt_cache_hit_ratio"},
	}
	everyCell(t, func(c *cell) {
		if c.scenario.Name != "healthy" && c.scenario.Name != "API does not answer" {
			return
		}
		last := &c.seen[len(c.seen)-1]
		for name, families := range families {
			can, shown := last.Capabilities[name], false
			for _, family := range families {
				_, ok := last.Value(family)
				shown = shown || ok
			}
			if name == engine.CanLiveTokens && !can.OK {
				continue // Servers that count when requests end have tokens per second too.
			}
			require.Equal(c, can.OK, shown, "%s: %s", name, can.Reason)
		}
	})
}

// TestRequestDurationMatchesCapability requires the mean duration of successful
// requests, and none where the capability says that there is none.
func TestRequestDurationMatchesCapability(t *testing.T) {
	everyCell(t, func(c *cell) {
		for i := range c.seen {
			seconds, shown := c.seen[i].Value("request_duration_average_seconds")
			can := c.seen[i].Capabilities[engine.CanE2E]
			if shown {
				require.True(c, can.OK, "page %d, %s", i, can.Reason)
				require.InDelta(c, 2, seconds, 1e-9, "page %d", i)
			}
			if from := c.windowFrom(i); can.OK && c.grown(engine.ClassOK, from, i) > 0 {
				require.True(c, shown, "page %d", i)
			}
		}
	})
}
