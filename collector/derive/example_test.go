package derive_test

import (
	"fmt"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// Two pages of a vLLM, five seconds apart. The queue depth is that of the newest page;
// the rate needs both.
func Example() {
	vllm, _ := engine.ByName(string(engine.VLLM))
	cache := exposition.NewCache(exposition.Options{Watch: engine.Watch(vllm)})
	deriver := derive.NewDeriver(derive.Options{
		Window: time.Minute, Interval: 5 * time.Second, Engine: vllm,
		Naming: derive.Naming{
			Labels:   labels.FromStrings("replica_id", "vllm-0"),
			Topology: engine.NewTopology(vllm, engine.NamedModels{Names: []string{"llama"}}, nil, nil),
		},
	})

	var page *engine.Page
	var series *exposition.Block
	for n, body := range []string{
		"vllm:generation_tokens_total{model_name=\"llama\"} 1000\n" + "vllm:num_requests_waiting{model_name=\"llama\"} 1\n",
		"vllm:generation_tokens_total{model_name=\"llama\"} 1600\n" + "vllm:num_requests_waiting{model_name=\"llama\"} 3\n",
	} {
		block, err := cache.Parse([]byte(body), "", nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		if page == nil {
			page = engine.ReadPage(vllm, block)
		} else {
			page.Refresh(block)
		}
		deriver.Observe(deriver.Sight(time.Duration(n)*5*time.Second, block, page, derive.Opened))
		series = deriver.Render(block)
	}

	for i := range series.Shape().Lines() {
		switch lset := series.Shape().Labels(i); lset.Get(model.MetricNameLabel) {
		case "llm_server_generation_tokens_per_second", "llm_server_queue_depth":
			if v, ok := series.Value(i); ok {
				fmt.Println(lset, v)
			}
		}
	}
	// Output:
	// {__name__="llm_server_generation_tokens_per_second", model_id="llama", replica_id="vllm-0"} 120
	// {__name__="llm_server_queue_depth", model_id="llama", replica_id="vllm-0"} 3
}
