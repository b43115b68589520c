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
		all[i] = Alias{
			Set:     set,
			Name:    prefix + r[0],
			From:    Prefix + r[1],
			Label:   r[2],
			Value:   r[3],
			Renamed: renamed[r[1]],
		}
	}
	return all
}

// cacheConfig is vLLM's metric with the size of its KV cache in labels, from which inference
// gateways read the number of blocks and of tokens in a block.
const cacheConfigSet, cacheConfig = "vllm", "vllm:cache_config_info"

// repeat is a series with the value of another series.
type repeat struct{ series, original int }

// repeatedValue is a series with a value of the page.
type repeatedValue struct {
	series int
	place  exposition.ValueIndex
}

// aliasNames is a set of aliases: bit n stands for the n-th of [Aliases], the last bit for cacheConfig.
type aliasNames uint64

const sizedCaches aliasNames = 1 << 63

// aliases returns the names that repeat series: those of the configured vocabularies, except names on
// the server's own page if that is exposed.
func (o *Options) aliases(page *exposition.Shape) (names aliasNames) {
	if len(o.Aliases) == 0 {
		return 0
	}
	taken := make(map[string]bool)
	if !o.RawHidden {
		for _, f := range page.Families() {
			taken[f.Name] = true
		}
	}
	for n, a := range Aliases() {
		if slices.Contains(o.Aliases, a.Set) && !taken[a.Name] {
			names |= 1 << n
		}
	}
	if slices.Contains(o.Aliases, cacheConfigSet) && !taken[cacheConfig] {
		names |= sizedCaches
	}
	return names
}

// addAliases repeats series under other names.
func (ix *index) addAliases(names aliasNames, only bool) {
	originals := len(ix.series)
	for n, a := range Aliases() {
		if names&(1<<n) != 0 {
			ix.repeat(&a, originals)
		}
	}
	if names&sizedCaches != 0 {
		ix.addCacheConfig()
	}
	if only {
		ix.hidden = originals
	}
}

func (ix *index) repeat(a *Alias, originals int) {
	for original := range originals {
		s := ix.series[original]
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
		ix.repeats = append(ix.repeats, repeat{series: len(ix.series), original: original})
		ix.series = append(ix.series, s)
	}
}

// CacheConfig returns the name of the alias with numbers as labels, and the families of these.
func CacheConfig() (name string, from map[string]string) {
	return cacheConfig, map[string]string{
		"block_size":     Prefix + "kv_cache_block_tokens",
		"num_gpu_blocks": Prefix + "kv_cache_blocks_limit",
	}
}

// cacheSize is the size of a KV cache; the zero value is unknown.
type cacheSize struct{ tokens, blocks float64 }

// addCacheConfig adds a series for each cache that may have a known size. They are the last ones.
func (ix *index) addCacheConfig() {
	v := ix.building.view
	for _, m := range ix.models {
		if !v.Shows(m, cacheLimit) || !v.Shows(m, blockTokens) {
			continue
		}
		v.cacheSize(m)
		ix.sized = append(ix.sized, m)
		ix.series = append(ix.series, exposition.ComputedSeries{
			Family: exposition.Family{
				Name: cacheConfig,
				Help: "1 with the size of the KV cache: " + Prefix + "kv_cache_block_tokens and " +
					Prefix + "kv_cache_blocks_limit as labels.",
				Type: model.MetricTypeGauge,
			},
			Labels: withLabels(m.labels, AliasModelLabel(cacheConfigSet), m.id),
		})
	}
}

// cacheSize returns the size of a cache, if it is known.
func (v *View) cacheSize(m *Model) (size cacheSize) {
	tokens, ok := v.Of(m, blockTokens)
	blocks, okBlocks := v.Of(m, cacheLimit)
	if ok && okBlocks && isSize(tokens) && isSize(blocks) {
		size = cacheSize{tokens, blocks}
	}
	return size
}

// setSizes sets the labels of caches of known size, and leaves the others out.
func (ix *index) setSizes(series []exposition.ComputedSeries, sizes map[string]cacheSize) {
	number := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	for i, m := range ix.sized {
		s := &series[len(series)-len(ix.sized)+i]
		size, known := sizes[m.id]
		s.Omit = !known
		s.Labels = withLabels(s.Labels, "block_size", number(size.tokens), "num_gpu_blocks", number(size.blocks))
	}
}

// resizeCaches labels the series again if the size of a cache differs from its label, which happens
// once for most servers.
func (d *Deriver) resizeCaches(block *exposition.Block) {
	if len(d.index.sized) == 0 && len(d.sizes) == 0 {
		return
	}
	sizes := make(map[string]cacheSize)
	for _, m := range d.index.sized {
		if size := d.view.cacheSize(m); size != (cacheSize{}) {
			sizes[m.id] = size
		}
	}
	if !maps.Equal(sizes, d.sizes) {
		d.sizes = sizes
		d.label(block)
	}
}

// isSize reports whether v is a positive whole number.
func isSize(v float64) bool { return v >= 1 && v < 1<<53 && v == math.Trunc(v) }
