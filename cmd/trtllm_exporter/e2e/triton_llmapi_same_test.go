//go:build e2e_triton && linux

package e2e

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestMetricsModuleChangesNoAnswer compares a server with the module and one
// without: answers to the byte, and the rate at which tokens come.
func TestMetricsModuleChangesNoAnswer(t *testing.T) {
	changed := settings{"iteration_ms": "10", "max_queue_size": "8"}
	servers := []*llmapiServer{newLLMAPI(t, releases()[0], false, changed), newLLMAPI(t, releases()[0], true, changed)}
	for _, s := range servers {
		s.start(t)
	}
	require.Empty(t, servers[0].page(t).named("nv_llmapi_info"))
	require.NotEmpty(t, servers[1].page(t).named("nv_llmapi_info"))
	t.Run("answers are equal to the byte", func(t *testing.T) {
		plain, wrapped := answersOf(t, servers[0]), answersOf(t, servers[1])
		require.Equal(t, plain, wrapped)
	})
	t.Run("400 tokens a second stay 400", func(t *testing.T) { requireSamePace(t, servers) })
}

// answersOf are a server's answers to requests whose answers depend on nothing
// but the request.
func answersOf(t *testing.T, s *llmapiServer) []string {
	t.Helper()
	var all []string
	for _, streaming := range []bool{true, false} {
		for _, q := range []question{
			ask(10, 20, streaming), ask(10, 1, streaming), ask(3, 9, streaming, "!stop:3"), ask(3, 9, streaming, "!timeout:3"),
			ask(3, 9, streaming, "!boom"), ask(3, 9, streaming, "!fail:4"), ask(600, 9, streaming), ask(3, 0, streaming),
		} {
			all = append(all, s.sendAll(t, q)[0].plain())
		}
	}
	require.Contains(t, all[0], "token20")
	require.Contains(t, all[4], "boom")
	return append(append(all, s.cancelled(t)...), s.overfull(t)...)
}

// cancelled are the answers to a request that is stopped before its first
// token, and to the request that stops it.
func (s *llmapiServer) cancelled(t *testing.T) []string {
	t.Helper()
	stopped := ask(3, 50, true, "!freeze:1500")
	stopped.id = "a"
	replies := make(chan reply, 1)
	go func() {
		r, err := s.send(t.Context(), stopped)
		if err != nil {
			t.Error(err)
		}
		replies <- r
	}()
	pause(t.Context(), 700*time.Millisecond)
	stop := s.sendAll(t, question{id: "a", stop: true, streaming: true})[0]
	r := <-replies
	require.Contains(t, string(r.body), "cancelled")
	require.Contains(t, string(stop.body), "Request cancelled by client")
	return []string{r.plain(), stop.plain()}
}

// overfull are the answers to more requests than the queue takes, in the order
// of their texts: which of them are refused is chance.
func (s *llmapiServer) overfull(t *testing.T) []string {
	t.Helper()
	questions := []question{ask(3, 2, true, "!freeze:1500")}
	over := s.background(t, questions...)
	pause(t.Context(), 500*time.Millisecond)
	for range 30 {
		questions = append(questions, ask(3, 2, true))
	}
	var all []string
	for _, r := range s.sendAll(t, questions[1:]...) {
		all = append(all, r.plain())
	}
	require.NoError(t, <-over)
	slices.Sort(all)
	require.Contains(t, all[0]+all[len(all)-1], "Maximum queue size of 8 has been reached")
	return all
}

// requireSamePace runs pairs of loads, first without and then with the module.
// The engine keeps its pace by the clock, so that the best run of each is the
// one that the machine disturbed least. Answers come whole: Triton's own part
// of a stream costs more than a token here, and dies of it on a small machine.
func requireSamePace(t *testing.T, servers []*llmapiServer) {
	t.Helper()
	const requests, tokens, pairs = 8, 100, 6
	best := make([]float64, len(servers))
	for range pairs {
		for i, s := range servers {
			questions := make([]question, requests)
			for n := range questions {
				questions[n] = ask(5, tokens, false)
			}
			begun := time.Now()
			s.sendAll(t, questions...)
			rate := requests * tokens / time.Since(begun).Seconds()
			t.Logf("module %t: %.1f tokens a second", i == 1, rate)
			best[i] = max(best[i], rate)
		}
		if best[1] >= 0.98*best[0] {
			return
		}
	}
	require.GreaterOrEqual(t, best[1], 0.98*best[0])
}
