package simulate

import (
	"fmt"
	"math"
	"time"
)

// page renders families by type, each in order of registration.
func (t *triton) page() []byte {
	p := &page{dialect: cppDialect(), seed: t.seed<<1 | 1}
	t.writeCounters(p)
	t.host.writeEnergy(p)
	t.backend.counters(p)
	t.writeGauges(p)
	t.host.write(p, t.version)
	t.backend.gauges(p)
	t.writeFirstResponse(p)
	t.backend.histograms(p)
	t.writeSummaries(p)
	return p.bytes()
}

// modelLabels returns the labels of a model's core series.
func modelLabels(name string) string { return pairs("model", name, "version", "1") }

// each calls f for every model whose core series are on the page.
func (t *triton) each(f func(m *model, labels string)) {
	for _, m := range t.models {
		if m.printed() {
			f(m, modelLabels(m.name))
		}
	}
}

func (t *triton) writeCounters(p *page) {
	counter := func(name, help string, v func(m *model) uint64) {
		p.family("counter", name, help)
		t.each(func(m *model, labels string) { p.add(labels, float64(v(m))) })
	}
	success := func(m *model) uint64 { return m.success }
	counter("nv_inference_request_success", "Number of successful inference requests, all batch sizes", success)
	t.writeFailures(p)
	counter("nv_inference_count", "Number of inferences performed (does not include cached requests)", success)
	counter("nv_inference_exec_count", "Number of model executions performed (does not include "+
		"cached requests)", success)
	for i, d := range durations() {
		counter(d.counter, d.counterHelp, func(m *model) uint64 { return m.micros[i] })
	}
}

// writeFailures writes failures: since 24.07 by reason, and an unload keeps them.
func (t *triton) writeFailures(p *page) {
	p.family("counter", "nv_inference_request_failure", "Number of failed inference requests, all batch sizes")
	if t.version < triton2407 {
		t.each(func(m *model, labels string) { p.add(labels, float64(m.failed)) })
		return
	}
	for _, m := range t.models {
		for i, reason := range failureReasons() {
			p.add(with(modelLabels(m.name), "reason", reason), float64(m.failures[i]))
		}
	}
}

func (t *triton) writeGauges(p *page) {
	if t.version >= triton2309 {
		p.family("gauge", "nv_inference_pending_request_count", "Instantaneous number of pending requests awaiting "+
			"execution per-model.")
		t.each(func(m *model, labels string) { p.add(labels, t.pending(m)) })
	}
	if t.version >= triton2411 {
		p.family("gauge", "nv_model_load_duration_secs", "Model load time in seconds")
		t.each(func(m *model, labels string) { p.add(labels, m.loadSeconds) })
	}
	if t.version >= triton2401 {
		// Triton's default is a pool of 256 MiB.
		p.one(
			"gauge",
			"nv_pinned_memory_pool_total_bytes",
			"Pinned memory pool total memory size, in bytes",
			"",
			256<<20,
		)
		p.one("gauge", "nv_pinned_memory_pool_used_bytes", "Pinned memory pool used memory size, in bytes", "", 0)
	}
}

// pending returns the length of Triton's queue: 0 for LLMs, whose backend takes all.
func (t *triton) pending(m *model) float64 {
	if !t.kind.queues || m.role != roleLLM {
		return 0
	}
	return float64(len(t.w.engine.queue) + t.w.arrived)
}

// writeFirstResponse writes the histogram, up to 25.12 only for decoupled models.
func (t *triton) writeFirstResponse(p *page) {
	if !t.w.spec.Histograms || t.version < triton2411 {
		return
	}
	p.family(
		"histogram",
		"nv_inference_first_response_histogram_ms",
		"Duration from request to first response in milliseconds",
	)
	t.each(func(m *model, labels string) {
		if m.decoupled || t.version >= triton2601 {
			p.addHistogram(labels, m.first)
		}
	})
}

func (t *triton) writeSummaries(p *page) {
	if !t.w.spec.Summaries || t.version < triton2304 {
		return
	}
	for i, d := range durations() {
		p.family("summary", d.summary, d.summaryHelp)
		t.each(func(m *model, labels string) {
			s := &m.summaries[i]
			p.addSummary(labels, s.n, s.sum, s.quantiles(t.w.now))
		})
	}
}

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
		labels[i] = fmt.Sprintf(
			`gpu_uuid="GPU-%08x-%04x-%04x-%04x-%012x"`,
			uint32(a),
			uint16(a>>32),
			uint16(a>>48),
			uint16(b),
			b>>16,
		)
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
	h.eachGPU(p, "counter", "nv_energy_consumption", "GPU energy consumption in joules since the Triton "+
		"Server started", h.joules)
}

// write writes the gauges of the GPUs, then those of the host.
func (h *hostGauges) write(p *page, version tritonVersion) {
	h.eachGPU(p, "gauge", "nv_gpu_utilization", "GPU utilization rate [0.0 - 1.0)", h.utilization)
	h.eachGPU(p, "gauge", "nv_gpu_memory_total_bytes", "GPU total memory, in bytes", 85520809984)
	h.eachGPU(p, "gauge", "nv_gpu_memory_used_bytes", "GPU used memory, in bytes", 73014444032)
	h.eachGPU(p, "gauge", "nv_gpu_power_usage", "GPU power usage in watts", h.power)
	h.eachGPU(p, "gauge", "nv_gpu_power_limit", "GPU power management limit in watts", powerLimit)
	if version < triton2209 {
		return
	}
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
