package derive

import (
	"maps"
	"slices"
	"strconv"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// Alias is a name of one of our families in another vocabulary.
type Alias struct {
	// Set is the vocabulary, one of [exposition.AliasSets], Name the family's name in
	// it.
	Set, Name string
	// From is our family of the same values and type.
	From string
	// Label and Value select series of ours, which lose the label; empty selects all.
	// Renamed holds names of labels, ours and theirs.
	Label, Value string
	Renamed      [][2]string
}

// Aliases returns all aliases, by set. Series keep their labels and gain the one that
// names the model in the vocabulary, see [AliasModelLabel].
func Aliases() []Alias {
	all := slices.Concat(vllmAliases(), trtllmAliases(), otelAliases())
	for i := range all {
		all[i].From = Prefix + all[i].From
	}
	return all
}

// AliasModelLabel returns the label that names the model in a vocabulary.
func AliasModelLabel(set string) string {
	if set == "otel" {
		return "gen_ai_request_model"
	}
	return "model_name"
}

// vllmAliases returns the names of vLLM, which inference gateways and autoscalers read
// by default.
func vllmAliases() []Alias {
	a := func(name, from string) Alias { return Alias{Set: "vllm", Name: "vllm:" + name, From: from} }
	finished := a("request_success_total", "requests_finished_total")
	finished.Renamed = [][2]string{{"finish_reason", "finished_reason"}}
	adapters := a("lora_requests_info", "adapters_info")
	adapters.Renamed = [][2]string{{"running", "running_lora_adapters"}, {"waiting", "waiting_lora_adapters"}}
	return []Alias{
		a("num_requests_running", "requests_running"),
		a("num_requests_waiting", "queue_depth"),
		adapters,
		a("num_preemptions_total", "requests_preempted_total"),
		a("prompt_tokens_cached_total", "prompt_tokens_cached_total"),
		a("kv_cache_usage_perc", "kv_cache_utilization_ratio"),
		a("gpu_cache_usage_perc", "kv_cache_utilization_ratio"),
		a("prompt_tokens_total", "prompt_tokens_total"),
		a("generation_tokens_total", "generation_tokens_total"),
		a("request_prompt_tokens", "request_prompt_tokens"),
		a("request_generation_tokens", "request_generation_tokens"),
		a("time_to_first_token_seconds", "time_to_first_token_seconds"),
		a("request_time_per_output_token_seconds", "time_per_output_token_seconds"),
		a("time_per_output_token_seconds", "inter_token_latency_seconds"),
		a("inter_token_latency_seconds", "inter_token_latency_seconds"),
		a("e2e_request_latency_seconds", "request_duration_seconds"),
		a("request_queue_time_seconds", "request_queue_seconds"),
		a("request_prefill_time_seconds", "request_prefill_seconds"),
		a("request_decode_time_seconds", "request_decode_seconds"),
		a("request_inference_time_seconds", "request_inference_seconds"),
		finished,
	}
}

// cacheConfig is vLLM's name for the size of its KV cache, which is in labels:
// inference gateways read how many tokens a block holds and how many blocks there are.
const cacheConfigSet, cacheConfig = "vllm", "vllm:cache_config_info"

func trtllmAliases() []Alias {
	a := func(name, from string) Alias { return Alias{Set: "trtllm", Name: "trtllm_" + name, From: from} }
	where := func(name, from, label, value string) Alias {
		one := a(name, from)
		one.Label, one.Value = label, value
		return one
	}
	finished := a("request_success_total", "requests_finished_total")
	finished.Renamed = [][2]string{{"finish_reason", "finished_reason"}}
	return []Alias{
		a("num_requests_running", "requests_active"),
		a("num_requests_waiting", "queue_depth"),
		a("num_scheduled_requests", "requests_running"),
		a("num_context_requests", "requests_prefill"),
		a("num_generation_requests", "requests_decode"),
		a("num_paused_requests", "requests_paused"),
		a("max_num_active_requests", "requests_limit"),
		a("total_context_tokens", "iteration_context_tokens"),
		a("kv_cache_utilization", "kv_cache_utilization_ratio"),
		a("kv_cache_max_blocks", "kv_cache_blocks_limit"),
		where("kv_cache_used_blocks", "kv_cache_blocks", "state", "used"),
		where("kv_cache_free_blocks", "kv_cache_blocks", "state", "free"),
		a("kv_cache_tokens_per_block", "kv_cache_block_tokens"),
		a("kv_cache_reused_blocks_total", "kv_cache_blocks_reused_total"),
		where("gpu_memory_usage_bytes", "engine_memory_bytes", "memory", "gpu"),
		where("cpu_memory_usage_bytes", "engine_memory_bytes", "memory", "cpu"),
		where("pinned_memory_usage_bytes", "engine_memory_bytes", "memory", "pinned"),
		a("prompt_tokens_total", "prompt_tokens_total"),
		a("generation_tokens_total", "generation_tokens_total"),
		a("time_to_first_token_seconds", "time_to_first_token_seconds"),
		a("time_per_output_token_seconds", "time_per_output_token_seconds"),
		a("e2e_request_latency_seconds", "request_duration_seconds"),
		a("request_queue_time_seconds", "request_queue_seconds"),
		finished,
	}
}

// otelAliases returns the server metrics of OpenTelemetry's semantic conventions for
// generative AI, as its Prometheus exporter writes them, with the required attributes:
// the operation, and the provider, which is the kind of server.
func otelAliases() []Alias {
	a := func(name, from string) Alias { return Alias{Set: "otel", Name: "gen_ai_server_" + name, From: from} }
	return []Alias{
		a("request_duration_seconds", "request_duration_seconds"),
		a("time_to_first_token_seconds", "time_to_first_token_seconds"),
		a("time_per_output_token_seconds", "time_per_output_token_seconds"),
	}
}

// addAliases repeats series under the names of the requested vocabularies. Names on the
// server's own page stay the server's if that is exposed.
func (p *Plan) addAliases(opts *Options, shape *exposition.Shape) {
	own := len(p.program.series)
	if len(opts.Aliases) > 0 {
		taken := opts.takenAliases(shape)
		for _, a := range Aliases() {
			if slices.Contains(opts.Aliases, a.Set) && !taken[a.Name] {
				p.repeat(&a, own)
			}
		}
		if slices.Contains(opts.Aliases, cacheConfigSet) && !taken[cacheConfig] {
			p.addCacheConfig(opts.caches)
		}
	}
	if opts.AliasesOnly {
		for n := range own {
			p.program.hidden = append(p.program.hidden, n)
		}
	}
}

func (p *Plan) repeat(a *Alias, own int) {
	for original := range own {
		s := p.program.series[original]
		if s.Family.Name != a.From || a.Label != "" && s.Labels.Get(a.Label) != a.Value {
			continue
		}
		b := labels.NewBuilder(s.Labels).Set(AliasModelLabel(a.Set), s.Labels.Get("model_id"))
		if a.Label != "" {
			b.Del(a.Label)
		}
		for _, name := range a.Renamed {
			b.Set(name[1], s.Labels.Get(name[0])).Del(name[0])
		}
		if a.Set == "otel" {
			// Both are required. No server's histogram tells chats from completions.
			b.Set("gen_ai_operation_name", "unknown").Set("gen_ai_provider_name", s.Labels.Get("engine"))
		}
		s.Hidden = false
		s.Family.Name, s.Family.Help = a.Name, "The same as "+a.From+": "+s.Family.Help
		s.Labels = b.Labels()
		p.program.series = append(p.program.series, s)
		p.program.repeats = append(p.program.repeats, aliasSeries{series: len(p.program.series) - 1, original: original})
	}
}

// CacheConfig returns the name of the alias whose labels are numbers of ours, and their
// families by label.
func CacheConfig() (name string, from map[string]string) {
	return cacheConfig, map[string]string{"block_size": Prefix + "kv_cache_block_tokens", "num_gpu_blocks": Prefix + "kv_cache_blocks_limit"}
}

// cacheSize is how many blocks the KV cache of a model id has, and how many tokens a
// block holds.
type cacheSize struct{ blocks, tokens float64 }

// sizedCache computes the size of the KV cache of a model id.
type sizedCache struct {
	id             string
	blocks, tokens Eval
}

// addCacheConfig adds the series of the caches with a known size, and what tells the
// size: it is in labels, which a program cannot change.
func (p *Plan) addCacheConfig(known map[string]cacheSize) {
	blocks, tokens := cacheLimit(), blockTokens()
	for _, id := range p.ids(blocks.inputs.and(tokens.inputs)) {
		one := sizedCache{id, blocks.eval(p, id), tokens.eval(p, id)}
		if one.blocks == nil || one.tokens == nil {
			continue
		}
		p.program.caches = append(p.program.caches, one)
		size, ok := known[id]
		if !ok {
			continue
		}
		lset := p.forModel(id, AliasModelLabel(cacheConfigSet), id, "block_size", strconv.FormatFloat(size.tokens, 'f', -1, 64), "num_gpu_blocks", strconv.FormatFloat(size.blocks, 'f', -1, 64))
		family := Family{Name: cacheConfig, Help: "1 with the size of the KV cache: llm_server_kv_cache_block_tokens and llm_server_kv_cache_blocks_limit as labels.", Type: model.MetricTypeGauge}
		p.emit(&family, lset, p.executorGate(id), constant(1))
	}
}

// cacheSizes returns the sizes of the caches that have one now, by model id.
func (p *program) cacheSizes(w *Window) map[string]cacheSize {
	if len(p.caches) == 0 {
		return nil
	}
	sizes := make(map[string]cacheSize, len(p.caches))
	for _, c := range p.caches {
		blocks, ok := c.blocks(w)
		tokens, there := c.tokens(w)
		if ok && there && isSize(blocks) && isSize(tokens) {
			sizes[c.id] = cacheSize{blocks, tokens}
		}
	}
	return sizes
}

// isSize reports whether v is a positive whole number.
func isSize(v float64) bool { return v >= 1 && v < 1<<53 && v == float64(int64(v)) }

// resizeCaches compiles the program again when a cache has another size than its label,
// which happens once in the life of most servers.
func (d *Deriver) resizeCaches(block *exposition.Block) {
	if sizes := d.program.cacheSizes(d.window); !maps.Equal(sizes, d.opts.caches) {
		d.opts.caches = sizes
		d.compile(d.page, block)
	}
}
