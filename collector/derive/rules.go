package derive

import (
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// Rule makes the series of one family for one target.
type Rule struct {
	// inputs are the signals it reads, which say what servers can feed it.
	inputs inputs
	// scope and labels are what the formula itself makes its series of; like is
	// the signal whose scope and labels they have as well.
	scope  Scope
	labels []string
	like   engine.Signal
	// query gives the same, see [InPromQL]; why says why none does.
	query, why string
	// compile is called when the target's page has a new shape; it adds a series
	// for every value that the page can give. It is nil for families that the
	// collector knows from more than the page.
	compile func(p *Plan, f *Family)
}

// by adds labels that the formula makes.
func (r Rule) by(names ...string) Rule {
	r.labels = slices.Concat(r.labels, names)
	return r
}

// queried says by which query Prometheus has the same itself.
func (r Rule) queried(query string) Rule {
	r.query, r.why = query, ""
	return r
}

// because says why no query gives the same.
func (r Rule) because(why string) Rule {
	r.query, r.why = "", why
	return r
}

// shape is what the series of the rule are of, and their labels.
func (r Rule) shape() (Scope, []string) {
	scope, names := r.scope, slices.Clone(r.labels)
	if r.like != "" {
		of, more := labelsOf(r.like)
		scope, names = of, append(names, more...)
	}
	switch scope {
	case OfModel:
		names = append(names, "model", "model_id")
	case OfEntry:
		names = append(names, "model_id")
	case OfReplica, OfPool:
	}
	slices.Sort(names)
	return scope, slices.Compact(names)
}

// beyondPage is of a family that the collector knows from more than the page, of
// servers whose API answers what is needed.
func beyondPage(scope Scope, answers inputs, names ...string) Rule {
	return Rule{inputs: answers, scope: scope, labels: names, why: whyBeyond}
}

// copyOf passes a signal on, in base units and with our labels.
func copyOf(signal engine.Signal) Rule {
	return Rule{inputs: allOf(signal), like: signal, why: whyShown, compile: func(p *Plan, f *Family) {
		for _, g := range p.all(signal) {
			if len(g.members) > 0 && !p.falsified(g) {
				p.pass(f, "", g.labels, p.gateOf(g), g, g.members, g.meaning.Shift)
			}
		}
	}}
}

// inFlight passes requests in flight on, and 0 for the last one of a server that is
// idle.
func inFlight(signal engine.Signal) Rule {
	exposed := copyOf(signal)
	return Rule{inputs: exposed.inputs, like: signal, why: whyShown, compile: func(p *Plan, f *Family) {
		if !p.quirks.GaugesWhenRequestsEnd {
			exposed.compile(p, f)
			return
		}
		for _, id := range p.ids(exposed.inputs) {
			p.emit(f, p.forModel(id), p.executorGate(id), p.orIdle(id, p.total(signal, id)))
		}
	}}
}

// copyOr passes a signal on, or gives what it comes to where the server exposes
// only what it is made of.
func copyOr(signal engine.Signal, t term) Rule {
	exposed := copyOf(signal)
	return Rule{inputs: t.inputs, like: signal, why: whyByKind, compile: func(p *Plan, f *Family) {
		exposed.compile(p, f)
		for _, id := range p.ids(t.inputs) {
			if len(p.of(signal, id)) == 0 {
				p.emit(f, p.forModel(id), nil, t.of(p, id))
			}
		}
	}}
}

// byState passes two signals on as one family with label state.
func byState(one string, first engine.Signal, other string, second engine.Signal) Rule {
	pass := func(p *Plan, f *Family, state string, signal engine.Signal) {
		for _, g := range p.all(signal) {
			p.pass(f, "", p.forModel(g.id, "state", state), p.gateOf(g), g, g.members, g.meaning.Shift)
		}
	}
	return Rule{inputs: anyOf(first, second), like: first, labels: []string{"state"}, why: whyShown, compile: func(p *Plan, f *Family) {
		pass(p, f, one, first)
		pass(p, f, other, second)
	}}
}

// distribution passes a histogram or a summary on, all of its series.
func distribution(signal engine.Signal) Rule {
	return Rule{inputs: allOf(signal), like: signal, why: whyShown, compile: func(p *Plan, f *Family) {
		for _, g := range p.all(signal) {
			if !p.falsified(g) {
				p.distribute(f, g, g.labels)
			}
		}
	}}
}

// eachEntry makes the series of one entry model after the other, of those for which
// the page has what is needed.
func eachEntry(in inputs, of func(p *Plan, f *Family, id string)) Rule {
	return Rule{inputs: in, scope: OfEntry, why: whyByKind, compile: func(p *Plan, f *Family) {
		for _, id := range p.ids(in) {
			of(p, f, id)
		}
	}}
}

// perEntry is one number for each entry model.
func perEntry(t term, holds ...hold) Rule {
	return eachEntry(t.inputs, func(p *Plan, f *Family, id string) {
		p.emit(f, p.forModel(id), p.held(id, holds...), t.of(p, id))
	})
}

// rateOf is the growth a second of a counter.
func rateOf(signal engine.Signal) Rule { return perEntry(rate(signal)).queried(rateQuery(signal)) }

// share divides the growth of one counter by that of others together. It is 1 at
// most, for servers may count a part before the whole, as vLLM does tokens that it
// finds in its cache.
func share(of engine.Signal, by ...engine.Signal) Rule {
	return perEntry(term{allOf(of).and(allOf(by...)), func(p *Plan, id string) Eval {
		var all []*group
		for _, s := range by {
			all = append(all, p.of(s, id)...)
		}
		return applied(quotient(p.counted(p.of(of, id)), p.counted(all)), func(v float64) float64 { return min(v, 1) })
	}}).queried("clamp_max(" + rateQuery(of) + " / " + rateQuery(by[0]) + ", 1)")
}

// info exposes the versions of the replica.
func info() Rule {
	return Rule{scope: OfReplica, labels: []string{"engine_version", "trtllm_version", "trtllm_version_source"}, why: whyBeyond, compile: func(p *Plan, f *Family) {
		b := labels.NewBuilder(p.identity.Labels)
		b.Set("engine_version", p.identity.EngineVersion)
		b.Set("trtllm_version", p.identity.TRTLLMVersion)
		b.Set("trtllm_version_source", string(p.identity.Source))
		p.emit(f, b.Labels(), nil, constant(1))
	}}
}

// InPromQL says whether a query has what a family has without the family: one of
// both is set.
type InPromQL struct {
	// Query gives the same from other series of the page, over a window of one
	// minute; of percentiles the 95th. It has a value where the family has one; where
	// a quantile is beyond the last bound it has that bound, and the family none.
	Query string
	// Why no query does, or none that is true of every server.
	Why string
}

// Reasons for which no query has the values of a family.
const (
	whyShown  = "it is what the server counts or shows"
	whyBeyond = "it is of answers of the server's API, of the configuration or of what the exporter does"
	whyByKind = "of what it is made differs from kind to kind and from release to release"
	whyOnce   = "failures of an ensemble, which it counts twice, are counted once with those of its steps"
	whyPages  = "it is made of each page of the window, and Prometheus has fewer of them"
	whyModels = "of which models it is true is in their configuration, which is on no page"
)

// rateQuery is the query of the growth a second of a counter.
func rateQuery(signal engine.Signal) string { return "rate(" + Prefix + string(signal) + "[1m])" }
