package simulate

import (
	"math"
	"time"
)

// hostGauges are GPU and CPU readings, refreshed about once a second.
type hostGauges struct {
	gpus        []string
	utilization float64
	power       float64
	joules      float64
	cpu         float64
	at          time.Duration
	busy        time.Duration
}

func newHostGauges(spec Spec) hostGauges {
	return hostGauges{gpus: gpuUUIDs(spec.Seed, spec.GPUs), power: idlePower, cpu: 0.0113}
}

const (
	hostInterval  = time.Second
	idlePower     = 92.0
	powerLimit    = 700.0
	gpuMemory     = 85520809984
	gpuMemoryUsed = 73014444032
	cpuMemory     = 1081827856384
	cpuMemoryUsed = 58720256000
)

// tick reads the executor's load of the last second.
func (h *hostGauges) tick(w *world) {
	passed := w.now - h.at
	if passed < hostInterval {
		return
	}
	var busy time.Duration
	if w.engine != nil {
		busy = w.engine.busy
	}
	load := 0.0
	if busy >= h.busy {
		load = math.Min(0.99, float64(busy-h.busy)/float64(passed))
	}
	h.busy, h.at = busy, w.now
	h.utilization = math.Round(load*100) / 100
	h.power = math.Round((idlePower+load*(powerLimit-idlePower-60))*1000) / 1000
	h.joules = math.Round((h.joules+h.power*passed.Seconds())*1000) / 1000
	h.cpu = 0.0113 + 0.21*load*float64(mix(uint64(w.now), "cpu")%1000)/997
}

func (h *hostGauges) writeEnergy(p *page) {
	p.family("nv_energy_consumption", helpEnergy, "counter")
	for _, g := range h.gpus {
		p.add(pairs("gpu_uuid", g), h.joules)
	}
}

func (h *hostGauges) write(p *page) {
	each := func(name, help string, v float64) {
		p.family(name, help, "gauge")
		for _, g := range h.gpus {
			p.add(pairs("gpu_uuid", g), v)
		}
	}
	each("nv_gpu_utilization", helpGPUUtilization, h.utilization)
	each("nv_gpu_memory_total_bytes", helpGPUMemoryTotal, gpuMemory)
	each("nv_gpu_memory_used_bytes", helpGPUMemoryUsed, gpuMemoryUsed)
	each("nv_gpu_power_usage", helpGPUPowerUsage, h.power)
	each("nv_gpu_power_limit", helpGPUPowerLimit, powerLimit)
	one := func(name, help string, v float64) {
		p.family(name, help, "gauge")
		p.add("", v)
	}
	one("nv_cpu_utilization", helpCPUUtilization, h.cpu)
	one("nv_cpu_memory_total_bytes", helpCPUMemoryTotal, cpuMemory)
	one("nv_cpu_memory_used_bytes", helpCPUMemoryUsed, cpuMemoryUsed)
}
