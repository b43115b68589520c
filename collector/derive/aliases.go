package derive

import (
	"maps"
	"slices"
	"strconv"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// Alias is a name of another vocabulary for a family of ours.
type Alias struct {
	// Set is the vocabulary, one of [exposition.AliasSets], Name the family's
	// name in it.
	Set, Name string
	// From is our family of the same values and type.
	From string
	// Label and Value select series of ours, which lose the label; empty takes
	// all. Renamed are names of labels, ours and theirs.
	Label, Value string
	Renamed      [][2]string
}

// Aliases are all aliases, by set. Series keep their labels and gain the one
// that names the model in the vocabulary, see [AliasModelLabel].
func Aliases() []Alias {
	all := slices.Concat(vllmAliases(), trtllmAliases(), otelAliases())
	for i := range all {
		all[i].From = Prefix + all[i].From
	}
	return all
}

// AliasModelLabel is the label that names the model in a vocabulary.
func AliasModelLabel(set string) string {
	if set == "otel" {
		return "gen_ai_request_model"
	}
	return "model_name"
}

// vllmAliases are the names of vLLM, which inference gateways and autoscalers
// read by default.
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

// cacheConfig is vLLM's name for how large its KV cache is, in labels: inference
// gateways read how many tokens a block holds and how many blocks there are.
const cacheConfigSet, cacheConfig = "vllm", "vllm:cache_config_info"

// trtllmAliases are the names of trtllm-serve.
func trtllmAliases() []Alias {
	a := func(name, from string) Alias { return Alias{Set: "trtllm", Name: "trtllm_" + name, From: from} }
	of := func(name, from, label, value string) Alias {
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
		of("kv_cache_used_blocks", "kv_cache_blocks", "state", "used"),
		of("kv_cache_free_blocks", "kv_cache_blocks", "state", "free"),
		a("kv_cache_tokens_per_block", "kv_cache_block_tokens"),
		a("kv_cache_reused_blocks_total", "kv_cache_blocks_reused_total"),
		of("gpu_memory_usage_bytes", "engine_memory_bytes", "memory", "gpu"),
		of("cpu_memory_usage_bytes", "engine_memory_bytes", "memory", "cpu"),
		of("pinned_memory_usage_bytes", "engine_memory_bytes", "memory", "pinned"),
		a("prompt_tokens_total", "prompt_tokens_total"),
		a("generation_tokens_total", "generation_tokens_total"),
		a("time_to_first_token_seconds", "time_to_first_token_seconds"),
		a("time_per_output_token_seconds", "time_per_output_token_seconds"),
		a("e2e_request_latency_seconds", "request_duration_seconds"),
		a("request_queue_time_seconds", "request_queue_seconds"),
		finished,
	}
}

// otelAliases are the server metrics of OpenTelemetry's semantic conventions
// for generative AI, as its Prometheus exporter writes them, with the attributes
// that are required of them: the operation and the provider, which is the kind of
// server.
func otelAliases() []Alias {
	a := func(name, from string) Alias { return Alias{Set: "otel", Name: "gen_ai_server_" + name, From: from} }
	return []Alias{
		a("request_duration_seconds", "request_duration_seconds"),
		a("time_to_first_token_seconds", "time_to_first_token_seconds"),
		a("time_per_output_token_seconds", "time_per_output_token_seconds"),
	}
}

// alias repeats series under the names of the vocabularies that were asked
// for. Names that are on the server's own page stay the server's, if that is
// shown.
func (p *Plan) alias(opts *Options, shape *exposition.Shape) {
	own := len(p.program.series)
	if len(opts.Aliases) > 0 {
		taken := opts.taken(shape)
		for _, a := range Aliases() {
			if slices.Contains(opts.Aliases, a.Set) && !taken[a.Name] {
				p.repeat(&a, own)
			}
		}
		if slices.Contains(opts.Aliases, cacheConfigSet) && !taken[cacheConfig] {
			p.cacheConfig(opts.caches)
		}
	}
	if opts.AliasesOnly {
		for n := range own {
			p.program.hidden = append(p.program.hidden, n)
		}
	}
}

// repeat adds the series of one alias.
func (p *Plan) repeat(a *Alias, own int) {
	for of := range own {
		s := p.program.series[of]
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
			// Both are required. Which operations there were, chats or completions, no
			// server's histogram says.
			b.Set("gen_ai_operation_name", "unknown").Set("gen_ai_provider_name", s.Labels.Get("engine"))
		}
		s.Hidden = false
		s.Family.Name, s.Family.Help = a.Name, "The same as "+a.From+": "+s.Family.Help
		s.Labels = b.Labels()
		p.program.series = append(p.program.series, s)
		p.program.repeats = append(p.program.repeats, repeated{series: len(p.program.series) - 1, of: of})
	}
}

// CacheConfig is the alias whose labels are numbers of ours: its name, and the
// families that they are of by label.
func CacheConfig() (name string, from map[string]string) {
	return cacheConfig, map[string]string{"block_size": Prefix + "kv_cache_block_tokens", "num_gpu_blocks": Prefix + "kv_cache_blocks_limit"}
}

// cacheSize is how many blocks the KV cache of a model id has, and how many tokens
// a block holds.
type cacheSize struct{ blocks, tokens float64 }

// sizedCache says how large the KV cache of a model id is.
type sizedCache struct {
	id             string
	blocks, tokens Eval
}

// cacheConfig adds the series of the caches whose sizes are known, and what they are
// found with: sizes are in labels, which a program has once and for all.
func (p *Plan) cacheConfig(known map[string]cacheSize) {
	blocks, tokens := cacheLimit(), blockTokens()
	for _, id := range p.ids(blocks.inputs.and(tokens.inputs)) {
		one := sizedCache{id, blocks.of(p, id), tokens.of(p, id)}
		if one.blocks == nil || one.tokens == nil {
			continue
		}
		p.program.caches = append(p.program.caches, one)
		size, ok := known[id]
		if !ok {
			continue
		}
		lset := p.forModel(id, AliasModelLabel(cacheConfigSet), id, "block_size", strconv.FormatFloat(size.tokens, 'f', -1, 64), "num_gpu_blocks", strconv.FormatFloat(size.blocks, 'f', -1, 64))
		head := Family{Name: cacheConfig, Help: "1 with the size of the KV cache: llm_server_kv_cache_block_tokens and llm_server_kv_cache_blocks_limit as labels.", Type: model.MetricTypeGauge}
		p.emit(&head, lset, p.executorGate(id), constant(1))
	}
}

// cacheSizes are the sizes of the caches by model id, of those that have one now.
func (p *program) cacheSizes(w *Window) map[string]cacheSize {
	if len(p.caches) == 0 {
		return nil
	}
	sizes := make(map[string]cacheSize, len(p.caches))
	for _, c := range p.caches {
		blocks, ok := c.blocks(w)
		tokens, there := c.tokens(w)
		if ok && there && whole(blocks) && whole(tokens) {
			sizes[c.id] = cacheSize{blocks, tokens}
		}
	}
	return sizes
}

// whole reports whether v is a positive whole number.
func whole(v float64) bool { return v >= 1 && v < 1<<53 && v == float64(int64(v)) }

// sizeCaches makes the program again when a cache has another size than its label
// says: once in the life of most servers.
func (d *Deriver) sizeCaches(page *exposition.Block) {
	if sizes := d.program.cacheSizes(d.window); !maps.Equal(sizes, d.opts.caches) {
		d.opts.caches = sizes
		d.compile(d.read, page)
	}
}
