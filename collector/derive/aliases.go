package derive

import (
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// Alias is the name of one of our families in another vocabulary.
type Alias struct {
	// Set is one of [exposition.AliasSets], Name the family's name in that vocabulary.
	Set, Name string
	From      string // Our family with the same values and type.
	// Label and Value select series by a label, which is removed; if empty, all are selected.
	// Renamed holds pairs of label names, ours and theirs.
	Label, Value string
	Renamed      [][2]string
}

// Aliases returns all aliases, by set. Their series have our labels and also the vocabulary's
// label for the model, see [AliasModelLabel].
func Aliases() []Alias {
	return slices.Concat(
		// Inference gateways and autoscalers read vLLM's names by default.
		aliases("vllm", "vllm:", [][4]string{
			{"num_requests_running", "requests_running"},
			{"num_requests_waiting", "queue_depth"},
			{"lora_requests_info", "adapters_info"},
			{"num_preemptions_total", "requests_preempted_total"},
			{"prompt_tokens_cached_total", "prompt_tokens_cached_total"},
			{"kv_cache_usage_perc", "kv_cache_utilization_ratio"},
			{"gpu_cache_usage_perc", "kv_cache_utilization_ratio"},
			{"prompt_tokens_total", "prompt_tokens_total"},
			{"generation_tokens_total", "generation_tokens_total"},
			{"request_prompt_tokens", "request_prompt_tokens"},
			{"request_generation_tokens", "request_generation_tokens"},
			{"time_to_first_token_seconds", "time_to_first_token_seconds"},
			{"request_time_per_output_token_seconds", "time_per_output_token_seconds"},
			{"time_per_output_token_seconds", "inter_token_latency_seconds"},
			{"inter_token_latency_seconds", "inter_token_latency_seconds"},
			{"e2e_request_latency_seconds", "request_duration_seconds"},
			{"request_queue_time_seconds", "request_queue_seconds"},
			{"request_prefill_time_seconds", "request_prefill_seconds"},
			{"request_decode_time_seconds", "request_decode_seconds"},
			{"request_inference_time_seconds", "request_inference_seconds"},
			{"request_success_total", "requests_finished_total"},
		}),
		aliases("trtllm", "trtllm_", [][4]string{
			{"num_requests_running", "requests_active"},
			{"num_requests_waiting", "queue_depth"},
			{"num_scheduled_requests", "requests_running"},
			{"num_context_requests", "requests_prefill"},
			{"num_generation_requests", "requests_decode"},
			{"num_paused_requests", "requests_paused"},
			{"max_num_active_requests", "requests_limit"},
			{"total_context_tokens", "iteration_context_tokens"},
			{"kv_cache_utilization", "kv_cache_utilization_ratio"},
			{"kv_cache_max_blocks", "kv_cache_blocks_limit"},
			{"kv_cache_used_blocks", "kv_cache_blocks", "state", "used"},
			{"kv_cache_free_blocks", "kv_cache_blocks", "state", "free"},
			{"kv_cache_tokens_per_block", "kv_cache_block_tokens"},
			{"kv_cache_reused_blocks_total", "kv_cache_blocks_reused_total"},
			{"gpu_memory_usage_bytes", "engine_memory_bytes", "memory", "gpu"},
			{"cpu_memory_usage_bytes", "engine_memory_bytes", "memory", "cpu"},
			{"pinned_memory_usage_bytes", "engine_memory_bytes", "memory", "pinned"},
			{"prompt_tokens_total", "prompt_tokens_total"},
			{"generation_tokens_total", "generation_tokens_total"},
			{"time_to_first_token_seconds", "time_to_first_token_seconds"},
			{"time_per_output_token_seconds", "time_per_output_token_seconds"},
			{"e2e_request_latency_seconds", "request_duration_seconds"},
			{"request_queue_time_seconds", "request_queue_seconds"},
			{"request_success_total", "requests_finished_total"},
		}),
		// OpenTelemetry's semantic conventions for generative AI, as its exporter writes them.
		aliases("otel", "gen_ai_server_", [][4]string{
			{"request_duration_seconds", "request_duration_seconds"},
			{"time_to_first_token_seconds", "time_to_first_token_seconds"},
			{"time_per_output_token_seconds", "time_per_output_token_seconds"},
		}),
	)
}

// AliasModelLabel returns the label that names the model in a vocabulary.
func AliasModelLabel(set string) string {
	if set == "otel" {
		return "gen_ai_request_model"
	}
	return "model_name"
}

// aliases returns the aliases of a set. A row is their name, our name, a label and its value.
func aliases(set, prefix string, rows [][4]string) []Alias {
	renamed := map[string][][2]string{
		"requests_finished_total": {{"finish_reason", "finished_reason"}},
		"adapters_info":           {{"running", "running_lora_adapters"}, {"waiting", "waiting_lora_adapters"}},
	}
	all := make([]Alias, len(rows))
	for i, r := range rows {
		all[i] = Alias{Set: set, Name: prefix + r[0], From: Prefix + r[1], Label: r[2], Value: r[3], Renamed: renamed[r[1]]}
	}
	return all
}

// cacheConfig is vLLM's metric with the size of its KV cache in labels, from which inference
// gateways read the number of blocks and of tokens in a block.
const cacheConfigSet, cacheConfig = "vllm", "vllm:cache_config_info"

// addAliases repeats series under the names of the configured vocabularies, except names on the
// server's own page if that is exposed.
func (p *Plan) addAliases() {
	originals, opts := len(p.program.series), p.opts
	if len(opts.Aliases) > 0 {
		existing := opts.takenAliases(p.page.Shape())
		for _, a := range Aliases() {
			if slices.Contains(opts.Aliases, a.Set) && !existing[a.Name] {
				p.repeat(&a, originals)
			}
		}
		if slices.Contains(opts.Aliases, cacheConfigSet) && !existing[cacheConfig] {
			p.addCacheConfig(opts.caches)
		}
	}
	if opts.AliasesOnly {
		p.program.hidden = originals
	}
}

func (p *Plan) repeat(a *Alias, originals int) {
	for original := range originals {
		s := p.program.series[original]
		if s.Family.Name != a.From || a.Label != "" && s.Labels.Get(a.Label) != a.Value {
			continue
		}
		b := labels.NewBuilder(s.Labels).Set(AliasModelLabel(a.Set), s.Labels.Get("model_id")).Del(a.Label)
		for _, name := range a.Renamed {
			b.Set(name[1], s.Labels.Get(name[0])).Del(name[0])
		}
		if a.Set == "otel" {
			// Both are required. No server's histogram distinguishes chats from completions.
			b.Set("gen_ai_operation_name", "unknown").Set("gen_ai_provider_name", s.Labels.Get("engine"))
		}
		s.Hidden = false
		s.Family.Name, s.Family.Help = a.Name, "The same as "+a.From+": "+s.Family.Help
		s.Labels = b.Labels()
		p.program.series = append(p.program.series, s)
		p.program.repeats = append(p.program.repeats, aliasSeries{series: len(p.program.series) - 1, original: original})
	}
}

// CacheConfig returns the name of the alias with numbers as labels, and the families of these.
func CacheConfig() (name string, from map[string]string) {
	return cacheConfig, map[string]string{"block_size": Prefix + "kv_cache_block_tokens", "num_gpu_blocks": Prefix + "kv_cache_blocks_limit"}
}

type cacheSize struct{ tokens, blocks float64 }

// sizedCache computes the size of the KV cache of a model id.
type sizedCache struct {
	id             string
	tokens, blocks Eval
}

// addCacheConfig adds series for caches of known size, and the Evals that compute the sizes.
func (p *Plan) addCacheConfig(sizes map[string]cacheSize) {
	blocks, tokens := cacheLimit(), blockTokens()
	for _, id := range p.ids(blocks.inputs.and(tokens.inputs)) {
		cache := sizedCache{id, tokens.eval(p, id), blocks.eval(p, id)}
		if cache.tokens == nil || cache.blocks == nil {
			continue
		}
		p.program.caches = append(p.program.caches, cache)
		if size, ok := sizes[id]; ok {
			lset := p.forModel(id, AliasModelLabel(cacheConfigSet), id, "block_size", strconv.FormatFloat(size.tokens, 'f', -1, 64), "num_gpu_blocks", strconv.FormatFloat(size.blocks, 'f', -1, 64))
			help := "1 with the size of the KV cache: llm_server_kv_cache_block_tokens and llm_server_kv_cache_blocks_limit as labels."
			family := exposition.Family{Name: cacheConfig, Help: help, Type: model.MetricTypeGauge}
			p.emit(&Family{Family: family}, lset, p.executorGate(id), constant(1))
		}
	}
}

// resizeCaches compiles the program again if the size of a cache differs from its label, which
// happens once for most servers.
func (d *Deriver) resizeCaches(block *exposition.Block) {
	sizes := make(map[string]cacheSize)
	for _, c := range d.program.caches {
		tokens, ok := c.tokens(d.window)
		blocks, blocksOK := c.blocks(d.window)
		if ok && blocksOK && isSize(tokens) && isSize(blocks) {
			sizes[c.id] = cacheSize{tokens, blocks}
		}
	}
	if !maps.Equal(sizes, d.opts.caches) {
		d.opts.caches = sizes
		d.compile(d.page, block)
	}
}

// isSize reports whether v is a positive whole number.
func isSize(v float64) bool { return v >= 1 && v < 1<<53 && v == math.Trunc(v) }
