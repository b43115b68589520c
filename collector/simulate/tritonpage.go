package simulate

// page renders the Prometheus text of this moment: counters, gauges, histograms,
// summaries, inside each in order of registration.
func (t *triton) page() []byte {
	p := &page{out: make([]byte, 0, 16<<10), number: appendCpp, seed: t.seed<<1 | 1}
	t.writeCounters(p)
	t.host.writeEnergy(p)
	t.writeDisagg(p)
	if t.vllm != nil {
		t.vllm.writeCounters(p)
	}
	t.writeGauges(p)
	t.host.write(p)
	t.writeTRTLLM(p)
	t.writeFirstResponse(p)
	t.writeTokens(p)
	if t.vllm != nil {
		t.vllm.writeHistograms(p)
	}
	t.writeSummaries(p)
	return p.bytes()
}

// each calls f for every model whose core series are on the page.
func (t *triton) each(f func(m *model, labels string)) {
	for _, m := range t.models {
		if m.printed() {
			f(m, pairs("model", m.name, "version", "1"))
		}
	}
}

func (t *triton) writeCounters(p *page) {
	// The flag counter_latencies=false removes the durations and freezes the rest.
	moving := func(v uint64) float64 {
		if t.w.spec.CountersFrozen {
			return 0
		}
		return float64(v)
	}
	counter := func(name, help string, v func(k *modelCounters) uint64) {
		p.family(name, help, "counter")
		t.each(func(m *model, labels string) { p.add(labels, moving(v(&m.counters))) })
	}
	counter("nv_inference_request_success", helpSuccess, func(k *modelCounters) uint64 { return k.success })
	t.writeFailures(p, moving)
	counter("nv_inference_count", helpCount, func(k *modelCounters) uint64 { return k.success })
	counter("nv_inference_exec_count", helpExecCount, func(k *modelCounters) uint64 { return k.success })
	if t.w.spec.CountersFrozen {
		return
	}
	for i, d := range durationFamilies() {
		counter(d.counter, d.counterHelp, func(k *modelCounters) uint64 { return k.micros[i] })
	}
}

// writeFailures writes the failures: since 24.07 four series a model that stay
// on the page when the model is unloaded.
func (t *triton) writeFailures(p *page, moving func(uint64) float64) {
	p.family("nv_inference_request_failure", helpFailure, "counter")
	for _, m := range t.models {
		if t.version < triton2407 {
			if m.printed() {
				p.add(pairs("model", m.name, "version", "1"), moving(m.counters.failed))
			}
			continue
		}
		for i, reason := range failureReasons() {
			p.add(pairs("model", m.name, "reason", reason, "version", "1"), moving(m.failures[i]))
		}
	}
}

func (t *triton) writeGauges(p *page) {
	if t.version >= triton2309 {
		p.family("nv_inference_pending_request_count", helpPending, "gauge")
		t.each(func(m *model, labels string) { p.add(labels, t.pending(m)) })
	}
	if t.version >= triton2411 {
		p.family("nv_model_load_duration_secs", helpLoadDuration, "gauge")
		t.each(func(m *model, labels string) { p.add(labels, m.loadSeconds) })
	}
	if t.version >= triton2401 {
		p.family("nv_pinned_memory_pool_total_bytes", helpPinnedTotal, "gauge")
		p.add("", pinnedPoolBytes)
		p.family("nv_pinned_memory_pool_used_bytes", helpPinnedUsed, "gauge")
		p.add("", 0)
	}
}

// pending is Triton's own queue: 0 for LLM models, whose backend takes every
// request at once, and the real queue of a plain model.
func (t *triton) pending(m *model) float64 {
	if t.w.spec.Kind != KindTritonCore || m.role != roleLLM || t.w.engine == nil {
		return 0
	}
	return float64(len(t.w.engine.queue))
}

// writeFirstResponse writes the first-response histogram, up to 25.12 of
// decoupled models only.
func (t *triton) writeFirstResponse(p *page) {
	if !t.w.spec.Histograms || t.version < triton2411 {
		return
	}
	p.family("nv_inference_first_response_histogram_ms", helpFirstResponse, "histogram")
	t.each(func(m *model, labels string) {
		if m.decoupled || t.version >= triton2601 {
			p.addHistogram(labels, m.counters.first)
		}
	})
}

func (t *triton) writeSummaries(p *page) {
	if !t.w.spec.Summaries {
		return
	}
	quantiles := defaultQuantiles()
	for i, d := range durationFamilies() {
		p.family(d.summary, d.summaryHelp, "summary")
		t.each(func(m *model, labels string) {
			s := &m.counters.summaries[i]
			p.addSummary(labels, s.n, s.sum, quantiles, s.quantiles(t.w.now, quantiles))
		})
	}
}
