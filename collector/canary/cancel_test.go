package canary_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/canary"
	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// cancelWithin is the time that servers have in these tests, pageEvery the interval of
// their pages.
const (
	cancelWithin = 4 * time.Second
	pageEvery    = time.Second
)

// checked runs one cancel check against a simulated server with a page every second, and
// returns its result. Meanwhile is called with each page before the canary sees it.
func checked(
	t *testing.T,
	s simulate.Spec,
	q canary.Question,
	tokens int,
	meanwhile func(page int, r *simulate.Replica, n *network, load *canary.Load),
) (found, reason string, r *simulate.Replica) {
	t.Helper()
	r, n := simulated(t, s)
	c := canary.DefaultConfig
	c.CancelWithin, c.CancelTokens = model.Duration(cancelWithin), tokens
	record := &canary.Record{}
	record.Order(&canary.Order{Question: q, ModelID: "llama"})
	require.True(t, record.Take(c.Ask(t.Context(), n, q), time.Minute), "the report waits for nothing")
	require.Equal(t, canary.OK, record.Last().Last.Result, record.Last().Last.Reason)
	record.WantCancel(cancelWithin)
	outcomes := make(chan canary.Cancellation, 1)
	for page := range 40 {
		time.Sleep(pageEvery)
		load := canary.Load{
			Requested: time.Now(),
			Received:  time.Now(),
			InFlight:  float64(r.Truth().InFlight),
			Known:     true,
		}
		meanwhile(page, r, n, &load)
		record.Observe(load)
		if order, pace, seen := record.NextCancel(); order != nil {
			go func() { outcomes <- c.Cancel(t.Context(), n, order.Question, pace, seen) }()
		}
		synctest.Wait()
		select {
		case d := <-outcomes:
			record.Canceled(d)
		default:
		}
		record.Due()
		if status := record.Status(); status.Cancel != "" {
			require.NotNil(t, record.Next(), "the next request may be sent")
			r.Stall(false)
			return status.Cancel, status.CancelReason, r
		}
		require.Nil(t, record.Next(), "no other request meanwhile")
	}
	t.Fatal("the check has no result")
	return "", "", nil
}

// TestCancelCheckOutcomes checks every kind of server that streams, with everything that can
// happen meanwhile. Simulated servers of TensorRT-LLM behind Triton, NIM and Dynamo continue to
// the last token, the others stop.
func TestCancelCheckOutcomes(t *testing.T) {
	stops := map[string]bool{"trtllm-serve": true, "an old trtllm-serve": true, "vLLM": true, "SGLang": true}
	nothing := func(int, *simulate.Replica, *network, *canary.Load) {}
	other := func(from int) func(int, *simulate.Replica, *network, *canary.Load) {
		return func(page int, _ *simulate.Replica, _ *network, load *canary.Load) {
			if page >= from {
				load.InFlight++
			}
		}
	}
	for _, trouble := range []struct {
		name   string
		tokens int
		// meanwhile runs at each page.
		meanwhile func(page int, r *simulate.Replica, n *network, load *canary.Load)
		// stopping and other are the results of servers that stop, and of others.
		stopping, going canary.CancelResult
		reason          string
	}{
		{"nothing", 4000, nothing, canary.Freed, canary.Held, "after"},
		{"the answer completes too early", 20, nothing, canary.Unclear, canary.Unclear, "raise cancel_tokens"},
		{"other requests before", 4000, other(0), canary.Busy, canary.Busy, "before it"},
		{"other requests meanwhile", 4000, other(1), canary.Busy, canary.Busy, "meanwhile"},
		{
			"the page disappears", 4000,
			func(page int, _ *simulate.Replica, _ *network, load *canary.Load) { load.Known = page == 0 },
			canary.Unclear, canary.Unclear, "no page showed",
		},
		{
			"the page does not show it", 4000,
			func(_ int, _ *simulate.Replica, _ *network, load *canary.Load) { load.InFlight = 0 },
			canary.Unclear, canary.Unclear, "no page showed",
		},
		{"the executor stands still", 4000, func(page int, r *simulate.Replica, _ *network, _ *canary.Load) {
			r.Stall(page > 0)
		}, canary.Held, canary.Held, "in flight"},
		{
			"requests fail", 4000,
			func(_ int, r *simulate.Replica, _ *network, _ *canary.Load) { r.FailRequests(true) },
			canary.Unclear, canary.Unclear, "",
		},
		{"the process ends", 4000, func(page int, r *simulate.Replica, _ *network, load *canary.Load) {
			r.Stop()
			if page == 0 {
				load.InFlight = 0
			}
		}, canary.Unclear, canary.Unclear, "connect"},
	} {
		for name, s := range questions() {
			t.Run(trouble.name+", "+name, bubble(func(t *testing.T) {
				s.spec.Workload.MaxOutput = 5000
				want := trouble.going
				if stops[name] {
					want = trouble.stopping
				}
				found, reason, _ := checked(t, s.spec, s.question, trouble.tokens, trouble.meanwhile)
				require.Equal(t, string(want), found, reason)
				require.Contains(t, reason, trouble.reason)
			}))
		}
	}
}

// observe shows a record a page after a while.
func observe(r *canary.Record, after time.Duration, inFlight float64) {
	time.Sleep(after)
	r.Observe(canary.Load{Requested: time.Now(), Received: time.Now(), InFlight: inFlight, Known: true})
}

func TestCancelCheckSeries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := ordered("v1")
		rowsOf := func() []string {
			var all []string
			for _, row := range rows(r) {
				if strings.HasPrefix(row, "canary_cancel_") {
					all = append(all, row)
				}
			}
			return all
		}
		check := func(freed float64) {
			r.Take(answered("a"), time.Minute)
			r.WantCancel(cancelWithin)
			observe(r, time.Second, 0)
			order, pace, seen := r.NextCancel()
			require.NotNil(t, order)
			require.InDelta(t, 214*time.Millisecond, pace, float64(time.Millisecond), "1.5 s for 7 tokens")
			again, _, _ := r.NextCancel()
			require.Nil(t, again, "it is asked once")
			observe(r, time.Second, 1)
			<-seen
			r.Canceled(canary.Cancellation{At: time.Now(), SelfEnd: time.Now().Add(time.Hour)})
			observe(r, cancelWithin, freed)
		}
		require.Empty(t, rowsOf())
		check(0)
		require.Equal(t, []string{
			"canary_cancel_success{llama,} 1", "canary_cancel_checks_total{llama,freed} 1",
			"canary_cancel_seconds{llama,} 4",
		}, rowsOf())
		check(1)
		held := []string{
			"canary_cancel_success{llama,} 0", "canary_cancel_checks_total{llama,freed} 1",
			"canary_cancel_checks_total{llama,held} 1",
		}
		require.Equal(t, held, rowsOf())
		require.Equal(t, "held", r.Status().Cancel)
		require.Equal(t, "the request was in flight 4s after its client left", r.Status().CancelReason)
		require.Empty(t, failing(r), "a server that continues serves")

		r.Take(answered("a"), time.Minute)
		r.WantCancel(cancelWithin)
		observe(r, time.Second, 3)
		require.Equal(t, "held", r.Status().Cancel, "the canary's request may still be counted")
		observe(r, cancelWithin, 3)
		require.Equal(t, append(held, "canary_cancel_checks_total{llama,busy} 1"), rowsOf(),
			"what the last check that could tell showed stays")

		down := order("v1")
		down.Hold = "the replica is down"
		r.Order(down)
		require.NotContains(t, strings.Join(rowsOf(), "\n"), "canary_cancel_success")
	})
}

func TestEveryCanaryFamilyIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := ordered("v1")
		report := answered("a")
		report.EngineQueue, report.EngineFirstToken = time.Millisecond, time.Second
		r.Take(report, time.Minute)
		r.Take(report, time.Minute)
		r.WantCancel(cancelWithin)
		observe(r, time.Second, 0)
		order, _, _ := r.NextCancel()
		require.NotNil(t, order)
		observe(r, time.Second, 1)
		r.Canceled(canary.Cancellation{At: time.Now(), SelfEnd: time.Now().Add(time.Hour)})
		observe(r, time.Second, 0)
		var shown, listed []string
		r.Series(func(family, _, _ string, _ float64) { shown = append(shown, derive.Prefix+family) })
		for _, f := range canary.Catalogue() {
			listed = append(listed, f.Name)
			require.Equal(t, "Canary", f.Section)
		}
		require.Equal(t, listed, slices.Compact(shown))
	})
}

func TestCancelCheckFollowsGoodRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := ordered("v1")
		begins := func() bool {
			observe(r, time.Second, 0)
			o, _, _ := r.NextCancel()
			return o != nil
		}
		r.WantCancel(cancelWithin)
		require.False(t, begins(), "before the first request")
		r.Take(stall(), time.Minute)
		r.WantCancel(cancelWithin)
		require.False(t, begins(), "after one that failed")
		r.Take(answered("a"), time.Minute)
		r.WantCancel(0)
		require.False(t, begins(), "where it is off")
		r.WantCancel(cancelWithin)
		require.True(t, begins(), "where it is wanted")
	})
}

// Before ours is sent, a page may show another request.
func TestCancelCheckWaitsForRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := serve(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			require.Equal(t, http.MethodGet, req.Method, "nothing is sent when it is over")
			play(w, req, script{hangs})
		}))
		seen := make(chan struct{})
		time.AfterFunc(time.Second, func() { close(seen) })
		d := config().Cancel(t.Context(), n, triton(), time.Second, seen)
		require.Zero(t, d.At)
		require.NotEmpty(t, d.Reason)
	})
}
