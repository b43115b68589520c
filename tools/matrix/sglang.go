package matrix

import (
	"fmt"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// sglangs returns SGLang, which counts canceled requests as completed too.
func sglangs() []Server {
	return []Server{{
		Name: "SGLang 0.5", Kind: engine.SGLang, Facts: singleModel("0.5.23"),
		Counts: engine.Classes(), ShowsArrivals: true, page: sglang,
	}}
}

// sglang writes SGLang's page.
func sglang(b *Book, p *pageWriter) {
	sglangScheduler(b, p, sglangRank)
	sglangLive(b, p, sglangRank)
	sglangRequests(b, p)
}

// sglangRank holds the labels of a single rank.
const sglangRank = `moe_ep_rank="0",pp_rank="0",tp_rank="0"`

// sglangLabels holds the labels of all series of the engine.
const sglangLabels = `engine_type="unified",model_name="llama"`

// sglangScheduler writes what one rank reports.
func sglangScheduler(b *Book, p *pageWriter, rank string) {
	const v = "sglang:"
	l := sglangLabels + "," + rank
	p.gauge(v+"num_running_reqs", l, float64(b.Running))
	p.gauge(v+"num_queue_reqs", l, float64(b.Waiting))
	p.gauge(v+"token_usage", l, 0.03*float64(b.Running))
	used := 1920 * float64(b.Running)
	p.gauge(v+"max_total_num_tokens", l, 64000)
	p.gauge(v+"kv_used_tokens", l, used)
	p.gauge(v+"kv_available_tokens", l, 60000-used)
	p.gauge(v+"kv_evictable_tokens", l, 4000)
	p.gauge(v+"page_size", l, 1)
	p.latencies(v+"queue_time_seconds", l, b.ok(), 0.05)
	p.event(v+"cuda_graph_passes_total", l+`,mode="decode_none"`, b.Steps)
}

// sglangLive writes the tokens of running requests.
func sglangLive(b *Book, p *pageWriter, rank string) {
	p.event("sglang:realtime_tokens_total", sglangLabels+","+rank+`,mode="decode"`, b.Tokens)
}

// sglangRequests writes the counters of requests, which have no rank.
func sglangRequests(b *Book, p *pageWriter) {
	sglangEnded(b, p)
	sglangHTTP(b, p)
}

// sglangEnded writes the engine's counters of completed requests.
func sglangEnded(b *Book, p *pageWriter) {
	const l, v = sglangLabels, "sglang:"
	canceled := b.canceled()
	p.event(v+"cached_tokens_total", l+`,cache_source="device"`, b.ok())
	p.latencies(v+"inter_token_latency_seconds", l, b.Tokens, tokenGap)
	p.event(v+"num_requests_total", l+`,is_streaming="true"`, b.ok()+canceled)
	p.event(v+"num_aborted_requests_total", l, canceled)
	p.event(v+"prompt_tokens_total", l+`,is_streaming="true"`, 100*(b.ok()+canceled))
	p.event(v+"generation_tokens_total", l+`,is_streaming="true"`, b.Tokens)
	p.latencies(v+"e2e_request_latency_seconds", l+`,is_streaming="true"`, b.ok()+canceled, requestDuration)
	p.latencies(v+"time_to_first_token_seconds", l+`,is_streaming="true"`, b.ok()+canceled, firstToken)
	p.latencies(v+"request_time_per_output_token_seconds", l+`,is_streaming="true"`, b.ok(), tokenGap)
}

// sglangHTTP writes the requests and responses of the API.
func sglangHTTP(b *Book, p *pageWriter) {
	const v = "sglang:"
	canceled := b.canceled()
	answers := func(endpoint, method, status string, n int) {
		p.event(
			v+"http_responses_total",
			fmt.Sprintf("endpoint=%q,method=%q,status_code=%q", endpoint, method, status),
			n,
		)
	}
	p.event(v+"http_requests_total", `endpoint="/v1/completions",method="POST"`, b.begun())
	answers("/metrics", "GET", "200", 1)
	answers("/health", "GET", "503", 3)
	answers("/v1/completions", "POST", "200", b.ok()+canceled)
	answers("/v1/completions", "POST", "400", b.client())
	answers("/v1/completions", "POST", "503", b.overload())
	answers("/v1/completions", "POST", "500", b.failed())
}
