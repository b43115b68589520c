package replica

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// rows returns iteration statistics of a server with one decoding request.
func rows(numbers ...int) string {
	var all []string
	for _, n := range numbers {
		all = append(
			all,
			fmt.Sprintf(
				`{"iter":%d,"numActiveRequests":1,"numQueuedRequests":3,"inflightBatchingStats":{"numGenRequests":1}}`,
				n,
			),
		)
	}
	return "[" + strings.Join(all, ",") + "]"
}

// iterating returns a replica whose iterations are read.
func iterating(t *testing.T) *stepped {
	t.Helper()
	now := serveAnswers("1.1.0", "")
	now.api["/metrics"] = "[]"
	s := step(t, now, func(_ *target.Target, p *Pool) { p.IterationStats = true })
	s.due()
	return s
}

// reads makes the replica read an answer and returns its series.
func (s *stepped) reads(answer string) engine.Iterations {
	s.change(func(now *answering) { now.api["/metrics"] = answer })
	s.after(5 * time.Second)
	s.send()
	return *s.answers.Iterations
}

func TestIterationsAreReadAndSummed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := iterating(t)
		require.False(t, s.reads("[]").Read, "an idle server has none")
		s.due()
		require.NotContains(t, s.page(), "llm_server_iteration_stats_read_total")
		now := s.reads(rows(1, 2, 3))
		require.True(t, now.Read, "the statistics were read: %+v", now)
		require.EqualValues(t, 3, now.Iterations)
		s.due()
		s.shows(
			`llm_server_iteration_stats_read_total{engine="trtllm-serve",engine_version="1.1.0",` +
				`pool_id="llama-70b-prod",replica_id="r0",trtllm_version="1.1.0"} 3`,
		)
		s.shows(
			`llm_server_iteration_stats_queued_requests{engine="trtllm-serve",engine_version="1.1.0",` +
				`pool_id="llama-70b-prod",replica_id="r0",trtllm_version="1.1.0"} 3`,
		)
		require.True(t, s.reads("[]").Read, "statistics without a row were read")
		s.due()
		require.NotContains(t, s.page(), "llm_server_iteration_stats_queued_requests", "no iteration is new")
		s.shows(`llm_server_iteration_stats_read_total{`)
	})
}

func TestOtherReaderOfIterations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const foreign = `llm_server_iteration_stats_foreign_reader{engine="trtllm-serve",engine_version="1.1.0",` +
			`pool_id="llama-70b-prod",replica_id="r0",trtllm_version="1.1.0"} `
		s := iterating(t)
		s.reads(rows(1, 2))
		s.due()
		s.shows(foreign + "0")
		require.EqualValues(t, 2, s.reads(rows(5)).Missing)
		s.due()
		s.shows(foreign + "1")
		s.after(5*time.Minute - time.Second)
		s.due()
		s.shows(foreign + "1")
		s.after(time.Second)
		s.due()
		s.shows(foreign + "0")
	})
}

func TestFailedReadIsNoOtherReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := iterating(t)
		s.reads(rows(1, 2))
		now := s.reads("no list")
		require.EqualValues(t, 1, now.Failures)
		require.EqualValues(t, 2, now.Iterations, "what was read stays")
		require.Nil(t, now.Queued)
		now = s.reads(rows(5))
		require.EqualValues(t, 2, now.Missing)
		require.False(t, now.ForeignReader(), "they went with the answer that was lost")
		require.EqualValues(t, 1, now.Failures)
		now = s.reads(rows(9))
		require.True(t, now.ForeignReader(), "now it is somebody else")
	})
}

func TestOneReadAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := iterating(t)
		before := s.count("/metrics")
		s.slow = map[string]time.Duration{"/metrics": never}
		s.send()
		s.send()
		require.Equal(t, before+1, s.count("/metrics"))
		s.after(5*time.Second - 1)
		require.Nil(t, s.answers.Iterations)
		s.after(1)
		require.EqualValues(t, 1, s.answers.Iterations.Failures)
		s.send()
		require.Equal(t, before+2, s.count("/metrics"))
	})
}

func TestNoIterationsWithoutSupport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := step(t, tritonAnswers(), func(_ *target.Target, p *Pool) { p.IterationStats = true })
		s.due()
		pages := s.count("/metrics")
		s.send()
		require.Nil(t, s.answers.Iterations)
		require.Equal(t, pages, s.count("/metrics"))
		s = step(t, serveAnswers("1.1.0", ""), nil)
		require.Len(t, s.Schedules(), 1, "the operator does not say so")
	})
}
