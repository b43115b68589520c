package replica

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// another returns a server of another kind.
func another(t *testing.T, before scrape.Server, kind engine.Name) scrape.Server {
	t.Helper()
	e, ok := engine.ByName(string(kind))
	require.True(t, ok, "%s is a kind", kind)
	before.Engine, before.Epoch = e, before.Epoch+1
	return before
}

func TestAnswersOfFormerKindAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := step(t, tritonAnswers(), nil)
		s.due()
		s.shows(`engine_version="2.51.0"`)
		// The request to Triton is answered when another server has replaced it.
		s.change(func(now *answering) { now.apiTakes = time.Second })
		s.after(time.Minute)
		s.due()
		s.update(func() {
			require.True(t, s.jobs.health.running, "its health is asked for")
			require.True(t, s.jobs.identity.running, "its identity is asked for")
			s.change(func(now *answering) { *now = serveAnswers("1.1.0", "") })
			s.setServer(s.ctx, another(t, s.server0(), engine.TRTLLMServe))
			require.Nil(t, s.answers.Health, "all that was known is forgotten")
			require.Nil(t, s.answers.Facts)
		})
		synctest.Wait()
		s.update(func() {
			require.False(t, s.jobs.identity.running, "the questions to the new one were answered at once")
			require.Equal(t, "1.1.0", s.answers.Facts.EngineVersion)
			require.Equal(t, 1, s.count("/version"))
		})
		s.after(5 * time.Second)
		s.update(func() {
			require.Equal(t, "1.1.0", s.answers.Facts.EngineVersion, "the old answers were dropped")
			require.Equal(t, "llama", s.answers.Facts.Models[0].Name)
			require.Len(t, s.answers.Facts.Models, 1)
		})
	})
}

// server0 returns the current server of the replica.
func (s *stepped) server0() scrape.Server { return s.Replica.server }

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := tritonAnswers()
		now.pageTakes = never
		s := step(t, now, nil)
		s.due()
		ctx, cancel := context.WithCancel(s.ctx)
		cancel()
		s.Schedules()[0].Due(ctx, 0, nil)
		synctest.Wait()
		require.Equal(t, 1, s.count("/metrics"), "nothing begins when the context has ended")
		s.cancel()
		for range 2 {
			s.Close()
		}
		s.Schedules()[0].Due(t.Context(), 0, nil)
		synctest.Wait()
		require.Equal(t, 1, s.count("/metrics"), "nor after the end")
	})
}

func TestPanicEndsOneJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := step(t, tritonAnswers(), nil)
		s.update(func() { panic("work") })
		for _, j := range []*job{&s.jobs.health, &s.jobs.identity} {
			var failed error
			s.update(func() {
				runJob(s.startJob(s.ctx, j), "job", func(context.Context) int { panic("job") }, func(_ int, err error) {
					failed = err
					panic("answer")
				})
				require.True(t, j.running, "the job runs")
			})
			synctest.Wait()
			s.update(func() { require.False(t, j.running, "the job has ended although its answer panicked") })
			require.Equal(t, scrape.ReasonPanic, scrape.ReasonOf(failed))
		}
		s.due()
		require.Equal(t, target.HealthUp, s.after(0).Health)
	})
}

func TestConcurrentStartsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		starts := scrape.NewStarts(1)
		slow := tritonAnswers()
		slow.pageTakes = never
		limit := func(_ *target.Target, p *Pool) { p.Starts = starts }
		hangs, second, third := step(t, slow, limit), step(t, tritonAnswers(), limit), step(t, tritonAnswers(), limit)
		hangs.due()
		second.due()
		third.due()
		second.due()
		require.Equal(
			t, []int{1, 0, 0}, []int{hangs.count("/metrics"), second.count("/metrics"), third.count("/metrics")},
		)
		time.Sleep(time.Second / 4)
		synctest.Wait()
		require.Equal(
			t, []int{1, 1, 1}, []int{hangs.count("/metrics"), second.count("/metrics"), third.count("/metrics")},
			"one that hangs keeps the others for a moment only",
		)
		second.due()
		require.Equal(t, 2, second.count("/metrics"))
	})
}

// A list of targets of which most never answer keeps those that answer waiting for nothing.
func TestTargetsThatNeverAnsweredWaitForEachScrape(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		starts := scrape.NewStarts(1)
		limit := func(_ *target.Target, p *Pool) { p.Starts = starts }
		dead, slow := tritonAnswers(), tritonAnswers()
		dead.failed = &scrape.Error{Reason: scrape.ReasonConnect, Err: io.EOF}
		slow.pageTakes = never
		silent, up, hangs := step(t, dead, limit), step(t, tritonAnswers(), limit), step(t, slow, limit)
		silent.due()
		up.due()
		hangs.due()
		silent.due()
		up.due()
		require.Equal(t, []int{1, 2}, []int{silent.count("/metrics"), up.count("/metrics")})
		silent.after(time.Second / 4)
		require.Equal(t, 2, silent.count("/metrics"), "it is its turn")
		silent.change(func(now *answering) { now.failed = nil })
		silent.due()
		silent.after(time.Second / 4)
		require.Equal(t, target.HealthUp, silent.after(0).Health)
	})
}

func TestFreshPagesWaitForStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		starts := scrape.NewStarts(1)
		limit := func(_ *target.Target, p *Pool) { p.Starts = starts }
		slow, now := tritonAnswers(), tritonAnswers()
		slow.pageTakes, now.another = never, now.page
		hangs, up := step(t, slow, limit), step(t, now, limit)
		up.due()
		up.after(5 * time.Second)
		hangs.due()
		before := up.freshPages()
		up.due()
		require.Equal(t, []int{2, before}, []int{up.count("/metrics"), up.freshPages()}, "the page does not wait")
		up.after(time.Second / 4)
		require.Greater(t, up.freshPages(), before, "a start that hangs keeps them for a moment only")
	})
}
