package derive_test

import (
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// TestReplicasWhoseGPUsRulesNameShowEachItsOwn has two replicas that may share
// their rules. Only the ends of the names of GPUs are shown, and sorted by: they come
// in the order of the names of one replica, and in the other order of the other.
func TestReplicasWhoseGPUsRulesNameShowEachItsOwn(t *testing.T) {
	shortened := func(lset labels.Labels) exposition.Labelled {
		b := labels.NewBuilder(lset)
		if gpu := lset.Get(exposition.LabelGPU); gpu != "" {
			b.Set(exposition.LabelGPU, gpu[len(gpu)-2:])
		}
		return exposition.Labelled{Labels: b.Labels(), Keep: true}
	}
	var all []*bench // A program is shared for as long as a target has it.
	for _, gpus := range [][2]string{{"GPU-a-11", "GPU-b-22"}, {"GPU-z-11", "GPU-c-22"}, {"GPU-y-11", "GPU-d-22"}} {
		b := newBench(t, engine.Triton, "m")
		b.opts.Identity.Relabel = shortened
		b.deriver = derive.NewDeriver(b.opts)
		b.cache = exposition.NewCache(exposition.Options{Watch: engine.Watch(b.engine), Label: shortened})
		all = append(all, b)
		got := b.page(
			`nv_inference_request_success{model="m",version="1"} 5`,
			`nv_gpu_power_usage{gpu_uuid="`+gpus[0]+`"} 100`, `nv_gpu_power_usage{gpu_uuid="`+gpus[1]+`"} 200`,
			`nv_energy_consumption{gpu_uuid="`+gpus[0]+`"} 1000`, `nv_energy_consumption{gpu_uuid="`+gpus[1]+`"} 2000`,
		)
		for gpu, times := range map[string]float64{"11": 1, "22": 2} {
			require.Equal(t, 100*times, got.at(t, `gpu_power_watts{gpu_uuid="`+gpu+`"}`), gpus)
			require.Equal(t, 1000*times, got.at(t, `gpu_energy_joules_total{gpu_uuid="`+gpu+`"}`), gpus)
		}
	}
	require.Len(t, all, 3)
}
