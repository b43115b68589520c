//go:build e2e_triton && linux

package e2e

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// sampling is how old a number of the metrics module may be: a second between
// two of its rounds, a look at the statistics, and the writing.
const sampling = 1500 * time.Millisecond

// iteration is what the engine wrote down of one of its iterations.
type iteration struct {
	Time      float64
	Tokens    float64
	Iter      float64
	Active    float64 `json:"numActiveRequests"`
	Queued    float64 `json:"numQueuedRequests"`
	Max       float64 `json:"maxNumActiveRequests"`
	GPUMemory float64 `json:"gpuMemUsage"`
	KV        struct {
		Max       float64 `json:"maxNumBlocks"`
		Used      float64 `json:"usedNumBlocks"`
		Free      float64 `json:"freeNumBlocks"`
		PerBlock  float64 `json:"tokensPerBlock"`
		Reused    float64 `json:"reusedBlocks"`
		Missed    float64 `json:"missedBlocks"`
		Allocated float64 `json:"allocTotalBlocks"`
	} `json:"kvCacheStats"`
	Batch struct {
		Scheduled float64 `json:"numScheduledRequests"`
		Context   float64 `json:"numContextRequests"`
		Decoding  float64 `json:"numGenRequests"`
		Paused    float64 `json:"numPausedRequests"`
		Prefilled float64 `json:"numCtxTokens"`
	} `json:"inflightBatchingStats"`
}

// truth returns all that the engine of a model did until now.
func (s *llmapiServer) truth(t *testing.T, model string) []iteration {
	t.Helper()
	text, err := os.ReadFile(s.truthFile(model))
	require.NoError(t, err)
	var all []iteration
	for line := range bytes.Lines(text) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break // It is being written.
		}
		var one iteration
		require.NoError(t, json.Unmarshal(line, &one))
		all = append(all, one)
	}
	return all
}

// gauge is a series of the page and what it says of an iteration.
type gauge struct {
	name, label, value string
	of                 func(iteration) float64
}

// engineGauges returns the C++ backend's, whose values an engine with requests has.
func engineGauges() []gauge {
	const (
		requests, requestType = "nv_trt_llm_request_metrics", "request_type"
		memory, memoryType    = "nv_trt_llm_runtime_memory_metrics", "memory_type"
		blocks, blockType     = "nv_trt_llm_kv_cache_block_metrics", "kv_cache_block_type"
		batcher, batcherType  = "nv_trt_llm_inflight_batcher_metrics", "inflight_batcher_specific_metric"
	)
	return []gauge{
		{requests, requestType, "active", func(i iteration) float64 { return i.Active }},
		{requests, requestType, "scheduled", func(i iteration) float64 { return i.Batch.Scheduled }},
		{requests, requestType, "waiting", func(i iteration) float64 { return i.Active - i.Batch.Scheduled }},
		{requests, requestType, "context", func(i iteration) float64 { return i.Batch.Context }},
		{requests, requestType, "max", func(i iteration) float64 { return i.Max }},
		{memory, memoryType, "gpu", func(i iteration) float64 { return i.GPUMemory }},
		{memory, memoryType, "cpu", func(iteration) float64 { return 0 }},
		{blocks, blockType, "max", func(i iteration) float64 { return i.KV.Max }},
		{blocks, blockType, "used", func(i iteration) float64 { return i.KV.Used }},
		{blocks, blockType, "free", func(i iteration) float64 { return i.KV.Free }},
		{blocks, blockType, "tokens_per", func(i iteration) float64 { return i.KV.PerBlock }},
		{blocks, blockType, "reused", func(i iteration) float64 { return i.KV.Reused }},
		{blocks, blockType, "fraction", func(i iteration) float64 { return i.KV.Used / i.KV.Max }},
		{batcher, batcherType, "total_context_tokens", func(i iteration) float64 { return i.Batch.Prefilled }},
		{batcher, batcherType, "generation_requests", func(i iteration) float64 { return i.Batch.Decoding }},
		{batcher, batcherType, "paused_requests", func(i iteration) float64 { return i.Batch.Paused }},
		{"nv_trt_llm_general_metrics", "general_type", "iteration_counter", func(i iteration) float64 { return i.Iter }},
		{"nv_llmapi_requests_waiting", "", "", func(i iteration) float64 { return i.Queued + i.Active - i.Batch.Scheduled }},
		{"nv_llmapi_kv_cache_missed_blocks_total", "", "", func(i iteration) float64 { return i.KV.Missed }},
	}
}

// read returns the value of a gauge on a page.
func (g gauge) read(t *testing.T, p page) float64 {
	t.Helper()
	if g.label == "" {
		return p.only(t, g.name, "model", "tensorrt_llm")
	}
	return p.only(t, g.name, g.label, g.value, "model", "tensorrt_llm", "version", "1")
}

// requireSampled requires that a page that was read at a moment shows what an
// iteration of shortly before said, each gauge on its own, for they are
// written one after the other.
func requireSampled(t *testing.T, p page, at time.Time, done []iteration, slack time.Duration) {
	t.Helper()
	oldest, newest := seconds(at.Add(-sampling-slack)), seconds(at.Add(slack))
	recent := slices.DeleteFunc(slices.Clone(done), func(i iteration) bool { return i.Time < oldest || i.Time > newest })
	require.NotEmpty(t, recent)
	for _, g := range engineGauges() {
		shown, could := g.read(t, p), map[float64]bool{}
		for _, one := range recent {
			could[rounded(g.of(one))] = true
		}
		require.Contains(t, could, rounded(shown), "%s %s", g.name, g.value)
	}
	tokens := p.only(t, "nv_llmapi_generation_tokens_total", "model", "tensorrt_llm")
	// What an iteration says that it makes is there when it ends.
	require.GreaterOrEqual(t, tokens, recent[0].Tokens-recent[0].Batch.Scheduled-slots)
	require.LessOrEqual(t, tokens, recent[len(recent)-1].Tokens)
}

// rounded returns a number with the six digits that a fraction has on the page.
func rounded(v float64) float64 { return math.Round(v * 1e6) }

// seconds returns a moment as Python's time.time writes it.
func seconds(at time.Time) float64 { return float64(at.UnixNano()) / 1e9 }
