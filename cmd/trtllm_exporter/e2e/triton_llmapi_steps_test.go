//go:build e2e_triton && linux

package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
)

func testLLMAPICounts(t *testing.T, s *llmapiServer) {
	t.Helper()
	before, page := s.counted(t), s.page(t)
	questions := []question{
		ask(5, 9, false, "!stop:4"), ask(5, 9, true, "!stop:4"), ask(5, 9, true, "!fail:3"), ask(5, 9, false, "!timeout:3"),
		ask(5, 9, true, "!boom"), ask(600, 9, false), ask(5, 0, true), ask(5, 1, true),
	}
	tokens, prompts := 4+4+2+3+1, 4*6+5
	for i := range 6 {
		questions = append(questions, ask(10, 10+i, i%2 == 0))
		tokens, prompts = tokens+10+i, prompts+10
	}
	s.sendAll(t, questions...)
	after := s.settled(t, before.more(float64(tokens), map[string]float64{"ok": 9, "server": 2, "client": 2, "overload": 1}))
	grown := func(name string, pairs ...string) float64 {
		return after.only(t, name, pairs...) - page.only(t, name, pairs...)
	}
	require.Equal(t, float64(prompts), grown("nv_llmapi_prompt_tokens_total"))
	require.Equal(t, float64(tokens), grown("nv_llm_output_token_len_sum"))
	require.Equal(t, 11.0, grown("nv_llm_output_token_len_count"), "all that the engine took")
	require.Equal(t, 11.0, grown("nv_llm_input_token_len_count"))
	require.Equal(t, 2.0, grown("nv_llmapi_requests_ended_total", "class", "ok", "finish_reason", "stop"))
	require.Equal(t, 7.0, grown("nv_llmapi_requests_ended_total", "class", "ok", "finish_reason", "length"))
	require.Equal(t, 6.0, grown("nv_llmapi_time_to_first_token_seconds_count"), "of streams that had one")
	require.Equal(t, 3.0+1+9+11+13, grown("nv_llmapi_inter_token_latency_seconds_count"))
	require.Equal(t, 9.0, grown("nv_llmapi_request_duration_seconds_count"))
	require.Equal(t, 0.0, after.only(t, "nv_llmapi_module_errors_total"))
}

func testLLMAPIGauges(t *testing.T, s *llmapiServer) {
	t.Helper()
	late := s.late(t)
	questions := make([]question, 12) // Four run, four more are active, four are in the queue.
	for i := range questions {
		questions[i] = ask(20+i, 40, true)
	}
	over := s.background(t, questions...)
	seen := map[float64]bool{}
	samples := 0
	begun := time.Now()
	for running := true; running; {
		select {
		case err := <-over:
			require.NoError(t, err)
			running = false
			continue
		case <-time.After(200 * time.Millisecond):
		}
		at := time.Now()
		p := s.page(t)
		flight := p.only(t, "nv_llmapi_requests_in_flight", "model", "tensorrt_llm")
		// The first rounds of the module may have been before the first request.
		if at.Sub(begun) < sampling+late || flight == 0 {
			continue
		}
		requireSampled(t, p, at, s.truth(t, "tensorrt_llm"), late)
		seen[p.only(t, "nv_llmapi_requests_waiting", "model", "tensorrt_llm")] = true
		samples++
	}
	require.Greater(t, samples, 5)
	require.Greater(t, len(seen), 1, "what is shown follows the engine")
	// An idle engine has no requests, whatever its last iteration said.
	within(t, 5*time.Second, "the page shows that nothing runs", func() bool {
		p := s.page(t)
		for _, kind := range []string{"active", "scheduled", "context", "waiting"} {
			if p.only(t, "nv_trt_llm_request_metrics", "request_type", kind) != 0 {
				return false
			}
		}
		return p.only(t, "nv_llmapi_requests_waiting", "model", "tensorrt_llm") == 0
	})
}

func testLLMAPIFirstTokens(t *testing.T, s *llmapiServer) {
	t.Helper()
	const name = "nv_llmapi_time_to_first_token_seconds"
	before, page := s.counted(t), s.page(t)
	var questions []question
	for range 10 { // Four at once, four after half a second, two after a second.
		questions = append(questions, ask(10, 12, true))
	}
	for range 10 {
		questions = append(questions, ask(10, 1, true, "!boom"))
	}
	replies := s.sendAll(t, questions...)
	after := s.settled(t, before.more(120, map[string]float64{"ok": 10, "server": 10}))
	replies, failed := replies[:10], replies[10:]
	// How late the machine is: what requests take that fail at once.
	late := slices.MaxFunc(failed, func(a, b reply) int { return int(a.ended - b.ended) }).ended

	bounds := boundsOf(t, after, name+"_bucket")
	var told []int // The bucket of each observation.
	below := 0.0
	for i, le := range bounds {
		upTo := after.only(t, name+"_bucket", "le", le.text) - page.only(t, name+"_bucket", "le", le.text)
		require.GreaterOrEqual(t, upTo, below, "buckets are cumulative")
		for ; below < upTo; below++ {
			told = append(told, i)
		}
	}
	require.Len(t, told, len(replies))
	slices.SortFunc(replies, func(a, b reply) int { return int(a.first - b.first) })
	for i, r := range replies {
		most := bucketOf(bounds, r.first)
		least := bucketOf(bounds, r.first-late)
		require.LessOrEqual(t, told[i], most+1, "first tokens %v", r.first)
		require.GreaterOrEqual(t, told[i], least-1, "first tokens %v, late %v", r.first, late)
	}
	sum := 0.0
	for _, r := range replies {
		sum += r.first.Seconds()
	}
	require.InDelta(t, sum, after.only(t, name+"_sum")-page.only(t, name+"_sum"), float64(len(replies))*(late.Seconds()+0.02))
}

// bound is the upper bound of a bucket.
type bound struct {
	text  string
	value float64
}

// boundsOf returns those of a histogram, in order; the page has them in none.
func boundsOf(t *testing.T, p page, buckets string) []bound {
	t.Helper()
	var all []bound
	for _, series := range p.named(buckets, "model", "tensorrt_llm") {
		text := series.labels.Get(model.BucketLabel)
		var value model.SampleValue
		require.NoError(t, value.UnmarshalJSON(fmt.Appendf(nil, "%q", text)))
		all = append(all, bound{text, float64(value)})
	}
	slices.SortFunc(all, func(a, b bound) int {
		if a.value < b.value {
			return -1
		}
		return 1
	})
	require.Equal(t, "+Inf", all[len(all)-1].text)
	return all
}

// bucketOf returns the place of the bucket that a duration is in.
func bucketOf(bounds []bound, d time.Duration) int {
	return slices.IndexFunc(bounds, func(b bound) bool { return d.Seconds() <= b.value })
}
