package replica

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

func TestScrapeOnce(t *testing.T) {
	for _, c := range []struct {
		name    string
		change  func(now *answering)
		target  func(*target.Target, *Pool)
		scrapes int
		// takes is the duration, in a bubble where only servers take time.
		takes          time.Duration
		health         target.Health
		reason         string
		version, state string
	}{
		{
			name:    "is one page when the API answers in time",
			change:  func(now *answering) { now.apiTakes = 100 * time.Millisecond },
			scrapes: 1,
			takes:   300 * time.Millisecond,
			health:  target.HealthUp,
			version: "2.51.0",
			state:   "ready",
		},
		{
			name:    "is one more when the API takes longer than the page waits",
			change:  func(now *answering) { now.apiTakes = 700 * time.Millisecond },
			scrapes: 2,
			takes:   2100 * time.Millisecond,
			health:  target.HealthUp,
			version: "2.51.0",
			state:   "ready",
		},
		{
			name:    "waits no longer than for an answer of the API",
			change:  func(now *answering) { now.apiTakes = never },
			scrapes: 2,
			takes:   4 * time.Second,
			health:  target.HealthUp,
			version: "unknown",
			state:   "ready",
		},
		{
			name:    "asks the API why there is no page",
			change:  func(now *answering) { now.failed = failed(scrape.ReasonEmpty) },
			scrapes: 2,
			health:  target.HealthDown,
			reason:  "empty",
			version: "2.51.0",
			state:   "blind",
		},
		{
			name:    "is two pages where there is no API",
			target:  func(t *target.Target, _ *Pool) { t.MetricsURL, t.APIURL = "http://10.0.0.1:1/metrics", "" },
			scrapes: 2,
			health:  target.HealthUp,
			version: "unknown",
			state:   "ready",
		},
		{
			name:    "is one where nobody known is",
			change:  func(now *answering) { now.page, now.api = "", nil },
			target:  func(t *target.Target, _ *Pool) { t.Engine, t.MetricsURL = target.Auto, "http://10.0.0.1:8000" },
			scrapes: 1,
			health:  target.HealthDown,
			reason:  "empty",
			version: "unknown",
			state:   "unknown",
		},
		{
			name:    "is the page of a stranger, who has no API to wait for",
			change:  func(now *answering) { now.page, now.api = "x 1\n", nil },
			target:  func(t *target.Target, _ *Pool) { t.Engine, t.MetricsURL = target.Auto, "http://10.0.0.1:8000" },
			scrapes: 1,
			health:  target.HealthUp,
			version: "unknown",
			state:   "silent",
		},
		{
			name:    "is none of a silent target",
			target:  func(t *target.Target, _ *Pool) { t.Silent = true },
			health:  target.HealthUnknown,
			version: "unknown",
			state:   "silent",
		},
	} {
		t.Run(c.name, bubble(func(t *testing.T) {
			now := tritonAnswers()
			if c.change != nil {
				c.change(&now)
			}
			s := step(t, now, c.target)
			start := time.Now()
			status := s.ScrapeOnce(s.ctx)
			require.Equal(t, c.takes, time.Since(start))
			require.EqualValues(t, c.scrapes, status.Scrapes)
			require.Equal(t, c.health, status.Health, status.LastError)
			require.Equal(t, c.reason, status.LastReason)
			require.Equal(t, c.version, status.EngineVersion)
			require.Equal(t, c.state, status.State, status.StateReason)
		}))
	}
}

func TestScrapeOnceWaitsForHealth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := serveAnswers("1.1.0", "")
		s := step(t, now, nil)
		s.slow = map[string]time.Duration{"/health": 3 * time.Second}
		status := s.ScrapeOnce(s.ctx)
		require.EqualValues(t, 1, status.Scrapes)
		require.Equal(
			t, "the API answers 200; whether its requests fail is unknown: this release counts no errors",
			status.StateReason,
		)
		s.shows(`llm_server_ready{`)
	})
}
