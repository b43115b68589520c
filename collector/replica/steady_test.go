package replica

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// complete returns the answers of a Triton that answers every request.
func complete() answering {
	now := tritonAnswers()
	now.api["/v2/models/tensorrt_llm/config"] = `{"name":"tensorrt_llm","backend":"python"}`
	return now
}

// counts returns the numbers of requests for readiness, index, version and page.
func (s *stepped) counts() [4]int {
	return [4]int{s.count("/v2/health/ready"), s.count("/v2/repository/index"), s.count("/v2"), s.count("/metrics")}
}

// rounds lets a number of intervals pass, and returns the requests of the replica.
func (s *stepped) rounds(n int) (requests [4]int) {
	before := s.counts()
	for range n {
		s.after(s.target.Interval)
		s.due()
		s.after(0)
	}
	for i, now := range s.counts() {
		requests[i] = now - before[i]
	}
	return requests
}

func TestUnchangedServerGetsReadinessRequestsOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := step(t, complete(), nil)
		s.due()
		require.Equal(t, "ready", s.after(0).State)
		require.Equal(t, [4]int{10, 0, 0, 10}, s.rounds(10), "one question and one page an interval")
		requests := s.rounds(90)
		require.Equal(t, [2]int{90, 90}, [2]int{requests[0], requests[3]})
		require.InDelta(
			t, 500/(engine.HealthRounds*30)+500/(engine.IdentityRounds*30), requests[1], 2,
			"and all the rest at a slow pace",
		)
		require.InDelta(t, 500/(engine.IdentityRounds*30), requests[2], 1)
	})
}

func TestChangeTriggersAllRequests(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(now *answering)
		// index is the number of requests for the index in the next three intervals, for health
		// or identity.
		index int
		state string
	}{
		{"another shape of the page", func(now *answering) { now.page += "nv_gpu_num 1\n" }, 2, "ready"},
		{"the server is not ready", func(now *answering) { delete(now.api, "/v2/health/ready") }, 3, ""},
		{"nothing", func(*answering) {}, 0, "ready"},
		{"a model is being loaded, as the page shows", func(now *answering) {
			now.page += "nv_gpu_num 1\n"
			now.api["/v2/repository/index"] = `[{"name":"tensorrt_llm","version":"1","state":"READY"},{"name":"b",` +
				`"version":"1","state":"LOADING"}]`
		}, 5, "ready"},
	} {
		t.Run(c.name, bubble(func(t *testing.T) {
			s := step(t, complete(), nil)
			s.due()
			s.rounds(5)
			s.change(c.change)
			require.Equal(t, c.index, s.rounds(3)[1])
			if c.state != "" {
				require.Equal(t, c.state, s.after(0).State)
			}
		}))
	}
}

func TestUnchangedAnswerIsFresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := step(t, complete(), nil)
		s.due()
		s.rounds(3)
		first := s.answers.Health
		s.change(func(now *answering) { now.apiTakes = 70 * time.Millisecond })
		s.rounds(1)
		s.after(time.Second)
		require.NotSame(t, first, s.answers.Health)
		require.Equal(t, first.Repeat(70*time.Millisecond), *s.answers.Health)
		require.True(t, s.jobs.health.answeredSince(time.Now().Add(-2*time.Second)), "the last answer counts")
	})
}
