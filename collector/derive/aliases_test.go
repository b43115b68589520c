package derive_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// newLlama returns a simulated replica of a model whose public id is llama, after a
// minute of requests, with other options.
func newLlama(t *testing.T, spec simulate.Spec, change func(*derive.Options)) *rig {
	t.Helper()
	spec.Workload = simulate.Workload{Rate: 5}
	r := newRig(t, spec)
	r.with(func(o *derive.Options) {
		kind, facts := described(r.replica.Spec())
		var names []string
		for _, f := range facts {
			names = append(names, f.Name)
		}
		o.Naming.Topology = engine.NewTopology(
			o.Engine,
			engine.NamedModels{Names: names},
			facts,
			map[string][]string{"llama": names},
		)
		o.Naming.Labels = labels.FromStrings("engine", string(kind), "pool_id", "p", "replica_id", "r")
		change(o)
	})
	r.serve(14)
	return r
}

// selects returns how many series each selector of a query finds; the least counts.
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

// TestQueriesOfOtherVocabulariesFindSeries covers each alias, and the names in configurations of
// inference gateways.
func TestQueriesOfOtherVocabulariesFindSeries(t *testing.T) {
	t.Parallel()
	every := func(o *derive.Options) { o.Aliases = exposition.AliasSets() }
	rawHidden := func(o *derive.Options) { o.Aliases, o.RawHidden = exposition.AliasSets(), true }
	var all []labels.Labels
	for _, spec := range []simulate.Spec{
		{Kind: simulate.KindTriton, Streaming: true, Setup: simulate.Setup{Histograms: true}},
		{Kind: simulate.KindServeOld},
		{Kind: simulate.KindNIM},
		{Kind: simulate.KindServe},
	} {
		all = append(all, newLlama(t, spec, every).labels()...)
	}
	all = append(all, newLlama(t, simulate.Spec{Kind: simulate.KindVLLM}, rawHidden).labels()...)
	adapters := newBench(t, engine.VLLM, "llama").with(rawHidden)
	adapters.page(
		`vllm:lora_requests_info{max_lora="4",running_lora_adapters="a1,a2",waiting_lora_adapters="a3"} 1.7e9`,
		`vllm:num_requests_running{engine="0",model_name="llama"} 1`,
	)
	all = append(all, adapters.labels()...)
	for _, a := range derive.Aliases() {
		i := slices.IndexFunc(derive.Catalogue(), func(f derive.Family) bool { return f.Name == a.From })
		require.NotEqual(t, -1, i, "alias of no family: %s", a.From)
		name := a.Name
		if derive.Catalogue()[i].Type == model.MetricTypeHistogram {
			name += "_bucket"
		}
		query := name + `{` + derive.AliasModelLabel(a.Set) + `="llama"}`
		require.Positive(t, selects(t, query, all), query)
	}
	for _, selector := range []string{
		"vllm:num_requests_waiting{model_name=llama}",
		"vllm:num_requests_running{model_name=llama}", "vllm:kv_cache_usage_perc{model_name=llama}",
		"vllm:cache_config_info{model_name=llama}",
		"vllm:lora_requests_info{running_lora_adapters=a1,a2}", "vllm:lora_requests_info{waiting_lora_adapters=a3}",
	} {
		query := regexp.MustCompile(`=([^"}]+)}`).ReplaceAllString(selector, `="$1"}`)
		require.Positive(t, selects(t, query, all), "%s, as an inference gateway is configured", selector)
	}
}

// cacheConfigs returns the sizes of KV caches in labels.
func (b *bench) cacheConfigs() (found []string) {
	name, from := derive.CacheConfig()
	require.Equal(b.tb, map[string]string{
		"block_size":     derive.Prefix + "kv_cache_block_tokens",
		"num_gpu_blocks": derive.Prefix + "kv_cache_blocks_limit",
	}, from)
	for _, lset := range b.labels() {
		if lset.Get(model.MetricNameLabel) == name {
			found = append(found, lset.Get("block_size")+" x "+lset.Get("num_gpu_blocks")+" of "+lset.Get("model_name"))
		}
	}
	return found
}

func TestCacheSizeIsInLabels(t *testing.T) {
	vllm := func(o *derive.Options) { o.Aliases = []string{"vllm"} }
	b := newBench(t, engine.SGLang, "llama").with(vllm)
	for _, c := range []struct {
		name, pages string
		want        []string
	}{
		{"on the first page", "512", []string{"1 x 512 of llama"}},
		{"on the next", "512", []string{"1 x 512 of llama"}},
		{"a process of another size", "400", []string{"1 x 400 of llama"}},
		{"not known", "0", nil},
		{"not on the page", "", nil},
		{"known again", "512", []string{"1 x 512 of llama"}},
	} {
		page := []string{`sglang:page_size{model_name="llama"} 1`}
		if c.pages != "" {
			page = append(page, `sglang:num_pages{model_name="llama"} `+c.pages)
		}
		b.page(page...)
		require.Equal(t, c.want, b.cacheConfigs(), c.name)
	}
	sized := func(kind simulate.Kind) simulate.Spec {
		return simulate.Spec{Kind: kind, Engine: simulate.Engine{KVBlocks: 800, TokensPerBlock: 64}}
	}
	for kind, want := range map[simulate.Kind][]string{
		simulate.KindTriton:             {"64 x 800 of llama"},
		simulate.KindServe:              {"64 x 800 of llama"},
		simulate.KindSGLang:             {"64 x 800 of llama"},
		simulate.KindTritonLLMAPIModule: {"64 x 800 of llama"},
		simulate.KindVLLM:               nil,
		simulate.KindNIM:                nil,
	} {
		require.Equal(t, want, newLlama(t, sized(kind), vllm).cacheConfigs(), "%s", kind)
	}
	hidden := newLlama(
		t,
		sized(simulate.KindVLLM),
		func(o *derive.Options) { o.Aliases, o.RawHidden = []string{"vllm"}, true },
	)
	require.Equal(t, []string{"64 x 799 of llama"}, hidden.cacheConfigs(), "its own page is not shown")
}

// TestHistogramsNextToCacheSize uses a server whose cache size is known on its first page, and
// changes later.
func TestHistogramsNextToCacheSize(t *testing.T) {
	b := newBench(t, engine.TRTLLMServe, "m").with(func(o *derive.Options) { o.Aliases = []string{"vllm"} })
	for _, c := range []struct{ name, blocks string }{
		{"the first page", "100"},
		{"the next", "100"},
		{"another size", "80"},
		{"the next", "80"},
	} {
		got := b.page(append(
			histogram("trtllm_e2e_request_latency_seconds", `model_name="m"`, 9, "1.0 +Inf", 3, 4),
			`trtllm_kv_cache_tokens_per_block{model_name="m"} 32`,
			`trtllm_kv_cache_max_blocks{model_name="m"} `+c.blocks,
		)...)
		require.Equal(
			t,
			1.0,
			got.get(
				t,
				`vllm:cache_config_info{block_size="32", model_id="m", model_name="m", num_gpu_blocks="`+c.blocks+`"}`,
			),
			c.name,
		)
		require.Equal(t, 4.0, got.get(t, `request_duration_seconds_count{model_id="m"}`), c.name)
		require.Equal(
			t,
			4.0,
			got.get(t, `vllm:e2e_request_latency_seconds_count{model_id="m", model_name="m"}`),
			c.name,
		)
	}
	require.Zero(t, b.deriver.Stats().BrokenHistograms)
}

func TestRequiredOTelAttributes(t *testing.T) {
	for kind, provider := range map[simulate.Kind]string{
		simulate.KindVLLM:   "vllm",
		simulate.KindSGLang: "sglang",
		simulate.KindServe:  "trtllm-serve",
	} {
		n := 0
		for _, lset := range newLlama(t, simulate.Spec{Kind: kind}, func(o *derive.Options) { o.Aliases = []string{"otel"} }).labels() {
			got := []string{
				lset.Get("gen_ai_provider_name"), lset.Get("gen_ai_operation_name"),
				lset.Get("gen_ai_request_model"),
			}
			if strings.HasPrefix(lset.Get(model.MetricNameLabel), "gen_ai_server_") {
				n++
				require.Equal(t, []string{provider, "unknown", "llama"}, got)
			} else {
				require.Equal(t, []string{"", "", ""}, got)
			}
		}
		require.Positive(t, n, kind)
	}
}

func TestAliasesHaveTheSameValues(t *testing.T) {
	r := newLlama(t, simulate.Spec{Streaming: true}, func(o *derive.Options) { o.Aliases = []string{"vllm"} })
	got := r.values()
	for alias, name := range map[string]string{
		"num_requests_waiting":    "queue_depth",
		"kv_cache_usage_perc":     "kv_cache_utilization_ratio",
		"generation_tokens_total": "generation_tokens_total",
	} {
		want := got.get(t, name+`{engine="triton", model_id="llama"}`)
		require.Equal(
			t,
			want,
			got.get(t, fmt.Sprintf(`vllm:%s{engine="triton", model_id="llama", model_name="llama"}`, alias)),
		)
	}
	require.Zero(t, got.count("trtllm_"), "other sets stay off")
	got = newLlama(t, simulate.Spec{}, func(o *derive.Options) { o.Aliases = []string{"trtllm"} }).values()
	for _, state := range []string{"used", "free"} {
		want := got.get(t, `kv_cache_blocks{engine="triton", model_id="llama", state="`+state+`"}`)
		require.Equal(
			t,
			want,
			got.get(t, `trtllm_kv_cache_`+state+`_blocks{engine="triton", model_id="llama", model_name="llama"}`),
		)
	}
}

func TestAliasSelection(t *testing.T) {
	for _, c := range []struct {
		name   string
		kind   simulate.Kind
		change func(*derive.Options)
		has    map[string]bool
	}{
		{
			"no aliases by default", simulate.KindTriton,
			func(*derive.Options) {},
			map[string]bool{"trtllm_": false, "vllm:": false, "queue_depth": true},
		},
		{
			"aliases alone", simulate.KindTriton,
			func(o *derive.Options) { o.Aliases, o.AliasesOnly = []string{"trtllm"}, true },
			map[string]bool{"trtllm_": true, "vllm:": false, "queue_depth": false},
		},
		{
			"names of the server's own page", simulate.KindServe,
			func(o *derive.Options) { o.Aliases = []string{"trtllm", "vllm"} },
			map[string]bool{"trtllm_num_requests_running": false, "vllm:num_requests_running": true},
		},
	} {
		got := newLlama(t, simulate.Spec{Kind: c.kind}, c.change).values()
		for prefix, want := range c.has {
			require.Equal(t, want, got.count(prefix) > 0, "%s: %s", c.name, prefix)
		}
	}
}
