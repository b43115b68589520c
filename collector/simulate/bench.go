package simulate

import (
	"fmt"
	"math"
	"net"
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
		page: page{dialect: cppDialect(), seed: uint64(replica)*2 + 1, out: make([]byte, 0, 48<<10)}, tick: float64(tick),
		models: []string{"ensemble", "postprocessing", "preprocessing", "tensorrt_llm", "tensorrt_llm_bls"},
	}
	if kind == BenchSummaries {
		b.models = append(b.models, "embedder", "reranker", "guard")
		b.gpus = gpuLabels(uint64(replica), 2)
		b.summaries()
	} else {
		b.gpus = gpuLabels(uint64(replica), 8)
		b.trtllm()
	}
	return b.bytes()
}

type benchPage struct {
	page
	tick         float64
	models, gpus []string
}

// grown is a counter that grows by about perTick each tick and never falls.
func (b *benchPage) grown(labels string, perTick float64) float64 {
	phase := float64(mix(b.seed, b.name+labels)%1000) / 1000
	return math.Floor((b.tick + 1 + phase) * perTick * (0.7 + 0.6*phase))
}

// wander gives a whole number in [0, most) that changes with the tick.
func (b *benchPage) wander(labels string, most uint64) float64 {
	return float64(mix(b.seed+uint64(b.tick)*7919, b.name+labels) % most)
}

// each writes a family with a counter for each model.
func (b *benchPage) each(name, help string, perTick float64) {
	b.family("counter", name, help)
	for _, m := range b.models {
		b.add(modelLabels(m), b.grown(modelLabels(m), perTick))
	}
}

func (b *benchPage) histograms(models []string, name, help string, bounds []float64, mean float64, extra ...string) {
	b.family("histogram", name, help)
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

func (b *benchPage) core(reasons bool) {
	b.each("nv_inference_request_success", helpSuccess, 90)
	if reasons {
		b.family("counter", "nv_inference_request_failure", helpFailure)
		for _, m := range b.models {
			for _, r := range failureReasons() {
				labels := with(modelLabels(m), "reason", r)
				b.add(labels, b.grown(labels, 0.8))
			}
		}
	} else {
		b.each("nv_inference_request_failure", helpFailure, 0.8)
	}
	b.each("nv_inference_count", helpCount, 90)
	b.each("nv_inference_exec_count", helpExecCount, 40)
	for i, d := range durations() {
		b.each(d.counter, d.counterHelp, []float64{9e7, 3e6, 2e5, 8e7, 1e5}[i])
	}
}

func (b *benchPage) energy() {
	writeEnergy(&b.page, b.gpus, func(labels string) float64 {
		return b.grown(labels, 9000) + float64(mix(b.seed, labels)%1000)/1000
	})
}

func (b *benchPage) gauges() {
	b.family("gauge", "nv_inference_pending_request_count", helpPending)
	for _, m := range b.models {
		b.add(modelLabels(m), b.wander(modelLabels(m), 30))
	}
	writePinned(&b.page, func() float64 { return b.wander("", 1<<20) })
	writeHost(&b.page, b.gpus, func(i int, labels string) float64 {
		return [...]float64{
			b.wander(labels, 100) / 100, 85899345920, 7e10 + 1024*b.wander(labels, 1e6), 300 + b.wander(labels, 400000)/1000, powerLimit,
			b.wander(labels, 1e6) / 999983, 2164190072832, 4e11 + 4096*b.wander(labels, 1e6),
		}[i]
	})
}

func (b *benchPage) trtllm() {
	b.core(true)
	b.each("nv_cache_num_hits_per_model", "Number of cache hits per model", 20)
	b.each("nv_cache_hit_duration_per_model", "Total cache hit duration per model, in microseconds", 20)
	b.each("nv_cache_num_misses_per_model", "Number of cache misses per model", 20)
	b.each("nv_cache_miss_duration_per_model", "Total cache miss (insert+lookup) duration per model, in microseconds", 20)
	b.energy()
	group := func(kind, family, help, label string, values ...value) {
		b.group(kind, "nv_trt_llm_"+family+"_metrics", help, label, values)
	}
	group("counter", "disaggregated_serving", helpDisagg, "disaggregated_serving_type",
		value{"kv_cache_transfer_ms", b.grown("kv", 17) + 0.421875}, value{"request_count", b.grown("rc", 20)})
	b.gauges()
	active, used := b.wander("active", 200)+2, b.wander("used", 6239)
	group("gauge", "request", helpRequest, "request_type", value{"waiting", b.wander("w", 40)}, value{"context", b.wander("c", 9)},
		value{"scheduled", active}, value{"max", 512}, value{"active", active + 3})
	group("gauge", "runtime_memory", helpRuntimeMemory, "memory_type", value{"pinned", 1.2e8}, value{"gpu", 1610236}, value{"cpu", 0})
	group("gauge", "kv_cache_block", helpKVCache, "kv_cache_block_type", value{"fraction", math.Round(used/6239*1e6) / 1e6},
		value{"tokens_per", 64}, value{"used", used}, value{"free", 6239 - used}, value{"max", 6239})
	group("gauge", "inflight_batcher", helpInflight, "inflight_batcher_specific_metric", value{"paused_requests", 0},
		value{"micro_batch_id", 0}, value{"generation_requests", active - 2}, value{"total_context_tokens", b.wander("t", 8000)})
	group("gauge", "general", helpGeneral, "general_type",
		value{"iteration_counter", b.grown("i", 500)}, value{"timestamp", 1753462474140189 + b.tick*1e6})
	b.histograms(b.models, "nv_inference_first_response_histogram_ms", helpFirstResponse, []float64{100, 500, 2000, 5000}, 700)
	lengths := []float64{10, 50, 100, 500, 1000}
	b.histograms(b.models[3:], "nv_llm_output_token_len", helpTokenLen, lengths, 300, "response_metric_type", "total_output_tokens")
	b.histograms(b.models[3:], "nv_llm_input_token_len", helpTokenLen, lengths, 900, "response_metric_type", "total_input_tokens")
}

func (b *benchPage) summaries() {
	b.core(false)
	b.energy()
	b.gauges()
	for i, d := range durations() {
		b.family("summary", d.summary, d.summaryHelp)
		for m, model := range b.models {
			labels, values := modelLabels(model), quantiles()
			for q := range values {
				values[q] = float64(1000*(i+1)*(q+1)) + b.wander(labels+strconv.Itoa(q), 900)
				if m == len(b.models)-1 {
					values[q] = math.NaN() // The last model is idle.
				}
			}
			b.addSummary(labels, uint64(b.grown(labels, 90)), b.grown(labels+"sum", 9e6), values)
		}
	}
}

// ServeCanned answers every request of each connection to the listener with the
// next of the pages, with as little work as can be, so that the figures of a
// benchmark are the client's. It returns when the listener is closed.
func ServeCanned(listener net.Listener, pages [][]byte) {
	replies := make([][]byte, len(pages))
	for i, page := range pages {
		replies[i] = fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\n\r\n%s", len(page), page)
	}
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		go replay(conn, replies)
	}
}

// replay serves one connection until its client leaves.
func replay(conn net.Conn, replies [][]byte) {
	defer func() { _ = conn.Close() }()
	request := make([]byte, 4096)
	for n := 0; ; n++ {
		if _, err := conn.Read(request); err != nil {
			return
		}
		if _, err := conn.Write(replies[n%len(replies)]); err != nil {
			return
		}
	}
}
