package replica

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

func TestVerdictWaitsForPageInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := step(t, tritonAnswers(), nil)
		s.due()
		s.change(func(now *answering) {
			now.pageTakes, now.apiTakes = 500*time.Millisecond, 300*time.Millisecond
			now.refused = true
		})
		s.after(5 * time.Second)
		s.due()
		require.Equal(t, "ready", s.after(400*time.Millisecond).State, "the API has answered, the page has not")
		status := s.after(100 * time.Millisecond)
		require.EqualValues(t, 2, status.Scrapes)
		require.Equal(t, "draining", status.State)
	})
}

func TestVerdictWaitsForHeldPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := step(t, tritonAnswers(), nil)
		s.due()
		s.change(func(now *answering) { now.failed, now.refused = failed(scrape.ReasonConnect), true })
		s.after(5 * time.Second)
		s.due()
		require.Equal(t, "down", s.after(0).State)
		s.change(func(now *answering) { *now = tritonAnswers() })
		s.slow = map[string]time.Duration{"/v2": 500 * time.Millisecond, "/v2/health/ready": 50 * time.Millisecond}
		s.after(5 * time.Second)
		s.due()
		status := s.after(100 * time.Millisecond)
		require.False(t, s.jobs.health.running, "the request for its health is over, %s", status.StateReason)
		require.Equal(t, "down", status.State, "not blind: there is a page, which waits for who the server is")
		require.Equal(t, "ready", s.after(400*time.Millisecond).State)
	})
}

func TestOutdatedHealthCheckIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := step(t, tritonAnswers(), func(_ *target.Target, p *Pool) { p.IdentityInterval = 5 * time.Second })
		s.due()
		s.change(func(now *answering) { now.failed = failed(scrape.ReasonTimeout) })
		s.after(5 * time.Second)
		s.slow = map[string]time.Duration{"/v2": 2 * time.Second, "/v2/health/ready": 2 * time.Second}
		s.due() // Requests identity and health; the page fails.
		s.change(func(now *answering) { now.failed = nil })
		s.after(time.Second)
		s.due() // The page is back, but these responses are older.
		s.after(10 * time.Second)
		require.Equal(t, 3, s.count("/v2"))
		require.Equal(t, 3, s.count("/v2/health/ready"))
	})
}

func TestHealthAnswerBeforeFirstPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := tritonAnswers()
		now.pageTakes = time.Second
		s := step(t, now, nil)
		s.update(func() { s.queryHealth(s.ctx) })
		status := s.after(0)
		require.NotNil(t, s.answers.Health)
		require.Empty(t, status.State)
		require.Empty(t, s.page())
	})
}

func TestUnchangedHealthPublishesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := step(t, tritonAnswers(), nil)
		s.due()
		s.change(func(now *answering) { now.apiTakes = 300 * time.Millisecond })
		s.after(5 * time.Second)
		s.due()
		before := s.published.snapshot
		s.after(time.Second)
		require.False(t, s.jobs.health.running, "the request for its health is over")
		require.Same(t, before.About, s.published.snapshot.About)
	})
}

// TestSuspectedServerIsAskedWhetherItIsPaused has a vLLM of which a request stands still, because it
// was paused.
func TestSuspectedServerIsAskedWhetherItIsPaused(t *testing.T) {
	bubble(func(t *testing.T) {
		const page = "vllm:num_requests_running{engine=\"0\",model_name=\"m\"} 2\n" +
			"vllm:generation_tokens_total{engine=\"0\",model_name=\"m\"} "
		api := vllmAt("", "m", "0.32.0")
		api["/is_paused"] = `{"is_paused":false}`
		s := step(t, answering{page: page + "1\n", api: api}, func(tgt *target.Target, p *Pool) {
			tgt.Engine, tgt.MetricsURL, p.IdentityInterval = "vllm", "http://10.0.0.1:8000/metrics", time.Hour
		})
		pages := func(from, to int, text func(n int) string) target.Status {
			for n := from; n < to; n++ {
				s.change(func(now *answering) { now.page = page + text(n) + "\n" })
				s.due()
				s.after(5 * time.Second)
			}
			return s.after(0)
		}
		moving, standing := strconv.Itoa, func(int) string { return "5" }
		require.False(t, pages(1, 6, moving).Suspected, "work that moves raises no suspicion")
		require.LessOrEqual(t, s.count("/is_paused"), 2, "its readiness is enough")
		s.change(func(now *answering) { now.api["/is_paused"] = `{"is_paused":true}` })
		now := pages(6, 16, standing)
		require.Equal(t, "unserved", now.State)
		require.True(t, now.Deliberate, "it was done on purpose, %s", now.StateReason)
		require.True(t, now.ProbeLive, "live, %s", now.StateReason)
		require.Contains(t, now.StateReason, "it is paused")
		s.shows(`llm_server_paused{engine="vllm"`)
		s.change(func(now *answering) { now.api["/is_paused"] = `{"is_paused":false}` })
		now = pages(16, 20, moving)
		require.Equal(t, "ready", now.State)
		require.NotContains(t, now.StateReason, "paused")
		asked := s.count("/is_paused")
		pages(20, 30, moving)
		require.Equal(t, asked, s.count("/is_paused"))
	})(t)
}
