package simulate_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

func ExampleReplica() {
	r, err := simulate.NewReplica(simulate.Spec{
		Kind: simulate.KindTriton, EngineVersion: "2.64.0", Seed: 1, Streaming: true,
		Workload: simulate.Workload{Rate: 40},
		Engine:   simulate.Engine{MaxActive: 4},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	r.Advance(time.Minute)
	r.Stall(true)
	before := r.Truth().Iterations
	r.Advance(10 * time.Second)
	page, truth := r.Observe()
	fmt.Println("iterations during the stall:", truth.Iterations-before)
	for line := range strings.Lines(string(page)) {
		if strings.Contains(line, `request_type="active"`) || strings.Contains(line, `request_type="waiting"`) {
			fmt.Print(line)
		}
	}
	fmt.Println("hidden in the executor's queue:", truth.Hidden > 1000)
	// Unordered output:
	// iterations during the stall: 0
	// nv_trt_llm_request_metrics{model="tensorrt_llm",request_type="active",version="1"} 4
	// nv_trt_llm_request_metrics{model="tensorrt_llm",request_type="waiting",version="1"} 0
	// hidden in the executor's queue: true
}
