package simulate

import (
	"math"
	"strconv"
)

// BenchKind names a page of fixed shape for benchmarks.
type BenchKind int

const (
	// BenchTRTLLM is the usual big Triton page: 226 samples, 34 families, 5
	// models of a TRT-LLM repository, 8 GPUs, three histogram families.
	BenchTRTLLM BenchKind = iota
	// BenchSummaries is a Triton page of 377 samples: 8 models with all five
	// summaries, 2 GPUs, a release before failures had a reason.
	BenchSummaries
)

// BenchPage renders a page whose shape never changes and whose values change
// with every tick: counters grow, gauges wander. It is a pure function of its
// arguments, and the caller owns the bytes. Replicas differ in GPU ids, in the
// order of series and in values.
func BenchPage(kind BenchKind, replica, tick int) []byte {
	b := benchPage{
		page: page{
			out: make([]byte, 0, 48<<10), number: appendCpp,
			seed: uint64(replica)*2 + 1,
		},
		tick: float64(tick),
	}
	if kind == BenchSummaries {
		b.summaries(replica)
	} else {
		b.trtllm(replica)
	}
	return b.bytes()
}

type benchPage struct {
	page
	tick float64
}

// counter grows by about perTick each tick and never falls.
func (b *benchPage) counter(labels string, perTick float64) {
	b.add(labels, b.grown(labels, perTick))
}

func (b *benchPage) grown(labels string, perTick float64) float64 {
	phase := float64(mix(b.seed, b.name+labels)%1000) / 1000
	return math.Floor((b.tick + 1 + phase) * perTick * (0.7 + 0.6*phase))
}

// wander gives a whole number in [0, most) that changes with the tick.
func (b *benchPage) wander(labels string, most uint64) float64 {
	return float64(mix(b.seed+uint64(b.tick)*7919, b.name+labels) % most)
}

func (b *benchPage) perModel(models []string, name, help string, perTick float64) {
	b.family(name, help, "counter")
	for _, m := range models {
		b.counter(pairs("model", m, "version", "1"), perTick)
	}
}

func (b *benchPage) histograms(models []string, name, help string, bounds []float64, mean float64, extra ...string) {
	b.family(name, help, "histogram")
	for _, m := range models {
		labels := pairs(append(append([]string{"model", m}, extra...), "version", "1")...)
		h := newHistogram(bounds...)
		for i := range h.counts {
			h.counts[i] = uint64(b.grown(labels+strconv.Itoa(i), 25))
			h.n += h.counts[i]
		}
		h.sum = b.grown(labels+"sum", 25*mean*float64(len(h.counts)))
		b.addHistogram(labels, h)
	}
}

func (b *benchPage) core(models []string, reasons bool) {
	b.perModel(models, "nv_inference_request_success", helpSuccess, 90)
	b.family("nv_inference_request_failure", helpFailure, "counter")
	for _, m := range models {
		if !reasons {
			b.counter(pairs("model", m, "version", "1"), 0.8)
			continue
		}
		for _, r := range failureReasons() {
			b.counter(pairs("model", m, "reason", r, "version", "1"), 0.8)
		}
	}
	b.perModel(models, "nv_inference_count", helpCount, 90)
	b.perModel(models, "nv_inference_exec_count", helpExecCount, 40)
	for i, d := range durationFamilies() {
		b.perModel(models, d.counter, d.counterHelp, []float64{9e7, 3e6, 2e5, 8e7, 1e5}[i])
	}
}

func (b *benchPage) gauges(models []string) {
	b.family("nv_inference_pending_request_count", helpPending, "gauge")
	for _, m := range models {
		labels := pairs("model", m, "version", "1")
		b.add(labels, b.wander(labels, 30))
	}
	b.family("nv_pinned_memory_pool_total_bytes", helpPinnedTotal, "gauge")
	b.add("", pinnedPoolBytes)
	b.family("nv_pinned_memory_pool_used_bytes", helpPinnedUsed, "gauge")
	b.add("", b.wander("", 1<<20))
}

func (b *benchPage) gpuGauges(gpus []string) {
	each := func(name, help string, value func(labels string) float64) {
		b.family(name, help, "gauge")
		for _, g := range gpus {
			labels := pairs("gpu_uuid", g)
			b.add(labels, value(labels))
		}
	}
	each("nv_gpu_utilization", helpGPUUtilization, func(l string) float64 { return b.wander(l, 100) / 100 })
	each("nv_gpu_memory_total_bytes", helpGPUMemoryTotal, func(string) float64 { return 85899345920 })
	each("nv_gpu_memory_used_bytes", helpGPUMemoryUsed, func(l string) float64 { return 7e10 + 1024*b.wander(l, 1e6) })
	each("nv_gpu_power_usage", helpGPUPowerUsage, func(l string) float64 { return 300 + b.wander(l, 400000)/1000 })
	each("nv_gpu_power_limit", helpGPUPowerLimit, func(string) float64 { return 700 })
	b.family("nv_cpu_utilization", helpCPUUtilization, "gauge")
	b.add("", b.wander("", 1e6)/999983)
	b.family("nv_cpu_memory_total_bytes", helpCPUMemoryTotal, "gauge")
	b.add("", 2164190072832)
	b.family("nv_cpu_memory_used_bytes", helpCPUMemoryUsed, "gauge")
	b.add("", 4e11+4096*b.wander("", 1e6))
}

func (b *benchPage) energy(gpus []string) {
	b.family("nv_energy_consumption", helpEnergy, "counter")
	for _, g := range gpus {
		labels := pairs("gpu_uuid", g)
		b.add(labels, b.grown(labels, 9000)+float64(mix(b.seed, labels)%1000)/1000)
	}
}

func (b *benchPage) trtllm(replica int) {
	models := []string{"ensemble", "postprocessing", "preprocessing", "tensorrt_llm", "tensorrt_llm_bls"}
	gpus := gpuUUIDs(uint64(replica), 8)
	b.core(models, true)
	b.perModel(models, "nv_cache_num_hits_per_model", "Number of cache hits per model", 20)
	b.perModel(models, "nv_cache_hit_duration_per_model", "Total cache hit duration per model, in microseconds", 20)
	b.perModel(models, "nv_cache_num_misses_per_model", "Number of cache misses per model", 20)
	b.perModel(models, "nv_cache_miss_duration_per_model",
		"Total cache miss (insert+lookup) duration per model, in microseconds", 20)
	b.energy(gpus)
	b.group("nv_trt_llm_disaggregated_serving_metrics", helpDisagg, "counter", "disaggregated_serving_type",
		"kv_cache_transfer_ms", b.grown("kv", 17)+0.421875, "request_count", b.grown("rc", 20))
	b.gauges(models)
	b.gpuGauges(gpus)
	active, used := b.wander("active", 200)+2, b.wander("used", 6239)
	b.group("nv_trt_llm_request_metrics", helpRequest, "gauge", "request_type",
		"waiting", b.wander("w", 40), "context", b.wander("c", 9), "scheduled", active, "max", 512.0, "active", active+3)
	b.group("nv_trt_llm_runtime_memory_metrics", helpRuntimeMemory, "gauge", "memory_type",
		"pinned", 1.2e8, "gpu", 1610236.0, "cpu", 0.0)
	b.group("nv_trt_llm_kv_cache_block_metrics", helpKVCache, "gauge", "kv_cache_block_type",
		"fraction", math.Round(used/6239*1e6)/1e6, "tokens_per", 64.0, "used", used, "free", 6239-used, "max", 6239.0)
	b.group("nv_trt_llm_inflight_batcher_metrics", helpInflight, "gauge", "inflight_batcher_specific_metric",
		"paused_requests", 0.0, "micro_batch_id", 0.0, "generation_requests", active-2, "total_context_tokens", b.wander("t", 8000))
	b.group("nv_trt_llm_general_metrics", helpGeneral, "gauge", "general_type",
		"iteration_counter", b.grown("i", 500), "timestamp", 1753462474140189+b.tick*1e6)
	b.histograms(models, "nv_inference_first_response_histogram_ms", helpFirstResponse, []float64{100, 500, 2000, 5000}, 700)
	b.histograms(models[3:], "nv_llm_output_token_len", helpTokenLen, tokenBounds(), 300, "response_metric_type", "total_output_tokens")
	b.histograms(models[3:], "nv_llm_input_token_len", helpTokenLen, tokenBounds(), 900, "response_metric_type", "total_input_tokens")
}

// group writes the categories of one nv_trt_llm_* family, given as label value
// and number in turn.
func (b *benchPage) group(name, help, kind, label string, valuesAndNumbers ...any) {
	b.family(name, help, kind)
	for i := 0; i+1 < len(valuesAndNumbers); i += 2 {
		value, _ := valuesAndNumbers[i].(string)
		number, _ := valuesAndNumbers[i+1].(float64)
		b.add(category(label, value, "tensorrt_llm", "1"), number)
	}
}

func (b *benchPage) summaries(replica int) {
	models := []string{"ensemble", "postprocessing", "preprocessing", "tensorrt_llm", "tensorrt_llm_bls", "embedder", "reranker", "guard"}
	gpus := gpuUUIDs(uint64(replica), 2)
	b.core(models, false)
	b.energy(gpus)
	b.gauges(models)
	b.gpuGauges(gpus)
	quantiles := defaultQuantiles()
	for i, d := range durationFamilies() {
		b.family(d.summary, d.summaryHelp, "summary")
		for m, model := range models {
			labels := pairs("model", model, "version", "1")
			values := make([]float64, len(quantiles))
			for q := range values {
				// The last model is idle: its quantiles are not numbers.
				values[q] = math.NaN()
				if m < len(models)-1 {
					values[q] = float64(1000*(i+1)*(q+1)) + b.wander(labels+strconv.Itoa(q), 900)
				}
			}
			b.addSummary(labels, uint64(b.grown(labels, 90)), b.grown(labels+"sum", 9e6), quantiles, values)
		}
	}
}
