package main

import (
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/tools/fixture"
)

// The wall clock of the program is set three times while a counter grows: an hour forward,
// two hours back, and half a minute forward. No page shows it. The test is compiled with
// the time package of tools/clock/overlay.sh, for which an environment variable schedules
// the jumps.
func TestC04WallClockJumps(t *testing.T) {
	if os.Getenv("CLOCK_JUMPS") == "" {
		t.Skip("run by make e2e-clock, with another time package")
	}
	const from, last = 12 * time.Second, 40 * time.Second
	address, now := counting(t, 0)
	p := started(
		t,
		fixture.FreeAddress(t, "127.0.0.1"),
		`export TIME_JUMPS=15:3600,24:-7200,33:30; exec "$0" "$@"`,
		tritonPool("scrape_interval: 1s, window: 10s", address),
	)
	start := time.Now()
	p.healthy()
	time.Sleep(time.Until(start.Add(from)))
	var offsets []time.Duration
	for time.Since(start) < last {
		page := p.metrics()
		require.InDelta(t, 1, number(t, page, "trtllm_exporter_target_up"), 0)
		require.Greater(
			t,
			number(t, page, "nv_inference_request_success"),
			now()-7*perSecond,
			"an old page %s after the start",
			time.Since(start),
		)
		require.InDelta(
			t,
			perSecond,
			number(t, page, "llm_server_requests_per_second"),
			rateWithin,
			"%s after the start",
			time.Since(start),
		)
		_, code, err := p.get("/-/healthy")
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, code)
		offsets = append(offsets, p.wallClock())
		time.Sleep(50 * time.Millisecond)
	}
	require.NotRegexp(t, "target_scrape_failures_total{", p.metrics())
	require.InDelta(t, 0, number(t, p.metrics(), "trtllm_exporter_target_counter_resets_total"), 0)
	for _, jump := range []time.Duration{0, time.Hour, -time.Hour, -time.Hour + 30*time.Second} {
		require.True(
			t,
			slices.ContainsFunc(offsets, func(d time.Duration) bool { return (d - jump).Abs() < 5*time.Second }),
			"the program's clock was never off by %s: %v",
			jump,
			offsets,
		)
	}
}

// wallClock returns the difference between the program's wall clock and ours, by its last
// scrape.
func (p *process) wallClock() time.Duration {
	body, code, err := p.get("/targets?format=json")
	require.NoError(p.t, err)
	require.Equal(p.t, http.StatusOK, code, body)
	var doc struct {
		Targets []struct {
			LastScrape time.Time `json:"last_scrape"`
		}
	}
	require.NoError(p.t, json.Unmarshal([]byte(body), &doc), body)
	require.Len(p.t, doc.Targets, 1, body)
	return time.Until(doc.Targets[0].LastScrape)
}
