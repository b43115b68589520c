package main

import (
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The wall clock of the program is set three times in front of a counter that
// moves all the while: an hour forward, two hours back, half a minute forward.
// That is seen in no page. The test is compiled with the time package of
// tools/clock/overlay.sh, in which the environment says when the clock jumps.
func TestC04WallClockJumps(t *testing.T) {
	if os.Getenv("CLOCK_JUMPS") == "" {
		t.Skip("make e2e-clock runs it: it needs a time package of its own")
	}
	const from, last = 12 * time.Second, 40 * time.Second
	address, now := counting(t, 0)
	p := started(t, freeAddress(t, "127.0.0.1"), `export TIME_JUMPS=15:3600,24:-7200,33:30; exec "$0" "$@"`, tritonPool("scrape_interval: 1s, window: 10s", address))
	began := time.Now()
	p.healthy()
	time.Sleep(time.Until(began.Add(from)))
	var apart []time.Duration
	for time.Since(began) < last {
		page := p.metrics()
		require.InDelta(t, 1, number(t, page, "trtllm_exporter_target_up"), 0)
		require.Greater(t, number(t, page, "nv_inference_request_success"), now()-7*perSecond, "an old page %s after the start", time.Since(began))
		require.InDelta(t, perSecond, number(t, page, "llm_server_requests_per_second"), rateWithin, "%s after the start", time.Since(began))
		_, code, err := p.get("/-/healthy")
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, code)
		apart = append(apart, p.wallClock())
		time.Sleep(50 * time.Millisecond)
	}
	require.NotRegexp(t, "target_scrape_failures_total{", p.metrics())
	require.InDelta(t, 0, number(t, p.metrics(), "trtllm_exporter_target_counter_resets_total"), 0)
	for _, jump := range []time.Duration{0, time.Hour, -time.Hour, -time.Hour + 30*time.Second} {
		require.True(t, slices.ContainsFunc(apart, func(d time.Duration) bool { return (d - jump).Abs() < 5*time.Second }), "the program's clock was never %s from ours: %v", jump, apart)
	}
}

// wallClock returns how far the program's wall clock is from ours, by its last scrape.
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
