//go:build e2e_live

package live

import (
	"slices"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// shown is a value of a panel with what it should be.
type shown struct {
	// panel is the dashboard, the title and the reference of the query.
	panel string
	// first is the query that shows the first bound of a histogram while the percentile is
	// below it.
	first string
	// series are pairs of labels that select the only series.
	series []string
	// pool and replica select the truth to compare; empty for all.
	pool, replica string
	// want returns the truth over a window. Percentiles are compared in buckets, everything
	// else by the difference.
	want       func(window) float64
	percentile bool
	// within is the allowed difference for values close to zero.
	within float64
}

func finished(t simulate.Truth) uint64      { return t.Finished }
func failed(t simulate.Truth) uint64        { return t.Failed }
func ended(t simulate.Truth) uint64         { return t.Finished + t.Failed }
func answered(t simulate.Truth) uint64      { return t.GenerationTokens + t.FailedGenerationTokens }
func asked(t simulate.Truth) uint64         { return t.PromptTokens + t.FailedPromptTokens }
func queued(t simulate.Truth) float64       { return float64(t.Queued) }
func running(t simulate.Truth) float64      { return float64(t.Running) }
func used(t simulate.Truth) float64         { return float64(t.KVUsed) }
func inUse(t simulate.Truth) float64        { return float64(t.KVUsed) / float64(t.KVBlocks) }
func free(t simulate.Truth) float64         { return float64(t.KVBlocks - t.KVUsed) }
func e2e(l simulate.Latency) time.Duration  { return l.E2E }
func ttft(l simulate.Latency) time.Duration { return l.TTFT }
func tpot(l simulate.Latency) time.Duration { return l.TPOT }

// generated returns the tokens that a kind of server counts: those of completed requests,
// or all generated ones.
func generated(pool string) func(simulate.Truth) uint64 {
	if pool == poolVLLM {
		return func(t simulate.Truth) uint64 { return t.GeneratedTokensSoFar }
	}
	return answered
}

// tokensPerBlock is the block size of the servers' KV caches.
const tokensPerBlock = 32

// exactly returns a constant number.
func exactly(v float64) func(window) float64 { return func(window) float64 { return v } }

// rateOf returns the rate of a number of the truth.
func rateOf(n func(simulate.Truth) uint64) func(window) float64 {
	return func(w window) float64 { return w.rate(n) }
}

// sumOf returns the sum of a level over all replicas.
func sumOf(n func(simulate.Truth) float64) func(window) float64 {
	return func(w window) float64 { return w.sum(n) }
}

// panelValues returns the values that are compared.
func panelValues() []shown {
	all := []shown{
		{panel: "trtllm-fleet / Replicas serving / A", want: exactly(1)},
		{panel: "trtllm-fleet / Requests/s / A", want: rateOf(ended)},
		// Two replicas of each of four pools.
		{
			panel:  "trtllm-fleet / Waiting per replica / A",
			want:   func(w window) float64 { return w.sum(queued) / 8 },
			within: 0.2,
		},
		{
			panel:  "trtllm-fleet / Fullest KV cache / A",
			want:   func(w window) float64 { return w.highest(inUse) },
			within: 0.02,
		},
		{panel: "trtllm-fleet / Skew / A", want: exactly(0)},
		{panel: "trtllm-gpu / GPUs / A", want: exactly(4)},
	}
	for _, pool := range []string{poolTriton, poolServe, poolVLLM, poolSGLang} {
		all = append(all, valuesOfPool(pool)...)
		all = append(all, latenciesOfPool(pool)...)
		all = append(all, valuesOfReplica(pool, pool+"-1")...)
	}
	return append(all, valuesOfTriton()...)
}

// maker returns a value of a panel, of which some labels are known already.
type maker func(panel string, want func(window) float64, series ...string) shown

// ofPool makes values of a pool.
func ofPool(pool string) maker {
	return func(panel string, want func(window) float64, series ...string) shown {
		return shown{panel: panel, pool: pool, want: want, series: append([]string{"pool_id", pool}, series...)}
	}
}

// ofReplica makes values on the dashboard Replica.
func ofReplica(pool, name string) maker {
	return func(panel string, want func(window) float64, series ...string) shown {
		return shown{
			panel: "trtllm-replica / " + panel, pool: pool, replica: name, want: want,
			series: append([]string{"replica_id", name}, series...),
		}
	}
}

// valuesOfPool returns the values that every kind of server has.
func valuesOfPool(pool string) []shown {
	v := ofPool(pool)
	all := []shown{
		v("trtllm-fleet / Pools / A", exactly(2)),
		v("trtllm-fleet / Pools / B", exactly(1)),
		v("trtllm-fleet / Pools / C", rateOf(generated(pool))),
		v("trtllm-fleet / Pools / D", rateOf(ended)),
		v("trtllm-fleet / Generated tokens / A", rateOf(generated(pool))),
		v("trtllm-fleet / Requests / A", rateOf(ended)),
		v("trtllm-fleet / Replicas by state / A", exactly(2), "state", "ready"),
		v("trtllm-latency / Completed requests by class / A", rateOf(finished), "class", "ok"),
	}
	if pool != poolVLLM { // It counts prompts with the first token, before the truth has an entry.
		all = append(all, v("trtllm-capacity / Prompt tokens / A", rateOf(asked)))
	}
	if pool == poolServe { // Its gauges describe the last completed request.
		return all
	}
	levels := []shown{
		v("trtllm-fleet / Queue / A", sumOf(queued)),
		v("trtllm-fleet / Pools / E", sumOf(queued)),
		v("trtllm-capacity / Running requests and limit / A", sumOf(running)),
	}
	for i := range levels {
		levels[i].within = 1
	}
	kv := v("trtllm-fleet / Pools / G", func(w window) float64 { return w.highest(inUse) })
	kv.within = 0.02
	if pool != poolVLLM { // It does not expose free blocks.
		tokens := func(w window) float64 { return tokensPerBlock * w.sum(free) }
		levels = append(levels, v("trtllm-capacity / Free KV cache tokens / A", tokens))
	}
	return append(all, append(levels, kv)...)
}

// latenciesOfPool returns the latencies that all histograms of a kind of server have.
func latenciesOfPool(pool string) []shown {
	var all []shown
	times := func(title string, chosen func(window) []simulate.Latency, of func(simulate.Latency) time.Duration) {
		panel := "trtllm-latency / " + title + ", percentiles / "
		series := []string{"pool_id", pool}
		for _, p := range []struct {
			q          float64
			ref, first string
		}{{0.5, "A", "E"}, {0.95, "B", "G"}, {0.99, "C", "I"}} {
			all = append(all, shown{
				panel: panel + p.ref, first: panel + p.first, pool: pool, series: series, percentile: true,
				want: func(w window) float64 { return quantile(p.q, chosen(w), of) },
			})
		}
		mean := ofPool(pool)(panel+"D", func(w window) float64 { return average(slices.Values(durations(chosen(w), of))) })
		if pool == poolTriton { // The truth is the executor's, without pre- and postprocessing.
			mean.within = 0.003
		}
		all = append(all, mean)
	}
	ended := func(w window) []simulate.Latency { return w.latencies }
	started := func(w window) []simulate.Latency { return w.started }
	if pool == poolServe { // It counts first tokens when requests end.
		started = ended
	}
	times("Time to first token", started, ttft)
	if pool != poolTriton { // It has neither by default.
		times("Whole request", ended, e2e)
		times("Time per output token", ended, tpot)
	}
	return all
}

// valuesOfReplica returns the values on the dashboard Replica.
func valuesOfReplica(pool, name string) []shown {
	v := ofReplica(pool, name)
	all := []shown{
		v("Generated tokens / A", rateOf(generated(pool))),
		v("Completed requests / A", rateOf(finished), "class", "ok"),
	}
	if pool != poolServe {
		kv := v("KV cache utilization / A", sumOf(inUse))
		kv.within = 0.02
		all = append(all, kv)
	}
	return all
}

// valuesOfTriton returns the values that only Triton or its pool exposes.
func valuesOfTriton() []shown {
	share := func(w window) float64 { return w.count(failed) / w.count(ended) }
	pool, v := ofPool(poolTriton), ofReplica(poolTriton, poolTriton+"-1")
	return []shown{
		pool("trtllm-fleet / Pools / M", share),
		pool("trtllm-fleet / Failed requests / A", share),
		pool("trtllm-latency / Failed request ratio / A", share),
		pool("trtllm-latency / Completed requests by class / A", rateOf(failed), "class", "server"),
		pool("trtllm-versions / Replicas by version / A", exactly(2), "engine_version", "2.64.0"),
		v("Iterations / A", rateOf(func(t simulate.Truth) uint64 { return t.Iterations })),
		v("KV cache blocks / A", sumOf(used), "state", "used"),
		v("KV cache blocks / A", sumOf(free), "state", "free"),
		v("Requests by model / A", rateOf(ended), "model", "tensorrt_llm"),
	}
}
