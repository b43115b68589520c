package derive_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// TestSizeOfZeroIsUnknown covers sizes, limits and sensors that servers show as 0 because they do not
// know them, and uses of 0 that are true. A series in wants ends in its value, one in lacks in none.
func TestSizeOfZeroIsUnknown(t *testing.T) {
	const (
		triton = `nv_trt_llm_request_metrics{model="m",version="1",request_type=`
		blocks = `nv_trt_llm_kv_cache_block_metrics{model="m",version="1",kv_cache_block_type=`
		gpu    = `{gpu_uuid="g"} `
	)
	executor := []string{
		`nv_inference_request_success{model="m",version="1"} 5`,
		triton + `"active"} 3`, triton + `"scheduled"} 3`, triton + `"waiting"} 0`, triton + `"max"} 64`,
	}
	lengths := append(
		histogram("nv_llm_input_token_len", `model="m",version="1"`, 500, "+Inf", 5),
		histogram("nv_llm_output_token_len", `model="m",version="1"`, 100, "+Inf", 5)...)
	longer := append(
		histogram("nv_llm_input_token_len", `model="m",version="1"`, 1000, "+Inf", 10),
		histogram("nv_llm_output_token_len", `model="m",version="1"`, 200, "+Inf", 10)...)
	cache := func(limit, used, free, per string) []string {
		fraction := map[string]string{"0": "0", "40": "0.4", "100": "1"}[used]
		return []string{
			blocks + `"max"} ` + limit, blocks + `"used"} ` + used, blocks + `"free"} ` + free,
			blocks + `"tokens_per"} ` + per, blocks + `"fraction"} ` + fraction,
		}
	}
	for _, c := range []struct {
		name         string
		kind         engine.Name
		pages        [][]string
		wants, lacks string
	}{
		{
			"an executor without a KV cache has room for its limit of requests", engine.Triton,
			[][]string{
				{lines(executor, lengths, cache("0", "0", "0", "0"))},
				{lines(executor, longer, cache("0", "0", "0", "0"))},
			},
			"headroom_requests=61 saturated=0 saturation_ratio=0.046875 requests_limit=64 requests_running=3",
			"kv_cache_capacity_tokens kv_cache_free_tokens kv_cache_utilization_ratio kv_cache_blocks " +
				"kv_cache_block_tokens",
		},
		{
			"blocks of unknown tokens are blocks all the same", engine.Triton,
			[][]string{
				{lines(executor, lengths, cache("100", "40", "60", "0"))},
				{lines(executor, longer, cache("100", "40", "60", "0"))},
			},
			"headroom_requests=61 kv_cache_utilization_ratio=0.4 kv_cache_blocks_limit=100",
			"kv_cache_capacity_tokens kv_cache_free_tokens kv_cache_block_tokens",
		},
		{
			"an idle KV cache is empty", engine.Triton,
			[][]string{{lines(executor, cache("100", "0", "100", "64"))}},
			"kv_cache_utilization_ratio=0 kv_cache_capacity_tokens=6400 kv_cache_free_tokens=6400 " +
				"kv_cache_blocks_limit=100",
			"",
		},
		{
			"a full KV cache has no room", engine.Triton,
			[][]string{
				{lines(executor, lengths, cache("100", "100", "0", "64"))},
				{lines(executor, longer, cache("100", "100", "0", "64"))},
			},
			"kv_cache_utilization_ratio=1 kv_cache_free_tokens=0 headroom_requests=0", "",
		},
		{
			"before the first iteration all is 0", engine.Triton,
			[][]string{{
				`nv_inference_request_success{model="m",version="1"} 0`,
				triton + `"active"} 0`, triton + `"scheduled"} 0`, triton + `"max"} 0`,
			}},
			"", "requests_limit requests_running requests_active headroom_requests saturated",
		},
		{
			"requests in flight without a limit", engine.Triton,
			[][]string{{
				`nv_inference_request_success{model="m",version="1"} 0`,
				triton + `"active"} 3`, triton + `"scheduled"} 3`, triton + `"waiting"} 0`, triton + `"max"} 0`,
			}},
			"requests_running=3 requests_active=3", "requests_limit headroom_requests saturated requests_fill_ratio",
		},
		{
			"trtllm-serve without a KV cache", engine.TRTLLMServe,
			[][]string{{
				`trtllm_num_requests_running{model_name="m"} 3`,
				`trtllm_num_requests_waiting{model_name="m"} 0`, `trtllm_max_num_active_requests{model_name="m"} 64`,
				`trtllm_kv_cache_utilization{model_name="m"} 0`,
				`trtllm_kv_cache_max_blocks{model_name="m"} 0`, `trtllm_kv_cache_used_blocks{model_name="m"} 0`,
				`trtllm_kv_cache_free_blocks{model_name="m"} 0`, `trtllm_kv_cache_tokens_per_block{model_name="m"} 0`,
			}},
			"headroom_requests=61 saturation_ratio=0.046875", "kv_cache",
		},
		{
			"trtllm-serve without a limit of requests", engine.TRTLLMServe,
			[][]string{{
				`trtllm_num_requests_running{model_name="m"} 3`, `trtllm_num_requests_waiting{model_name="m"} 0`,
				`trtllm_max_num_active_requests{model_name="m"} 0`,
			}},
			"requests_active=3", "requests_limit headroom_requests saturated saturation_ratio",
		},
		{
			"SGLang without a KV cache", engine.SGLang,
			[][]string{{
				`sglang:max_total_num_tokens{model_name="m",priority=""} 0`,
				`sglang:kv_used_tokens{model_name="m",priority=""} 0`,
				`sglang:token_usage{model_name="m",priority=""} 0`,
				`sglang:num_running_reqs{model_name="m",priority=""} 2`,
			}},
			"requests_running=2", "kv_cache",
		},
		{
			"SGLang that counts tokens and no pages", engine.SGLang,
			[][]string{{
				`sglang:max_total_num_tokens{model_name="m",priority=""} 1000`,
				`sglang:num_pages{model_name="m",priority=""} 0`, `sglang:page_size{model_name="m",priority=""} 1`,
				`sglang:kv_used_tokens{model_name="m",priority=""} 0`,
			}},
			"kv_cache_capacity_tokens=1000 kv_cache_utilization_ratio=0", "kv_cache_blocks_limit",
		},
		{
			"SGLang with another pool that is fuller", engine.SGLang,
			[][]string{{
				`sglang:max_total_num_tokens{model_name="m",priority=""} 40000`,
				`sglang:kv_used_tokens{model_name="m",priority=""} 4000`,
				`sglang:kv_available_tokens{model_name="m",priority=""} 36000`,
				`sglang:token_usage{model_name="m",priority=""} 0.95`,
				`sglang:num_running_reqs{model_name="m",priority=""} 2`,
			}},
			"kv_cache_utilization_ratio=0.95 kv_cache_capacity_tokens=40000", "kv_cache_free_tokens",
		},
		{
			"SGLang with two ranks, one of which is fuller", engine.SGLang,
			[][]string{slices.Concat(sglangRank(0, 40000, 32000, 0.8), sglangRank(1, 40000, 4000, 0.1))},
			"kv_cache_free_tokens=44000 kv_cache_utilization_ratio=0.45 kv_cache_capacity_tokens=80000", "kv_cache_blocks_limit",
		},
		{
			"SGLang with ranks of several sizes", engine.SGLang,
			[][]string{slices.Concat(sglangRank(0, 1000, 900, 0.9), sglangRank(1, 40000, 0, 0))},
			"kv_cache_free_tokens=40100", "kv_cache_blocks_limit",
		},
		{
			"SGLang with another pool that is fuller in one of two ranks", engine.SGLang,
			[][]string{slices.Concat(sglangRank(0, 40000, 32000, 0.8), sglangRank(1, 40000, 4000, 0.3))},
			"kv_cache_utilization_ratio=0.8", "kv_cache_free_tokens",
		},
		{
			"SGLang with another pool in the less full of two ranks", engine.SGLang,
			[][]string{slices.Concat(sglangRank(0, 40000, 4000, 0.1), sglangRank(1, 40000, 400, 0.5))},
			"kv_cache_utilization_ratio=0.5", "kv_cache_free_tokens",
		},
		{
			"SGLang with a rank that does not say how many tokens it uses", engine.SGLang,
			[][]string{slices.Concat(sglangRank(0, 40000, 4000, 0.1), without(sglangRank(1, 40000, 400, 0.5), "used_tokens"))},
			"kv_cache_utilization_ratio=0.5", "kv_cache_free_tokens",
		},
		{
			"SGLang that rounds the use of its only pool", engine.SGLang,
			[][]string{{
				`sglang:max_total_num_tokens{model_name="m",priority=""} 40000`,
				`sglang:kv_used_tokens{model_name="m",priority=""} 3840`,
				`sglang:kv_available_tokens{model_name="m",priority=""} 36160`,
				`sglang:token_usage{model_name="m",priority=""} 0.1`,
				`sglang:num_running_reqs{model_name="m",priority=""} 2`,
			}},
			"kv_cache_utilization_ratio=0.096 kv_cache_free_tokens=36160", "kv_cache_blocks_limit",
		},
		{
			"vLLM whose labels have no blocks", engine.VLLM,
			[][]string{{
				`vllm:cache_config_info{model_name="m",engine="0",block_size="16",num_gpu_blocks="0",kv_cache_size_tokens="0"} 1`,
				`vllm:kv_cache_usage_perc{model_name="m",engine="0"} 0.2`,
			}},
			"kv_cache_utilization_ratio=0.2 kv_cache_block_tokens=16", "kv_cache_blocks_limit kv_cache_capacity_tokens",
		},
		{
			"a vLLM that only embeds, and reserves its one block", engine.VLLM,
			[][]string{{
				`vllm:cache_config_info{engine="0",block_size="16",num_gpu_blocks="1"} 1`,
				`vllm:num_requests_running{model_name="m",engine="0"} 3`,
				`vllm:kv_cache_usage_perc{model_name="m",engine="0"} 0`,
			}},
			"requests_running=3", "kv_cache_utilization_ratio kv_cache_blocks_limit kv_cache_capacity_tokens",
		},
		{
			"an idle vLLM", engine.VLLM,
			[][]string{{
				`vllm:cache_config_info{engine="0",block_size="16",num_gpu_blocks="101"} 1`,
				`vllm:kv_cache_usage_perc{model_name="m",engine="0"} 0`,
			}},
			"kv_cache_utilization_ratio=0 kv_cache_capacity_tokens=1600", "",
		},
		{
			"a vLLM whose layers with states share the blocks", engine.VLLM,
			[][]string{{
				`vllm:cache_config_info{engine="0",block_size="16",mamba_block_size="262144",num_gpu_blocks="1400"} 1`,
				`vllm:kv_cache_usage_perc{model_name="m",engine="0"} 0.5`,
			}},
			"kv_cache_utilization_ratio=0.5 kv_cache_blocks_limit=1399",
			"kv_cache_capacity_tokens kv_cache_free_tokens kv_cache_block_tokens",
		},
		{
			"a vLLM whose layers with states share the blocks, with its size in tokens", engine.VLLM,
			[][]string{{
				`vllm:cache_config_info{engine="0",block_size="528",kv_cache_size_tokens="140000",mamba_block_size="528",` +
					`num_gpu_blocks="1400"} 1`,
				`vllm:kv_cache_usage_perc{model_name="m",engine="0"} 0.5`,
			}},
			"kv_cache_blocks_limit=1399 kv_cache_capacity_tokens=139900 kv_cache_block_tokens=528", "",
		},
		{
			"a worker of Dynamo without blocks", engine.Dynamo,
			[][]string{{
				`dynamo_component_total_blocks{model="m",dynamo_component="backend",dp_rank="0"} 0`,
				`dynamo_component_gpu_cache_usage_percent{model="m",dynamo_component="backend",dp_rank="0"} 0`,
			}},
			"", "kv_cache",
		},
		{
			"NIM without a limit of requests", engine.NIM,
			[][]string{{
				`num_requests_running{model_name="m"} 3`, `num_requests_waiting{model_name="m"} 0`,
				`num_request_max{model_name="m"} 0`,
			}},
			"requests_running=3", "requests_limit headroom_requests",
		},
		{
			"sensors of a GPU that do not work", engine.Triton,
			[][]string{{
				"nv_gpu_power_usage" + gpu + "0", "nv_gpu_power_limit" + gpu + "0",
				"nv_energy_consumption" + gpu + "0", "nv_gpu_memory_total_bytes" + gpu + "0",
				"nv_gpu_memory_used_bytes" + gpu + "0",
			}},
			"", "gpu_",
		},
		{
			"an idle GPU", engine.Triton,
			[][]string{{
				"nv_gpu_power_usage" + gpu + "70", "nv_gpu_memory_total_bytes" + gpu + "8",
				"nv_gpu_memory_used_bytes" + gpu + "0", "nv_gpu_utilization" + gpu + "0",
			}},
			"gpu_power_watts=70 gpu_memory_used_bytes=0 gpu_utilization_ratio=0", "",
		},
		{
			"no pinned pool", engine.Triton,
			[][]string{{
				"nv_pinned_memory_pool_total_bytes 0", "nv_pinned_memory_pool_used_bytes 0",
				"nv_cpu_memory_total_bytes 8", "nv_cpu_memory_used_bytes 4",
			}},
			"host_memory_used_bytes=4", "pinned_memory",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, c.kind, "m")
			var got values
			for _, page := range c.pages {
				got = b.page(strings.Split(strings.Join(page, "\n"), "\n")...)
			}
			for want := range strings.FieldsSeq(c.wants) {
				family, value, _ := strings.Cut(want, "=")
				require.Equal(t, value, fmt.Sprint(got.only(t, family)), family)
			}
			for family := range strings.FieldsSeq(c.lacks) {
				if !strings.HasSuffix(family, "_") && family != "kv_cache" && family != "pinned_memory" {
					family += "{"
				}
				require.Zero(t, got.count(family), "%s: %v", family, got.near(family))
			}
		})
	}
}

// only returns the value of the only series of a family.
func (v values) only(t *testing.T, family string) float64 {
	t.Helper()
	require.Equal(t, 1, v.count(family+"{"), "%s: %v", family, v.near(family))
	for series, value := range v {
		if strings.HasPrefix(series, family+"{") {
			return value
		}
	}
	return 0
}

func lines(parts ...[]string) string {
	var all []string
	for _, part := range parts {
		all = append(all, part...)
	}
	return strings.Join(all, "\n")
}

// TestEnergyThatNeverMovesIsUnknown reads two GPUs: the energy of one may stand still.
func TestEnergyThatNeverMovesIsUnknown(t *testing.T) {
	for _, c := range []struct {
		name   string
		second func(page int) int
		shown  bool
	}{
		{"both sensors work", func(page int) int { return 50 + 100*page }, true},
		{"one stands still", func(int) int { return 50 }, false},
		{"one is 0", func(int) int { return 0 }, false},
		{"one stops in the middle", func(page int) int { return 50 + 100*min(page, 8) }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, engine.Triton, "m")
			var got values
			for n := range 24 {
				got = b.page(append(histogram("nv_llm_output_token_len", `model="m",version="1"`, 100*n, "+Inf", n),
					fmt.Sprintf(`nv_inference_request_success{model="m",version="1"} %d`, n),
					fmt.Sprintf(`nv_energy_consumption{gpu_uuid="a"} %d`, 50+100*n),
					fmt.Sprintf(`nv_energy_consumption{gpu_uuid="b"} %d`, c.second(n)))...)
			}
			got.get(t, `gpu_energy_joules_total{gpu_uuid="a"}`, "it grows")
			require.Equal(t, c.shown, hasSeries(got, `gpu_energy_joules_total{gpu_uuid="b"}`))
			require.Equal(t, c.shown, got.count("energy_joules_per_token") == 1)
		})
	}
}

// sglangRank returns the KV cache of a data-parallel rank.
func sglangRank(rank, size, used int, stated float64) []string {
	l := fmt.Sprintf(`dp_rank="%d",engine_type="unified",model_name="m",moe_ep_rank="0",pp_rank="0",tp_rank="0"`, rank)
	return []string{
		fmt.Sprintf("sglang:max_total_num_tokens{%s} %d", l, size),
		fmt.Sprintf("sglang:kv_used_tokens{%s} %d", l, used),
		fmt.Sprintf("sglang:kv_available_tokens{%s} %d", l, size-used),
		fmt.Sprintf("sglang:token_usage{%s} %v", l, stated),
		fmt.Sprintf("sglang:num_running_reqs{%s} 2", l),
	}
}
