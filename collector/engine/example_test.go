package engine_test

import (
	"context"
	"fmt"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

func ExampleFromPage() {
	found := engine.FromPage([]byte(`# TYPE nv_inference_request_success counter
nv_inference_request_success{model="llama",version="1"} 3
`))
	fmt.Println(found.Kind)
	fmt.Println(found.Evidence)
	// Output:
	// triton
	// the page has names that begin with nv_
}

// A server without a page yet is detected by its API, which also answers its version and
// models.
func ExampleDetect() {
	server := answers{
		"/version":   `{"version":"1.2.0"}`,
		"/v1/models": `{"object":"list","data":[{"id":"llama","owned_by":"tensorrt_llm"}]}`,
	}
	ctx := context.Background()
	found := engine.Detect(ctx, server, "http://10.0.0.1:8000", true)
	fmt.Println(found.Kind, "because", found.Evidence)

	e, _ := engine.ByName(string(found.Kind))
	facts := e.Ask(ctx, server, "http://10.0.0.1:8000", nil)
	version, source := facts.ResolveVersion(e, nil, "")
	fmt.Println(facts.Models[0].Name, version, source)
	// Output:
	// trtllm-serve because /v1/models lists models owned by tensorrt_llm, and /version answers
	// llama 1.2.0 version_endpoint
}

func ExampleReadPage() {
	e, _ := engine.ByName("vllm")
	cache := exposition.NewCache(exposition.Options{Watch: engine.Watch(e)})
	block, err := cache.Parse([]byte(`vllm:num_requests_running{engine="0",model_name="llama"} 2
vllm:kv_cache_usage_perc{engine="0",model_name="llama"} 0.25
`), "")
	if err != nil {
		fmt.Println(err)
		return
	}
	page := engine.ReadPage(e, block)
	generation, why := e.Generation(page, nil)
	fmt.Println(page.NamedModels().Names)
	fmt.Printf("%s: %s\n", generation, why)
	for _, s := range page.Sources() {
		fmt.Println(s.Model, s.Meaning.Signal)
	}
	// Output:
	// [llama]
	// names of the KV cache: the page has no gpu_cache_usage_perc and no prompt_tokens_cached_total
	// llama kv_cache_utilization_ratio
	// llama requests_running
}

// Capabilities explain what a page can show, and how to get what it cannot.
func ExampleCapabilities() {
	e, _ := engine.ByName("triton")
	cache := exposition.NewCache(exposition.Options{Watch: engine.Watch(e)})
	block, err := cache.Parse([]byte(`nv_inference_request_success{model="llama",version="1"} 3
nv_gpu_utilization{gpu_uuid="a"} 0.5
`), "")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range engine.Capabilities(e, &engine.Knowledge{Page: engine.ReadPage(e, block)}) {
		if c.Name == engine.CanGPU || c.Name == engine.CanTPOT {
			fmt.Printf("%s: %v, %s (%s)\n", c.Name, c.OK, c.Reason, c.Cure)
		}
	}
	// Output:
	// tpot: false, Triton has no time per output token (use trtllm-serve, or measure it at the client)
	// gpu: true, nv_gpu_*, by DCGM ()
}
