package derive_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// derived are the series of a replica's page, with their labels.
func derived(t *testing.T, spec simulate.Spec, opts derive.Options) (all []labels.Labels, values []float64) {
	t.Helper()
	replica, err := simulate.NewReplica(spec)
	require.NoError(t, err)
	kind, facts := described(replica.Spec())
	e, _ := engine.ByName(string(kind))
	var names []string
	for _, f := range facts {
		names = append(names, f.Name)
	}
	opts.Window, opts.Interval, opts.Engine = time.Minute, scrapeEvery, e
	opts.Identity = derive.Identity{
		Labels:   labels.FromStrings("engine", string(kind), "pool_id", "p", "replica_id", "r"),
		Topology: engine.NewTopology(e, engine.NamedModels{Names: names}, facts, map[string][]string{"llama": names}),
	}
	d := derive.NewDeriver(opts)
	cache := exposition.NewCache(exposition.Options{Watch: engine.Watch(e)})
	for range 14 {
		replica.Advance(scrapeEvery)
		page, truth := replica.Observe()
		raw, err := cache.Parse(page, "")
		require.NoError(t, err)
		out := d.Derive(truth.At, raw)
		all, values = nil, nil
		for n := range out.Shape().Lines() {
			if v, ok := out.Value(n); ok {
				all, values = append(all, out.Shape().Labels(n)), append(values, v)
			}
		}
	}
	return all, values
}

// selects is how many series each selector of a query finds; the least counts.
func selects(t *testing.T, query string, all []labels.Labels) int {
	t.Helper()
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(query)
	require.NoError(t, err, query)
	selectors := parser.ExtractSelectors(expr)
	require.NotEmpty(t, selectors, query)
	least := len(all)
	for _, matchers := range selectors {
		n := 0
		for _, lset := range all {
			if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(lset.Get(m.Name)) }) {
				n++
			}
		}
		least = min(least, n)
	}
	return least
}

// quoted returns a selector in the PromQL that inference gateways are configured with.
func quoted(selector string) string {
	return regexp.MustCompile(`=([^"}]+)}`).ReplaceAllString(selector, `="$1"}`)
}

func TestQueriesOfOtherVocabulariesFindSeries(t *testing.T) {
	t.Parallel()
	load := simulate.Workload{Rate: 5}
	triton := simulate.Spec{Kind: simulate.KindTriton, Streaming: true, Setup: simulate.Setup{Histograms: true}, Workload: load}
	serve := simulate.Spec{Kind: simulate.KindServeOld, Workload: load}
	nim := simulate.Spec{Kind: simulate.KindNIM, Workload: load}
	newest := simulate.Spec{Kind: simulate.KindServe, Workload: load}
	var all []labels.Labels
	for _, spec := range []simulate.Spec{triton, serve, nim, newest} {
		series, _ := derived(t, spec, derive.Options{Aliases: exposition.AliasSets()})
		all = append(all, series...)
	}
	vllm, _ := derived(t, simulate.Spec{Kind: simulate.KindVLLM, Workload: load}, derive.Options{Aliases: exposition.AliasSets(), RawHidden: true})
	all = append(all, vllm...)
	all = append(all, aliasesOf(t, engine.VLLM, derive.Options{RawHidden: true},
		`vllm:lora_requests_info{max_lora="4",running_lora_adapters="a1,a2",waiting_lora_adapters="a3"} 1.7e9`,
		`vllm:num_requests_running{engine="0",model_name="llama"} 1`)...)
	types := make(map[string]string)
	for _, f := range derive.Catalogue() {
		types[f.Name] = string(f.Type)
	}
	for _, a := range derive.Aliases() {
		query := "avg by (model_name) (" + a.Name + `{` + derive.AliasModelLabel(a.Set) + `="llama"})`
		switch types[a.From] {
		case "histogram":
			query = "histogram_quantile(0.9, sum by (le) (rate(" + a.Name + `_bucket{` + derive.AliasModelLabel(a.Set) + `="llama"}[1m])))`
		case "counter":
			query = "sum(rate(" + a.Name + `{` + derive.AliasModelLabel(a.Set) + `="llama"}[1m]))`
		case "gauge":
		default:
			require.Fail(t, "alias of no family", a.From)
		}
		require.Positive(t, selects(t, query, all), query)
	}
	for _, read := range []string{
		"vllm:num_requests_waiting{model_name=llama}", "vllm:num_requests_running{model_name=llama}", "vllm:kv_cache_usage_perc{model_name=llama}",
		"vllm:cache_config_info{model_name=llama}", "vllm:lora_requests_info{running_lora_adapters=a1,a2}", "vllm:lora_requests_info{waiting_lora_adapters=a3}",
	} {
		require.Positive(t, selects(t, quoted(read), all), "%s, as an inference gateway is configured", read)
	}
}

// aliasesOf are the series of one page with all aliases.
func aliasesOf(t *testing.T, kind engine.Kind, opts derive.Options, lines ...string) (all []labels.Labels) {
	t.Helper()
	e, ok := engine.ByName(string(kind))
	require.True(t, ok)
	opts.Window, opts.Interval, opts.Engine, opts.Aliases = time.Minute, scrapeEvery, e, exposition.AliasSets()
	opts.Identity = derive.Identity{
		Labels:   labels.FromStrings("engine", string(kind), "pool_id", "p", "replica_id", "r"),
		Topology: engine.NewTopology(e, engine.NamedModels{Names: []string{"llama"}}, nil, nil),
	}
	return seriesOf(t, derive.NewDeriver(opts), e, 0, lines...)
}

// seriesOf are those that a deriver makes of the next page.
func seriesOf(t *testing.T, d *derive.Deriver, e engine.Engine, at time.Duration, lines ...string) (all []labels.Labels) {
	t.Helper()
	cache := exposition.NewCache(exposition.Options{Watch: engine.Watch(e)})
	raw, err := cache.Parse([]byte(strings.Join(lines, "\n")+"\n"), "")
	require.NoError(t, err)
	out := d.Derive(at, raw)
	for n := range out.Shape().Lines() {
		if _, ok := out.Value(n); ok {
			all = append(all, out.Shape().Labels(n))
		}
	}
	return all
}

// cacheConfigs are the sizes of KV caches as vLLM has them in labels.
func cacheConfigs(all []labels.Labels) (found []string) {
	for _, lset := range all {
		if lset.Get(model.MetricNameLabel) == "vllm:cache_config_info" {
			found = append(found, lset.Get("block_size")+" x "+lset.Get("num_gpu_blocks")+" of "+lset.Get("model_name"))
		}
	}
	return found
}

func TestTheSizeOfTheCacheIsInLabels(t *testing.T) {
	sglang := func(pages int) []string {
		return []string{`sglang:page_size{model_name="llama"} 16`, fmt.Sprintf(`sglang:num_pages{model_name="llama"} %d`, pages)}
	}
	e, _ := engine.ByName(string(engine.SGLang))
	d := derive.NewDeriver(derive.Options{
		Window: time.Minute, Interval: scrapeEvery, Engine: e, Aliases: []string{"vllm"},
		Identity: derive.Identity{Topology: engine.NewTopology(e, engine.NamedModels{Names: []string{"llama"}}, nil, nil)},
	})
	require.Equal(t, []string{"16 x 512 of llama"}, cacheConfigs(seriesOf(t, d, e, 0, sglang(512)...)), "on the first page")
	require.Equal(t, []string{"16 x 512 of llama"}, cacheConfigs(seriesOf(t, d, e, scrapeEvery, sglang(512)...)))
	require.Equal(t, []string{"16 x 400 of llama"}, cacheConfigs(seriesOf(t, d, e, 2*scrapeEvery, sglang(400)...)), "a process of another size")
	require.Empty(t, cacheConfigs(seriesOf(t, d, e, 3*scrapeEvery, sglang(0)...)), "not known")
	require.Empty(t, cacheConfigs(seriesOf(t, d, e, 4*scrapeEvery, sglang(512)[:1]...)), "not on the page")
	require.Equal(t, []string{"16 x 512 of llama"}, cacheConfigs(seriesOf(t, d, e, 5*scrapeEvery, sglang(512)...)))

	load := simulate.Workload{Rate: 5}
	for kind, want := range map[simulate.Kind][]string{
		simulate.KindTriton: {"64 x 800 of llama"}, simulate.KindServe: {"64 x 800 of llama"}, simulate.KindSGLang: {"64 x 800 of llama"},
		simulate.KindTritonLLMAPIModule: {"64 x 800 of llama"}, simulate.KindVLLM: nil, simulate.KindNIM: nil,
	} {
		all, _ := derived(t, simulate.Spec{Kind: kind, Workload: load, Engine: simulate.Engine{KVBlocks: 800, TokensPerBlock: 64}}, derive.Options{Aliases: []string{"vllm"}})
		require.Equal(t, want, cacheConfigs(all), "%s", kind)
	}
	all, _ := derived(t, simulate.Spec{Kind: simulate.KindVLLM, Workload: load, Engine: simulate.Engine{KVBlocks: 800, TokensPerBlock: 64}}, derive.Options{Aliases: []string{"vllm"}, RawHidden: true})
	require.Equal(t, []string{"64 x 799 of llama"}, cacheConfigs(all), "its own page is not shown")
}

// TestLabelsOfTheSizeOfTheCacheAreOfOurFamilies checks that those labels have the
// numbers of both families and no others.
func TestLabelsOfTheSizeOfTheCacheAreOfOurFamilies(t *testing.T) {
	name, from := derive.CacheConfig()
	numbers := map[string]string{"kv_cache_block_tokens": "16", "kv_cache_blocks_limit": "512"}
	found := 0
	for _, lset := range aliasesOf(t, engine.SGLang, derive.Options{}, `sglang:page_size{model_name="llama"} 16`, `sglang:num_pages{model_name="llama"} 512`) {
		if lset.Get(model.MetricNameLabel) != name {
			continue
		}
		found++
		for label, family := range from {
			require.Equal(t, numbers[strings.TrimPrefix(family, derive.Prefix)], lset.Get(label), label)
		}
	}
	require.Equal(t, 1, found)
	require.Len(t, from, len(numbers))
}

func TestAttributesThatTheConventionsRequire(t *testing.T) {
	for kind, provider := range map[simulate.Kind]string{simulate.KindVLLM: "vllm", simulate.KindSGLang: "sglang", simulate.KindServe: "trtllm-serve"} {
		all, _ := derived(t, simulate.Spec{Kind: kind, Workload: simulate.Workload{Rate: 5}}, derive.Options{Aliases: []string{"otel"}})
		n := 0
		for _, lset := range all {
			if strings.HasPrefix(lset.Get(model.MetricNameLabel), "gen_ai_server_") {
				n++
				require.Equal(t, provider, lset.Get("gen_ai_provider_name"))
				require.Equal(t, "unknown", lset.Get("gen_ai_operation_name"))
				require.Equal(t, "llama", lset.Get("gen_ai_request_model"))
			} else {
				require.Empty(t, lset.Get("gen_ai_provider_name"))
			}
		}
		require.Positive(t, n, kind)
	}
}

func TestAliasesHaveTheSameValues(t *testing.T) {
	all, values := derived(t, simulate.Spec{Streaming: true, Workload: simulate.Workload{Rate: 5}}, derive.Options{Aliases: []string{"vllm"}})
	value := func(name string) (v float64, lset labels.Labels) {
		for i := range all {
			if all[i].Get(model.MetricNameLabel) == name {
				return values[i], all[i]
			}
		}
		require.Fail(t, "no series", name)
		return 0, labels.EmptyLabels()
	}
	for alias, name := range map[string]string{
		"vllm:num_requests_waiting": "llm_server_queue_depth", "vllm:kv_cache_usage_perc": "llm_server_kv_cache_utilization_ratio",
		"vllm:generation_tokens_total": "llm_server_generation_tokens_total",
	} {
		want, _ := value(name)
		got, lset := value(alias)
		require.Equal(t, want, got, alias)
		require.Equal(t, "llama", lset.Get("model_name"))
		require.Equal(t, "llama", lset.Get("model_id"))
		require.Equal(t, "r", lset.Get("replica_id"), "every series says whose it is")
	}
	for _, lset := range all {
		require.False(t, strings.HasPrefix(lset.Get(model.MetricNameLabel), "trtllm_"), "sets that were not asked for stay off")
	}
}

func TestAliasesWithoutTheCatalogue(t *testing.T) {
	all, _ := derived(t, simulate.Spec{Workload: simulate.Workload{Rate: 5}}, derive.Options{Aliases: []string{"trtllm"}, AliasesOnly: true})
	require.NotEmpty(t, all)
	for _, lset := range all {
		require.True(t, strings.HasPrefix(lset.Get(model.MetricNameLabel), "trtllm_"), lset.String())
	}
	all, _ = derived(t, simulate.Spec{Workload: simulate.Workload{Rate: 5}}, derive.Options{})
	for _, lset := range all {
		require.True(t, strings.HasPrefix(lset.Get(model.MetricNameLabel), derive.Prefix), "aliases are off by default")
	}
}

func TestNamesOfTheServersOwnPageAreNotRepeated(t *testing.T) {
	all, _ := derived(t, simulate.Spec{Kind: simulate.KindServe, Workload: simulate.Workload{Rate: 5}}, derive.Options{Aliases: []string{"trtllm", "vllm"}})
	vllm := false
	for _, lset := range all {
		require.NotEqual(t, "trtllm_num_requests_running", lset.Get(model.MetricNameLabel))
		vllm = vllm || lset.Get(model.MetricNameLabel) == "vllm:num_requests_running"
	}
	require.True(t, vllm)
}

// TestHistogramsAreOnThePageThatTellsTheSizeOfTheCache uses a server whose cache size
// is known from its first page on, and changes later.
func TestHistogramsAreOnThePageThatTellsTheSizeOfTheCache(t *testing.T) {
	page := func(blocks string) []string {
		const name = "trtllm_e2e_request_latency_seconds"
		return []string{
			"# TYPE " + name + " histogram", name + `_bucket{model_name="m",le="1.0"} 3`, name + `_bucket{model_name="m",le="+Inf"} 4`,
			name + `_sum{model_name="m"} 9`, name + `_count{model_name="m"} 4`,
			`trtllm_kv_cache_tokens_per_block{model_name="m"} 32`, `trtllm_kv_cache_max_blocks{model_name="m"} ` + blocks,
		}
	}
	b := newBench(t, engine.TRTLLMServe, "m")
	b.opts.Aliases = []string{"vllm"}
	b.deriver = derive.NewDeriver(b.opts)
	for _, c := range []struct{ says, blocks string }{{"the first page", "100"}, {"the next", "100"}, {"another size", "80"}, {"the next", "80"}} {
		got := b.page(page(c.blocks)...)
		require.Equal(t, 1.0, got.at(t, `vllm:cache_config_info{block_size="32", model_id="m", model_name="m", num_gpu_blocks="`+c.blocks+`"}`), c.says)
		require.Equal(t, 4.0, got.at(t, `request_duration_seconds_count{model_id="m"}`), c.says)
		require.Equal(t, 4.0, got.at(t, `vllm:e2e_request_latency_seconds_count{model_id="m", model_name="m"}`), c.says)
	}
	require.Zero(t, b.deriver.Stats().BrokenHistograms)
}
