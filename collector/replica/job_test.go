package replica

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/fetch"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// another is a server of another kind than there was.
func another(t *testing.T, before fetch.Server, kind engine.Kind) fetch.Server {
	t.Helper()
	e, ok := engine.Of(string(kind))
	require.True(t, ok)
	before.Engine, before.Epoch = e, before.Epoch+1
	return before
}

func TestAnswersOfAnotherKindOfServerAreDropped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := step(t, tritonAnswers(), nil)
		s.due()
		s.shows(`engine_version="2.51.0"`)
		// What is asked of Triton now is answered when another server is there.
		s.change(func(now *answering) { now.apiTakes = time.Second })
		s.after(time.Minute)
		s.due()
		s.owner.do(func() {
			require.True(t, s.jobs.health.running)
			require.True(t, s.jobs.identity.running)
			s.change(func(now *answering) { *now = serveAnswers("1.1.0", "") })
			s.found(s.ctx, another(t, s.server0(), engine.TRTLLMServe))
			require.Nil(t, s.answers.Health, "all that was known is forgotten")
			require.Nil(t, s.answers.Facts)
		})
		synctest.Wait()
		s.owner.do(func() {
			require.False(t, s.jobs.identity.running, "the questions to the new one were answered at once")
			require.Equal(t, "1.1.0", s.answers.Facts.EngineVersion)
			require.Equal(t, 1, s.count("/version"))
		})
		s.after(5 * time.Second)
		s.owner.do(func() {
			require.Equal(t, "1.1.0", s.answers.Facts.EngineVersion, "and the old ones came to nothing")
			require.Equal(t, "llama", s.answers.Facts.Models[0].Name)
			require.Len(t, s.answers.Facts.Models, 1)
		})
	})
}

// server0 is what is known of the server.
func (s *stepped) server0() fetch.Server { return s.Replica.server }

func TestAnAnswerIsHandedToTheOwner(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := step(t, tritonAnswers(), nil)
		ctx, cancel := context.WithCancel(t.Context())
		taken := 0
		hand := func(epoch int) { s.hand(ctx, epoch, func() { taken++ }) }
		hand(s.server0().Epoch)
		require.Equal(t, 1, taken)
		hand(s.server0().Epoch - 1)
		require.Equal(t, 1, taken, "of another kind of server")
		cancel()
		hand(s.server0().Epoch)
		require.Equal(t, 1, taken, "of a replica that ended")
	})
}

func TestAJobThatPanicsIsBackAndHasFailed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		panics := 0
		s := step(t, tritonAnswers(), func(_ *target.Target, p *Pool) { p.Panicked = func() { panics++ } })
		var j job
		var came error
		s.owner.do(func() {
			begin(s.ctx, s.Replica, &j, "work", func(context.Context) int { panic("a bug") }, func(_ int, failed error) { came = failed })
			require.True(t, j.running)
		})
		synctest.Wait()
		require.False(t, j.running)
		require.ErrorContains(t, came, "a bug")
		s.owner.do(func() {
			begin(s.ctx, s.Replica, &j, "work", func(context.Context) error { return nil }, func(error, error) { panic(errors.New("another")) })
		})
		synctest.Wait()
		require.False(t, j.running, "what takes the answer may panic too")
		require.Equal(t, 2, panics)
	})
}

func TestWhetherAQuestionIsPutAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		long := time.Now()
		time.Sleep(time.Minute)
		since := time.Now()
		time.Sleep(time.Minute)
		for _, c := range []struct {
			says        string
			j           job
			asks, again bool
		}{
			{"it never was", job{}, true, false},
			{"its answer is of before", job{began: long, answered: long}, true, false},
			{"its answer is of since then", job{began: since, answered: since}, false, false},
			{"it runs since then", job{running: true, began: since}, false, false},
			{"it runs since before", job{running: true, began: long}, false, true},
			{"it runs since before, and there is an answer", job{running: true, began: time.Now(), answered: since}, false, false},
		} {
			asked := false
			want(t.Context(), &c.j, since, func(context.Context) { asked = true })
			require.Equal(t, c.asks, asked, c.says)
			require.Equal(t, c.again, c.j.again, c.says)
		}
	})
}
