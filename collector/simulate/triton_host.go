package simulate

import (
	"fmt"
	"math"
	"time"
)

// hostGauges has the readings of GPUs and CPU, refreshed about once per second.
type hostGauges struct {
	gpus                            []string
	utilization, power, joules, cpu float64
	updated, busy                   time.Duration
}

const (
	idlePower  = 92.0
	powerLimit = 700.0
)

func newHostGauges(spec Spec) hostGauges {
	return hostGauges{gpus: gpuLabels(spec.Seed, spec.GPUs), power: idlePower, cpu: 0.0113}
}

// gpuLabels returns the labels of n GPUs, whose ids depend on the seed.
func gpuLabels(seed uint64, n int) []string {
	labels := make([]string, n)
	for i := range labels {
		a, b := mix(seed, fmt.Sprintf("gpu%d", i)), mix(seed, fmt.Sprintf("uuid%d", i))
		labels[i] = fmt.Sprintf(`gpu_uuid="GPU-%08x-%04x-%04x-%04x-%012x"`, uint32(a), uint16(a>>32), uint16(a>>48), uint16(b), b>>16)
	}
	return labels
}

// tick updates the readings by the executor's load.
func (h *hostGauges) tick(w *world) {
	passed := w.now - h.updated
	if passed < time.Second {
		return
	}
	// The busy time of a reloaded executor starts at 0.
	load := math.Max(0, math.Min(0.99, float64(w.engine.busy-h.busy)/float64(passed)))
	h.busy, h.updated = w.engine.busy, w.now
	h.utilization = math.Round(load*100) / 100
	h.power = math.Round((idlePower+load*(powerLimit-idlePower-60))*1000) / 1000
	h.joules = math.Round((h.joules+h.power*passed.Seconds())*1000) / 1000
	h.cpu = 0.0113 + 0.21*load*float64(mix(uint64(w.now), "cpu")%1000)/997
}

func (h *hostGauges) writeEnergy(p *page) {
	h.eachGPU(p, "counter", "nv_energy_consumption", "GPU energy consumption in joules since the Triton Server started", h.joules)
}

// write writes the gauges of the GPUs, then those of the host.
func (h *hostGauges) write(p *page) {
	h.eachGPU(p, "gauge", "nv_gpu_utilization", "GPU utilization rate [0.0 - 1.0)", h.utilization)
	h.eachGPU(p, "gauge", "nv_gpu_memory_total_bytes", "GPU total memory, in bytes", 85520809984)
	h.eachGPU(p, "gauge", "nv_gpu_memory_used_bytes", "GPU used memory, in bytes", 73014444032)
	h.eachGPU(p, "gauge", "nv_gpu_power_usage", "GPU power usage in watts", h.power)
	h.eachGPU(p, "gauge", "nv_gpu_power_limit", "GPU power management limit in watts", powerLimit)
	p.one("gauge", "nv_cpu_utilization", "CPU utilization rate [0.0 - 1.0]", "", h.cpu)
	p.one("gauge", "nv_cpu_memory_total_bytes", "CPU total memory (RAM), in bytes", "", 1081827856384)
	p.one("gauge", "nv_cpu_memory_used_bytes", "CPU used memory (RAM), in bytes", "", 58720256000)
}

// eachGPU writes a family with one sample per GPU.
func (h *hostGauges) eachGPU(p *page, kind, name, help string, v float64) {
	p.family(kind, name, help)
	for _, labels := range h.gpus {
		p.add(labels, v)
	}
}
