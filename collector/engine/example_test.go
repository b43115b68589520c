package engine_test

import (
	"context"
	"fmt"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// A server without a page yet is detected by its API, which also answers its version and
// models.
func ExampleDetect() {
	server := answers{
		"/version":   `{"version":"1.2.0"}`,
		"/v1/models": `{"object":"list","data":[{"id":"llama","owned_by":"tensorrt_llm"}]}`,
	}
	ctx := context.Background()
	found := engine.BuiltIn().Detect(ctx, server, "http://10.0.0.1:8000", true)
	fmt.Println(found.Kind, "because", found.Evidence)

	e, _ := engine.ByName(string(found.Kind))
	facts := e.Ask(ctx, server, "http://10.0.0.1:8000", engine.Earlier{}).Complete()
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
`), "", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	page := engine.ReadPage(e, block)
	fmt.Println(page.NamedModels().Names)
	for _, s := range page.Sources() {
		fmt.Println(s.Model, s.Meaning.Signal)
	}
	// Output:
	// [llama]
	// llama kv_cache_utilization_ratio
	// llama requests_running
}
