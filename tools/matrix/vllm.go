package matrix

import (
	"fmt"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// release is a release of vLLM: 901 is 0.9.1, 3200 is 0.32.0.
type release int

// String returns the version in vLLM's format.
func (r release) String() string { return fmt.Sprintf("0.%d.%d", r/100, r%100) }

// Releases of vLLM that changed names, by their sources.
const (
	vllmKVNames     release = 902  // Cache metrics without GPU in their names, next to the old ones.
	vllmITL         release = 1002 // The time between tokens has a name of its own, next to the old one.
	vllmTPOT        release = 1100 // Old cache names removed; mean time per token of each request added.
	vllmNoOldITL    release = 1200 // The old name of the time between tokens is removed.
	vllmCached      release = 1600 // Cached prompt tokens are counted.
	vllmNewest      release = 3200 // Rejected requests, and waiting requests by reason, are counted.
	vllmOldestKnown release = 805
)

// vllms returns the generations of vLLM.
func vllms() []Server {
	http := []engine.Class{engine.ClassOK, engine.ClassClient, engine.ClassServer}
	return []Server{
		{Name: "vLLM 0.9", Kind: engine.VLLM, Facts: singleModel("0.9.1"), Counts: http, page: release(901).page},
		{
			Name: "vLLM 0.32", Kind: engine.VLLM, Facts: singleModel("0.32.0"), Counts: []engine.Class{
				engine.ClassOK, engine.ClassClient, engine.ClassServer, engine.ClassOverload,
			},
			page: vllmNewest.page,
		},
		{
			Name:   "vLLM 0.32, frontend in Rust",
			Kind:   engine.VLLM,
			Facts:  singleModel("0.32.0"),
			Counts: append(http, engine.ClassCanceled),
			page:   vllmRust,
		},
		{
			Name: "vLLM with --disable-log-stats", Kind: engine.VLLM, Facts: singleModel("0.32.0"),
			Counts: http, TakenAsOK: []engine.Class{engine.ClassCanceled},
			page: func(b *Book, p *pageWriter) { vllmHTTP(b, p, false) },
		},
	}
}

// page writes vLLM's page.
func (r release) page(b *Book, p *pageWriter) {
	vllmRank(b, p, "0", r)
	if r >= vllmNewest {
		vllmRefused(b, p)
	}
	vllmHTTP(b, p, r >= vllmNewest)
}

// vllmRust writes the page of the Rust frontend, which counts canceled requests, and exposes
// neither cache config nor sleep state.
func vllmRust(b *Book, p *pageWriter) {
	vllmEngine(b, p, vllmLabels("0"), vllmNewest, b.canceled())
	vllmHTTP(b, p, false)
}

// vllmRefused writes rejected requests, which have no rank.
func vllmRefused(b *Book, p *pageWriter) {
	p.count("vllm:admission_rejections_total", `model_name="llama",reason="max_num_queued_reqs"`, b.overload())
}

// vllmLabels returns the labels of a data-parallel rank.
func vllmLabels(rank string) string { return `engine="` + rank + `",model_name="llama"` }

// vllmRank writes a data-parallel rank, which does not count canceled requests.
func vllmRank(b *Book, p *pageWriter, rank string, rel release) {
	l := vllmLabels(rank)
	vllmEngine(b, p, l, rel, 0)
	p.gauge("vllm:cache_config_info", l+`,block_size="16",cache_dtype="auto",num_gpu_blocks="1000"`, 1)
	if rel >= vllmTPOT {
		p.gauge("vllm:engine_sleep_state", l+`,sleep_state="awake"`, 1)
	}
}

// vllmEngine writes an engine, which counts aborted requests as completed.
func vllmEngine(b *Book, p *pageWriter, l string, rel release, aborted int) {
	const v = "vllm:"
	p.gauge(v+"num_requests_running", l, float64(b.Running))
	p.gauge(v+"num_requests_waiting", l, float64(b.Waiting))
	p.count(v+"prompt_tokens_total", l, 100*b.ok())
	p.count(v+"generation_tokens_total", l, b.Tokens)
	p.count(v+"request_success_total", l+`,finished_reason="stop"`, b.ok())
	p.count(v+"request_success_total", l+`,finished_reason="abort"`, aborted)
	p.times(v+"iteration_tokens_total", l, b.Steps, 2)
	p.times(v+"e2e_request_latency_seconds", l, b.ok()+aborted, requestDuration)
	p.times(v+"time_to_first_token_seconds", l, b.ok(), firstToken)
	p.times(v+"request_queue_time_seconds", l, b.ok(), 0.05)
	vllmCache(b, p, l, rel)
	if rel >= vllmITL {
		p.times(v+"inter_token_latency_seconds", l, b.Tokens, tokenGap)
	}
	if rel < vllmNoOldITL {
		p.times(v+"time_per_output_token_seconds", l, b.Tokens, tokenGap)
	}
	if rel >= vllmTPOT {
		p.times(v+"request_time_per_output_token_seconds", l, b.ok(), tokenGap)
	}
	if rel >= vllmNewest {
		p.count(v+"request_success_total", l+`,finished_reason="error"`, 0)
		p.gauge(v+"num_requests_waiting_by_reason", l+`,reason="capacity"`, float64(b.Waiting))
	}
}

// vllmCache writes the KV cache, with a hit ratio of a tenth.
func vllmCache(b *Book, p *pageWriter, l string, rel release) {
	const v = "vllm:"
	if rel < vllmTPOT {
		p.gauge(v+"gpu_cache_usage_perc", l, 0.03*float64(b.Running))
		p.count(v+"gpu_prefix_cache_queries_total", l, 100*b.ok())
		p.count(v+"gpu_prefix_cache_hits_total", l, 10*b.ok())
	}
	if rel >= vllmKVNames {
		p.gauge(v+"kv_cache_usage_perc", l, 0.03*float64(b.Running))
		p.count(v+"prefix_cache_queries_total", l, 100*b.ok())
		p.count(v+"prefix_cache_hits_total", l, 10*b.ok())
	}
	if rel >= vllmCached {
		p.count(v+"prompt_tokens_cached_total", l, 10*b.ok())
	}
	if rel >= vllmNewest {
		p.count(v+"prompt_tokens_cached_by_source_total", l+`,source="device"`, 10*b.ok())
	}
}

// vllmHTTP writes the responses of vLLM's API. Half of the rejected requests are streams,
// which count as successful.
func vllmHTTP(b *Book, p *pageWriter, refuses bool) {
	answers := func(handler, method, status string, n int) {
		p.event("http_requests_total", fmt.Sprintf("handler=%q,method=%q,status=%q", handler, method, status), n)
	}
	well, badly := b.ok()+b.canceled(), b.failed()
	if refuses {
		well += b.overload() / 2
		badly += b.overload() - b.overload()/2
	}
	answers("/metrics", "GET", "2xx", 1)
	answers("/v1/completions", "POST", "2xx", well)
	answers("/v1/completions", "POST", "4xx", b.client())
	answers("/v1/completions", "POST", "5xx", badly)
	answers("none", "GET", "4xx", b.client())
}
