package simulate

// page renders counters, gauges, histograms and summaries, each in order of
// registration.
func (t *triton) page() []byte {
	p := &page{dialect: cppDialect(), seed: t.seed<<1 | 1}
	t.writeCounters(p)
	t.host.writeEnergy(p)
	t.backend.counters(p)
	t.writeGauges(p)
	t.host.write(p)
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
	// The flag counter_latencies=false removes the durations and freezes the rest.
	moving := 1.0
	if t.w.spec.CountersFrozen {
		moving = 0
	}
	counter := func(name, help string, v func(m *model) uint64) {
		p.family("counter", name, help)
		t.each(func(m *model, labels string) { p.add(labels, moving*float64(v(m))) })
	}
	success := func(m *model) uint64 { return m.success }
	counter("nv_inference_request_success", "Number of successful inference requests, all batch sizes", success)
	t.writeFailures(p, moving)
	counter("nv_inference_count", "Number of inferences performed (does not include cached requests)", success)
	counter("nv_inference_exec_count", "Number of model executions performed (does not include cached requests)", success)
	for i, d := range durations() {
		if !t.w.spec.CountersFrozen {
			counter(d.counter, d.counterHelp, func(m *model) uint64 { return m.micros[i] })
		}
	}
}

// writeFailures writes the failures: since 24.07 four series per model, which survive an
// unload.
func (t *triton) writeFailures(p *page, moving float64) {
	p.family("counter", "nv_inference_request_failure", "Number of failed inference requests, all batch sizes")
	if t.version < triton2407 {
		t.each(func(m *model, labels string) { p.add(labels, moving*float64(m.failed)) })
		return
	}
	for _, m := range t.models {
		for i, reason := range failureReasons() {
			p.add(with(modelLabels(m.name), "reason", reason), moving*float64(m.failures[i]))
		}
	}
}

func (t *triton) writeGauges(p *page) {
	if t.version >= triton2309 {
		p.family("gauge", "nv_inference_pending_request_count", "Instantaneous number of pending requests awaiting execution per-model.")
		t.each(func(m *model, labels string) { p.add(labels, t.pending(m)) })
	}
	if t.version >= triton2411 {
		p.family("gauge", "nv_model_load_duration_secs", "Model load time in seconds")
		t.each(func(m *model, labels string) { p.add(labels, m.loadSeconds) })
	}
	if t.version >= triton2401 {
		// Triton's default is a pool of 256 MiB.
		p.one("gauge", "nv_pinned_memory_pool_total_bytes", "Pinned memory pool total memory size, in bytes", "", 256<<20)
		p.one("gauge", "nv_pinned_memory_pool_used_bytes", "Pinned memory pool used memory size, in bytes", "", 0)
	}
}

// pending returns the length of Triton's queue: 0 for LLM models, whose backend accepts
// every request immediately.
func (t *triton) pending(m *model) float64 {
	if !t.kind.queues || m.role != roleLLM {
		return 0
	}
	return float64(len(t.w.engine.queue))
}

// writeFirstResponse writes the first-response histogram, up to 25.12 only for decoupled
// models.
func (t *triton) writeFirstResponse(p *page) {
	if !t.w.spec.Histograms || t.version < triton2411 {
		return
	}
	p.family("histogram", "nv_inference_first_response_histogram_ms", "Duration from request to first response in milliseconds")
	t.each(func(m *model, labels string) {
		if m.decoupled || t.version >= triton2601 {
			p.addHistogram(labels, m.first)
		}
	})
}

func (t *triton) writeSummaries(p *page) {
	if !t.w.spec.Summaries {
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
