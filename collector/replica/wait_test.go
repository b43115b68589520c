package replica

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape/lane"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

func TestFirstPageWaitsForIdentity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := tritonAnswers()
		now.pageTakes, now.apiTakes = 200*time.Millisecond, 100*time.Millisecond
		s := step(t, now, nil)
		s.due()
		require.Zero(t, s.after(250*time.Millisecond).Scrapes, "the page is there, its labels are not")
		require.Empty(t, s.page())
		status := s.after(time.Second)
		require.EqualValues(t, 1, status.Scrapes)
		require.Equal(t, 200*time.Millisecond, status.LastDuration, "the time of the page, not of the API")
		require.Less(t, status.LastSuccess.Sub(status.LastScrape), 250*time.Millisecond)
		require.Equal(t, "http://10.0.0.1:8000/metrics", status.PageURL)
		require.Equal(t, "ready", status.State)
		require.Equal(
			t,
			"the API answers 200; whether its requests fail is unknown: the counters of durations are off, and with "+
				"them every other counter stops",
			status.StateReason,
		)
		s.shows(`nv_inference_request_success{engine="triton",engine_version="2.51.0",model="tensorrt_llm"`)
	})
}

func TestFirstPageHoldTime(t *testing.T) {
	for _, c := range []struct {
		name    string
		timeout time.Duration
		waits   time.Duration
	}{
		{"a second", 4 * time.Second, time.Second},
		{"half of a shorter timeout", time.Second, 500 * time.Millisecond},
	} {
		t.Run(c.name, bubble(func(t *testing.T) {
			now := tritonAnswers()
			now.apiTakes = never
			s := step(t, now, func(target *target.Target, _ *Pool) { target.Timeout = c.timeout })
			s.due()
			require.Zero(t, s.after(c.waits-1).Scrapes)
			status := s.after(1)
			require.EqualValues(t, 1, status.Scrapes)
			require.Equal(t, target.HealthUp, status.Health)
			require.Equal(t, "ready", status.State)
			require.Zero(t, status.LastDuration, "an API that hangs costs the scrape nothing")
			s.shows(`nv_inference_request_success{engine="triton",engine_version="unknown"`)
		}))
	}
}

func TestFirstPageIsHeldUntilNextScrape(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := tritonAnswers()
		now.apiTakes = never
		s := step(t, now, nil)
		s.due()
		require.Zero(t, s.after(300*time.Millisecond).Scrapes)
		s.due()
		require.EqualValues(t, 2, s.after(0).Scrapes, "the first, and the second that waits for nothing")
		require.Equal(t, 2, s.count("/metrics"))
	})
}

func TestLaterPagesAreNotHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := step(t, tritonAnswers(), nil)
		s.due()
		require.EqualValues(t, 1, s.after(0).Scrapes)
		s.change(func(now *answering) { now.apiTakes = never })
		for n := range uint64(10) {
			s.after(5 * time.Second)
			s.due()
			require.Equal(t, n+2, s.after(0).Scrapes)
		}
		s.shows(`engine_version="2.51.0"`)
	})
}

func TestFirstPageAfterFaultWaitsForIdentity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := step(t, tritonAnswers(), nil)
		s.due()
		s.shows(`engine_version="2.51.0"`)
		s.change(func(now *answering) { now.failed = failed(scrape.ReasonHTTPStatus) })
		s.after(5 * time.Second)
		s.due()
		require.Equal(t, target.HealthDown, s.after(0).Health)
		s.change(func(now *answering) {
			now.failed, now.apiTakes = nil, 100*time.Millisecond
			now.api["/v2"] = `{"name":"triton","version":"2.60.0","extensions":["statistics"]}`
		})
		s.after(5 * time.Second)
		s.due()
		require.EqualValues(t, 2, s.after(90*time.Millisecond).Scrapes)
		require.EqualValues(t, 3, s.after(900*time.Millisecond).Scrapes)
		s.shows(`nv_inference_request_success{engine="triton",engine_version="2.60.0"`)
		require.NotContains(t, s.page(), "2.51.0")
	})
}

func TestPageOfLaneWaitsInItsOwnGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		page := func(n int) string { return fmt.Sprintf("nv_inference_count{model=\"m\"} %d\n", n) }
		now := tritonAnswers()
		now.page, now.api["/v2/repository/index"] = page(100), indexOfM
		s := step(t, now, nil)
		s.due()
		s.change(func(now *answering) {
			now.apiTakes = 300 * time.Millisecond
			now.api["/v2"] = `{"name":"triton","version":"2.60.0","extensions":["statistics"]}`
		})
		s.after(5 * time.Second)
		var run jobRun
		s.update(func() { run = s.startJob(s.ctx, &s.jobs.page) })
		answer := lane.Answer{Body: []byte(page(3)), ContentType: "text/plain", Received: time.Now()}
		run.scrapeAndPublish(s.fetcher(), &answer)
		clear(answer.Body)
		require.EqualValues(t, 1, s.after(200*time.Millisecond).Scrapes)
		require.EqualValues(t, 2, s.after(900*time.Millisecond).Scrapes)
		s.shows(`nv_inference_count{engine="triton",engine_version="2.60.0"`)
	})
}

func TestRefusedPageWaitsForAPI(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := step(t, tritonAnswers(), nil)
		s.due()
		s.change(func(now *answering) {
			now.failed, now.apiTakes, now.refused = failed(scrape.ReasonConnect), 300*time.Millisecond, true
		})
		s.after(5 * time.Second)
		s.due()
		require.Equal(t, "ready", s.after(200*time.Millisecond).State, "unknown whether there is an API")
		require.Equal(t, "down", s.after(100*time.Millisecond).State)
		s.after(5 * time.Second)
		s.due()
		require.EqualValues(t, 3, s.after(0).Scrapes, "the next one waits for nothing")
	})
}

func TestPageStartsToBeRefused(t *testing.T) {
	ready, up := &engine.Health{API: engine.APIReady}, target.Scraping{Health: target.HealthUp}
	for _, c := range []struct {
		name   string
		failed error
		was    target.Scraping
		health *engine.Health
		begins bool
	}{
		{"a page", nil, up, ready, false},
		{"the port closed", failed(scrape.ReasonConnect), up, ready, true},
		{"the connection ended", failed(scrape.ReasonReset), up, ready, true},
		{"another failure", failed(scrape.ReasonTimeout), up, ready, false},
		{
			"it was refused before", failed(scrape.ReasonConnect),
			target.Scraping{Health: target.HealthDown, LastReason: "connect"},
			ready, false,
		},
		{
			"it failed otherwise before", failed(scrape.ReasonConnect),
			target.Scraping{Health: target.HealthDown, LastReason: "reset"},
			ready, true,
		},
		{
			"its first scrape", failed(scrape.ReasonConnect),
			target.Scraping{Health: target.HealthUnknown},
			ready, true,
		},
		{"an API without a request", failed(scrape.ReasonConnect), up, nil, false},
		{"an API that refused before", failed(scrape.ReasonConnect), up, &engine.Health{API: engine.APIRefused}, false},
		{"an API without valid answers", failed(scrape.ReasonConnect), up, &engine.Health{}, false},
		{"an API that returned an error", failed(scrape.ReasonConnect), up, &engine.Health{API: engine.APIFailed}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &Replica{status: target.Status{Scraping: c.was}, answers: engine.Answers{Health: c.health}}
			require.Equal(t, c.begins, r.newlyRefused(c.failed))
		})
	}
}
