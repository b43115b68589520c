package derive

import (
	"math"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// copyOf passes a signal on, in base units and with our labels.
type copyOf struct{ signal engine.Signal }

// Compile implements Rule.
func (r copyOf) Compile(p *Plan, f *Family) {
	for _, g := range p.groups[r.signal] {
		if len(g.members) > 0 && !p.falsified(g) {
			p.pass(f, "", g.labels, p.gateOf(g), g, g.members, g.meaning.Shift)
		}
	}
}

// byState passes several signals on as one family with a label.
type byState struct {
	label  string
	states map[string]engine.Signal
}

// Compile implements Rule.
func (r byState) Compile(p *Plan, f *Family) {
	for _, state := range sorted(r.states) {
		for _, g := range p.groups[r.states[state]] {
			p.pass(f, "", p.forModel(g.id, r.label, state), p.gateOf(g), g, g.members, g.meaning.Shift)
		}
	}
}

// distribution passes a histogram or a summary on, all of its series.
type distribution struct{ signal engine.Signal }

// Compile implements Rule.
func (r distribution) Compile(p *Plan, f *Family) {
	for _, g := range p.groups[r.signal] {
		if !p.falsified(g) {
			p.distribute(f, g, g.labels)
		}
	}
}

// distribute adds the series of one histogram or summary. A histogram without
// its last bucket, sum or count is broken and not passed on.
func (p *Plan) distribute(f *Family, g *group, lset labels.Labels) {
	if len(g.sum) == 0 || len(g.count) == 0 {
		return
	}
	gate, shift := p.gateOf(g), g.meaning.Shift
	if g.meaning.Form == engine.Summary {
		for _, q := range g.quantiles {
			p.pass(f, "", withLabel(lset, "quantile", q.text), gate, g, q.members, shift)
		}
		p.pass(f, "_sum", lset, gate, g, g.sum, shift)
		p.pass(f, "_count", lset, gate, g, g.count, 0)
		return
	}
	if n := len(g.buckets); n == 0 || !math.IsInf(g.buckets[n-1].at, 1) {
		p.program.broken++
		return
	}
	single := len(g.sum) == 1 && len(g.count) == 1
	for _, b := range g.buckets {
		single = single && len(b.members) == 1
	}
	if !single {
		for _, b := range g.buckets {
			p.pass(f, "_bucket", withLabel(lset, "le", shiftedBound(b.text, shift)), gate, g, b.members, 0)
		}
		p.pass(f, "_sum", lset, gate, g, g.sum, shift)
		p.pass(f, "_count", lset, gate, g, g.count, 0)
		return
	}
	h := histogram{gate: gate, shift: shift}
	for i, b := range g.buckets {
		n := p.series(f, "_bucket", withLabel(lset, "le", shiftedBound(b.text, shift)))
		if i == 0 {
			h.first = n
		}
		h.places = append(h.places, p.sources[b.members[0]].Place)
	}
	p.series(f, "_sum", lset)
	p.series(f, "_count", lset)
	h.places = append(h.places, p.sources[g.sum[0]].Place, p.sources[g.count[0]].Place)
	p.program.histograms = append(p.program.histograms, h)
}

// withLabel adds one label.
func withLabel(lset labels.Labels, name, value string) labels.Labels {
	return labels.NewBuilder(lset).Set(name, value).Labels()
}

// rateOf is the growth a second of a counter, by model id.
type rateOf struct{ signal engine.Signal }

// Compile implements Rule.
func (r rateOf) Compile(p *Plan, f *Family) {
	for _, id := range p.ids(r.signal) {
		p.emit(f, p.forModel(id), 0, p.rateOf(p.of(r.signal, id)))
	}
}

// ratioOfRates divides the growth of one counter by that of others together.
type ratioOfRates struct {
	of      engine.Signal
	divided []engine.Signal
}

// Compile implements Rule.
func (r ratioOfRates) Compile(p *Plan, f *Family) {
	for _, id := range p.ids(r.of) {
		var by []int
		for _, s := range r.divided {
			one := p.counted(p.of(s, id))
			if len(one) == 0 {
				by = nil
				break
			}
			by = append(by, one...)
		}
		p.emit(f, p.forModel(id), 0, quotient(p.counted(p.of(r.of, id)), by))
	}
}

// info tells the versions of the replica.
type info struct{}

// Compile implements Rule.
func (info) Compile(p *Plan, f *Family) {
	b := labels.NewBuilder(p.identity.Labels)
	b.Set("engine_version", p.identity.EngineVersion)
	b.Set("trtllm_version", p.identity.TRTLLMVersion)
	b.Set("trtllm_version_source", string(p.identity.Source))
	p.emit(f, b.Labels(), 0, constant(1))
}
