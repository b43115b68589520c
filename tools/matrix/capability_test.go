package matrix_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/tools/matrix"
)

// TestOutcomesMatchCapability requires error ratios on every page of a window in
// which requests ended, and none where the capability says that they are unknown.
func TestOutcomesMatchCapability(t *testing.T) {
	everyCell(t, func(c *cell) {
		for i := range c.seen {
			rate, ended := c.seen[i].Value("requests_per_second")
			_, shown := c.seen[i].Value("request_error_ratio", "class", string(engine.ClassServer))
			can := c.seen[i].Capabilities[engine.CanOutcomes]
			require.Equal(c, is(c.scenario.Pages[i].Scrape.OK, "capabilities"), is(can.Reason != "", "capabilities"),
				"page %d", i)
			require.Equal(c, is(can.OK && ended && rate > 0, "error ratios"), is(shown, "error ratios"),
				"page %d: outcomes %t, %s", i, can.OK, can.Reason)
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
			if confirmed && len(last.Still) > 0 {
				require.Equal(c, assess.Stalled, last.State, last.Reason)
			} else {
				require.NotEqual(c, assess.Stalled, last.State, can.Reason)
			}
			// One question is asked. Where the page shows no steps, it takes two to restart a server.
			live := last.State != assess.Stalled || last.Routes || stepless(last.Still)
			require.Equal(c, is(live, "live"), is(last.Probes.Live, "live"), last.Reason)
		case "requests come and nothing moves", "the same over missed scrapes", "the queue grows and nothing moves",
			"hung, and nobody comes", "clients left, gauges are stale":
			require.Equal(c, is(len(last.Still) > 0, "suspected"), is(last.Suspected, "suspected"), last.Reason)
			if last.Suspected {
				require.Equal(c, "able to show a stall", is(can.OK, "able to show a stall"), can.Reason)
			}
			require.Equal(c, assess.Ready, last.State, last.Reason)
		default:
			require.NotEqual(c, assess.Stalled, last.State, last.Reason)
		}
	})
}

// TestHealthyServersAreNeverBroken checks that no single sign makes a healthy server
// broken, which a probe would answer with 503.
func TestHealthyServersAreNeverBroken(t *testing.T) {
	everyCell(t, func(c *cell) {
		if !c.scenario.Healthy {
			return
		}
		for i := range c.seen {
			require.NotEqual(c, assess.Broken, c.seen[i].Severity, "page %d: %s", i, c.seen[i].Reason)
			require.Equal(c, "live", is(c.seen[i].Probes.Live, "live"), "page %d: %s", i, c.seen[i].Reason)
		}
	})
}

// TestQuantitiesMatchCapabilities compares the other capabilities of every healthy server
// with the quantities that are derived from its pages.
func TestQuantitiesMatchCapabilities(t *testing.T) {
	families := map[string][]string{
		engine.CanTokens: {"generation_tokens_total"},
		engine.CanLiveTokens: {
			"generation_tokens_live_per_second", "generation_tokens_per_second_estimate",
			"generation_tokens_per_second",
		},
		engine.CanQueue:     {"queue_depth"},
		engine.CanRunning:   {"requests_running"},
		engine.CanTTFT:      {"time_to_first_token_average_seconds"},
		engine.CanTPOT:      {"inter_token_latency_average_seconds", "time_per_output_token_average_seconds"},
		engine.CanQuantiles: {"request_duration_percentile_seconds"},
		engine.CanKVCache:   {"kv_cache_utilization_ratio"},
		engine.CanKVReuse: {
			"kv_cache_reuse_ratio", "kv_cache_reuse_ratio_estimate", "prompt_cache_hit_ratio", "kv_cache_hit_ratio",
		},
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
			require.Equal(c, is(can.OK, families[0]), is(shown, families[0]), "capability %s: %s", name, can.Reason)
		}
	})
}

// TestAbsentQuantitiesHaveReasons has every quantity of every server, and a reason for each that is absent.
func TestAbsentQuantitiesHaveReasons(t *testing.T) {
	for _, server := range matrix.Servers() {
		all, err := matrix.Findings(seenOf, &server)
		require.NoError(t, err)
		require.Len(t, all, len(matrix.Quantities()))
		for _, q := range all {
			require.Equal(t, is(q.Shown, "shown"), is(q.Why == "", "shown"), "%s: %s: %s", server.Name, q.Name, q.Why)
			known := func(f derive.Family) bool { return f.Name == q.Family }
			require.True(t, q.Family == "" || slices.ContainsFunc(assess.Catalogue(), known), "no family is %s", q.Family)
		}
	}
}

// TestRequestDurationMatchesCapability requires the mean duration of successful
// requests, and none where the capability says that there is none.
func TestRequestDurationMatchesCapability(t *testing.T) {
	everyCell(t, func(c *cell) {
		for i := range c.seen {
			seconds, shown := c.seen[i].Value("request_duration_average_seconds")
			can := c.seen[i].Capabilities[engine.CanE2E]
			if shown {
				require.Equal(
					c,
					"durations",
					is(can.OK, "durations"),
					"page %d shows one, the capability says: %s",
					i,
					can.Reason,
				)
				require.InDelta(c, 2, seconds, 1e-9, "page %d", i)
			}
			if from := c.windowFrom(i); can.OK && c.grown(engine.ClassOK, from, i) > 0 {
				require.Equal(c, "durations", is(shown, "durations"), "page %d, whose window has good requests", i)
			}
		}
	})
}

// stepless reports whether the page shows no step of the engine whose work stands still.
func stepless(still []derive.Stillness) bool { return len(still) > 0 && still[0].Stepless }
