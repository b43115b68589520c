package replica

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/fetch"
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
		s.owner.Do(func() {
			require.True(t, s.jobs.health.Running)
			require.True(t, s.jobs.identity.Running)
			s.change(func(now *answering) { *now = serveAnswers("1.1.0", "") })
			s.found(s.ctx, another(t, s.server0(), engine.TRTLLMServe))
			require.Nil(t, s.answers.Health, "all that was known is forgotten")
			require.Nil(t, s.answers.Facts)
		})
		synctest.Wait()
		s.owner.Do(func() {
			require.False(t, s.jobs.identity.Running, "the questions to the new one were answered at once")
			require.Equal(t, "1.1.0", s.answers.Facts.EngineVersion)
			require.Equal(t, 1, s.count("/version"))
		})
		s.after(5 * time.Second)
		s.owner.Do(func() {
			require.Equal(t, "1.1.0", s.answers.Facts.EngineVersion, "and the old ones came to nothing")
			require.Equal(t, "llama", s.answers.Facts.Models[0].Name)
			require.Len(t, s.answers.Facts.Models, 1)
		})
	})
}

// server0 is what is known of the server.
func (s *stepped) server0() fetch.Server { return s.Replica.server }
