package derive

import (
	"fmt"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// A rule by hand: queueDepth on a page of a vLLM, and what it asks for. Set a breakpoint in it.
func Example_rule() {
	vllm, _ := engine.ByName(string(engine.VLLM))
	block, err := exposition.NewCache(exposition.Options{Watch: engine.Watch(vllm)}).Parse([]byte(""+
		"vllm:num_requests_running{model_name=\"llama\"} 8\n"+
		"vllm:num_requests_waiting{model_name=\"llama\"} 3\n"), "", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	deriver := NewDeriver(Options{
		Window: time.Minute, Interval: 5 * time.Second, Engine: vllm,
		Naming: Naming{
			Labels:   labels.FromStrings("replica_id", "vllm-0"),
			Topology: engine.NewTopology(vllm, engine.NamedModels{Names: []string{"llama"}}, nil, nil),
		},
	})
	deriver.Observe(deriver.Sight(0, block, engine.ReadPage(vllm, block), Opened))

	v, llama := deriver.view, deriver.index.models[0]
	fmt.Print("waiting: ")
	fmt.Println(v.Sum(llama, engine.RequestsWaiting))
	fmt.Print("in Triton's queues: ")
	fmt.Println(v.pending(llama))
	fmt.Println("the engine runs:", v.Runs(llama))

	var series []exposition.ComputedSeries
	queueDepth(v, llama, &Out{view: v, series: &series, family: &Family{}})
	fmt.Println("labels, once a shape:", series[0].Labels)

	out := &Out{view: v, page: block, block: deriver.series.Block(), next: 0, end: 1}
	queueDepth(v, llama, out)
	fmt.Println("series set on a page:", out.next)
	// Output:
	// waiting: 3 true
	// in Triton's queues: 0 false false
	// the engine runs: true
	// labels, once a shape: {model_id="llama"}
	// series set on a page: 1
}
