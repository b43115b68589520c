package simulate

import "strconv"

// drafted is what is counted of drafts that propose two tokens each, the first of which is accepted and
// followed by one of the model: half of all tokens are accepted ones.
type drafted struct{ drafts, proposed, accepted uint64 }

func draftsOf(generated uint64) drafted {
	return drafted{drafts: generated / 2, proposed: generated, accepted: generated / 2}
}

// transfersOf returns what is counted of KV caches that came from a prefill server, one for each of n requests.
func transfersOf(n uint64) *transfers {
	t := &transfers{times: newHistogram(0.005, 0.01, 0.05, 0.1, 1), bytes: newHistogram(1<<10, 1<<20, 1<<30), lost: 1}
	t.times.observeN(1./64, n)
	t.bytes.observeN(1<<20, n)
	return t
}

// drafts writes what vLLM shows of speculative decoding.
func (p *vllmWriter) drafts() {
	if !p.s.w.spec.Drafts {
		return
	}
	d := draftsOf(p.s.generated)
	if p.s.w.spec.OldEngine { // At each log interval it adds all that there were since the start.
		d = draftsOf(10 * p.s.generated)
		p.gauge("spec_decode_draft_acceptance_rate", "Speculative token acceptance rate.", 0.5)
		p.count("spec_decode_num_emitted_tokens", "Number of emitted tokens.", d.proposed)
	}
	p.count("spec_decode_num_drafts", "Number of spec decoding drafts.", d.drafts)
	p.count("spec_decode_num_draft_tokens", "Number of draft tokens.", d.proposed)
	p.count("spec_decode_num_accepted_tokens", "Number of accepted tokens.", d.accepted)
	p.counter("spec_decode_num_accepted_tokens_per_pos", "Accepted tokens per draft position.", p.labels(), "position",
		[]string{"0", "1"}, d.accepted)
}

// adapters writes which LoRA adapters run. Its value is when it was written.
func (p *vllmWriter) adapters() {
	if p.s.w.spec.Adapters {
		p.one("gauge", "vllm:lora_requests_info", "Running stats on lora requests.", pairs(
			"max_lora", "4", "running_lora_adapters", "a", "waiting_lora_adapters", "b"), p.s.w.born()+1)
	}
}

// transferred returns the tokens of prompts that came from elsewhere: a quarter, or what was fetched.
func (s *vllmServer) transferred() uint64 {
	if s.w.spec.Transfers {
		return s.begun.prompt / 4
	}
	return s.fetched
}

// offloads writes what vLLM shows of a cache in the memory of the host, and of stores beside it, each of which moves a
// page for each request.
func (p *vllmWriter) offloads() {
	if !p.s.w.spec.Transfers {
		return
	}
	moved := (1 << 12) * p.s.requests
	p.counter("kv_offload_total_bytes", "Number of bytes offloaded by KV connector.", p.labels(), "transfer_type",
		[]string{"CPU_to_GPU", "GPU_to_CPU"}, moved, 2*moved)
	p.count("kv_offload_load_bytes", "Total bytes loaded from offload storage to GPU.", moved)
	p.count("kv_offload_store_bytes", "Total bytes stored from GPU to offload storage.", 2*moved)
	p.store(moved)
	p.counter("umbp_transfer_bytes", "Number of bytes transferred by UMBP.", p.labels(), "operation",
		[]string{"load", "store"}, moved, 2*moved)
}

// store writes what vLLM shows of Mooncake's store, which moves as much. What fails counts too.
func (p *vllmWriter) store(moved uint64) {
	const help = "Number of bytes transferred by Mooncake store operations."
	p.family("counter", "vllm:mooncake_store_operation_bytes_total", help)
	add := func(operation, status string, n uint64) {
		p.add(labeled(p.labels(), []string{"operation", operation, "status", status}), float64(n))
	}
	add("load_get", "ok", moved)
	add("lookup_exists", "ok", 0)
	add("save_put", "ok", 2*moved)
	add("save_put", "partial_failure", moved)
}

// sglangTransferTimes are the histograms that took the place of gauges.
const sglangTransferTimes = "kv_transfer_* as histograms"

// writeTransfers writes what SGLang shows of transfers. Gauges of earlier releases have the last one.
func (s *sglang) writeTransfers(p *page) {
	if !s.w.spec.Transfers {
		return
	}
	t := transfersOf(s.requests)
	const speed, size = "sglang:kv_transfer_latency_ms", "sglang:kv_transfer_total_mb"
	if p.lacks(sglangTransferTimes) {
		p.one("gauge", speed, "The transfer latency of the KV cache in ms.", s.ofRank(), 1000./64)
		p.one("gauge", size, "The total number of tokens transferred in the KV cache.", s.ofRank(), 1)
	} else {
		milliseconds, megabytes := newHistogram(1, 10, 100, 1000), newHistogram(1, 10, 100)
		milliseconds.observeN(1000./64, s.requests)
		megabytes.observeN(1, s.requests)
		p.histogram(speed, "Histogram of KV transfer latency in ms.", s.ofRank(), milliseconds)
		p.histogram(size, "Histogram of KV transfer size in MB.", s.ofRank(), megabytes)
	}
	p.one("counter", "sglang:num_transfer_failed_reqs_total", "The number of transfer failed requests.", s.ofRank(),
		float64(t.lost))
	p.one("counter", "sglang:num_bootstrap_failed_reqs_total", "The number of bootstrap failed requests.", s.ofRank(),
		0)
}

// writeHost writes what SGLang shows of a cache in the memory of the host, of which a quarter is in use. It moves a
// page for each request.
func (s *sglang) writeHost(p *page) {
	if !s.w.spec.Transfers {
		return
	}
	moved, cache := float64((1<<12)*s.requests), pairs("cache_type", "UnifiedRadixCache", "dp_rank", "0", "tp_rank", "0")
	p.one("gauge", "sglang:hicache_host_used_tokens", "Number of tokens used in the host KV cache.", s.ofRank(), 1000)
	p.one("gauge", "sglang:hicache_host_total_tokens", "Total capacity of the host KV cache in tokens.", s.ofRank(), 4000)
	p.one("counter", "sglang:load_back_bytes_total", "Bytes loaded back from host to GPU.", cache, moved)
	p.one("counter", "sglang:hicache_backup_bytes_total", "Bytes backed up from GPU to host.", cache, 2*moved)
}

// sglangFullest is the change by which token_usage became the use of the fullest pool.
const sglangFullest = "token_usage of the fullest pool"

// usage returns how full SGLang says that its cache is, and its pool of states: twice as full as that of tokens.
func (s *sglang) usage(p *page, tokens float64) (usage, states float64) {
	if !s.w.spec.States {
		return tokens, 0
	}
	states = min(2*tokens, 1)
	if p.lacks(sglangFullest) {
		return tokens, states
	}
	return max(tokens, states), states
}

// accepted returns SGLang's tokens of each pass, and the share of drafts that were accepted, 0 without drafts.
func (s *sglang) accepted() (length, rate float64) {
	if s.w.spec.Drafts {
		return 2, 0.5
	}
	return 0, 0
}

// writeDrafts writes what trtllm-serve shows of speculative decoding: of iterations, and by position when
// requests end.
func (s *serve) writeDrafts(p *page) {
	if !s.w.spec.Drafts || s.collected.last.n == 0 {
		return
	}
	d := draftsOf(s.booked.ended.generation)
	count := func(name, help string, n uint64) { p.one("counter", "trtllm_"+name, help, s.labels(), float64(n)) }
	count("spec_decode_num_draft_tokens_total", "Total draft tokens proposed", d.proposed)
	count("spec_decode_num_accepted_tokens_total", "Total draft tokens accepted", d.accepted)
	positions := func(name, help string, of ...uint64) {
		p.family("counter", "trtllm_"+name, help)
		for i, n := range of {
			p.add(with(s.labels(), "token_position", strconv.Itoa(i)), float64(n))
		}
	}
	positions("spec_decode_drafted_tokens_total", "Drafted tokens by position.", d.drafts, d.drafts)
	positions("spec_decode_accepted_tokens_total", "Accepted tokens by position.", d.accepted, 0)
	s.gauge(p, "spec_decode_acceptance_length", "Speculative decoding acceptance length", 2)
	s.gauge(p, "spec_decode_draft_overhead", "Speculative decoding draft overhead", 0.25)
}
