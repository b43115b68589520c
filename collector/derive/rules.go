package derive

import (
	"slices"

	"github.com/prometheus/common/model"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// Rule computes the series of one family for a target.
type Rule struct {
	// inputs lists the signals that it reads, and so which servers can have the family.
	inputs inputs
	// scope and labels describe its series, in addition to the labels of the signal like.
	scope  Scope
	labels []string
	like   engine.Signal
	// query is a PromQL query with the same result, why the reason if there is none.
	query, why string
	// formula describes the computation if the catalogue does not.
	formula string
	// typ is the type of the family if it does not follow from its name.
	typ model.MetricType
	// compile adds the series for a shape of pages. It is nil if they need more than the page.
	compile func(p *Plan, f *Family)
}

func (r Rule) by(names ...string) Rule {
	r.labels = slices.Concat(r.labels, names)
	return r
}

func (r Rule) queried(query, formula string) Rule {
	r.query, r.why, r.formula = query, "", formula
	return r
}

func (r Rule) because(reason string) Rule {
	r.query, r.why = "", reason
	return r
}

func (r Rule) typed(typ model.MetricType) Rule {
	r.typ = typ
	return r
}

func (r Rule) scopeAndLabels() (Scope, []string) {
	scope, names := r.scope, slices.Clone(r.labels)
	if r.like != "" {
		likeScope, likeLabels := labelsOf(r.like)
		scope, names = likeScope, append(names, likeLabels...)
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

// beyondPage returns a rule for values from the API of a server or from the collector.
func beyondPage(scope Scope, answers inputs, names ...string) Rule {
	return Rule{inputs: answers, scope: scope, labels: names, why: whyBeyond}
}

// copyOf copies a signal, in base units and with our labels.
func copyOf(signal engine.Signal) Rule {
	return Rule{inputs: allOf(signal), like: signal, why: whyShown, compile: func(p *Plan, f *Family) {
		for _, g := range p.groups[signal] {
			if len(g.members) > 0 && !p.endsEarly(g) {
				p.pass(f, "", g.labels, g, g.members, g.meaning.Shift)
			}
		}
	}}
}

// inFlight copies a signal of requests in flight, with 0 for an idle server.
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

// copyOr copies a signal, or computes it if the server exposes only its parts.
func copyOr(signal engine.Signal, t term) Rule {
	exposed := copyOf(signal)
	return Rule{inputs: t.inputs, like: signal, why: whyByKind, compile: func(p *Plan, f *Family) {
		exposed.compile(p, f)
		for _, id := range p.ids(t.inputs) {
			if len(p.groupsOf(signal, id)) == 0 {
				p.emit(f, p.forModel(id), nil, t.eval(p, id))
			}
		}
	}}
}

// byState copies two signals into one family with the label state.
func byState(state string, signal engine.Signal, otherState string, otherSignal engine.Signal) Rule {
	pass := func(p *Plan, f *Family, state string, signal engine.Signal) {
		for _, g := range p.groups[signal] {
			p.pass(f, "", p.forModel(g.id, "state", state), g, g.members, g.meaning.Shift)
		}
	}
	return Rule{inputs: anyOf(signal, otherSignal), like: signal, labels: []string{"state"}, why: whyShown, compile: func(p *Plan, f *Family) {
		pass(p, f, state, signal)
		pass(p, f, otherState, otherSignal)
	}}
}

func distribution(signal engine.Signal) Rule {
	return Rule{inputs: allOf(signal), like: signal, why: whyShown, typ: model.MetricTypeHistogram, compile: func(p *Plan, f *Family) {
		for _, g := range p.groups[signal] {
			if !p.endsEarly(g) {
				p.distribute(f, g, g.labels)
			}
		}
	}}
}

// eachEntry returns a rule that calls add for each entry model with the inputs.
func eachEntry(in inputs, add func(p *Plan, f *Family, id string)) Rule {
	return Rule{inputs: in, scope: OfEntry, why: whyByKind, compile: func(p *Plan, f *Family) {
		for _, id := range p.ids(in) {
			add(p, f, id)
		}
	}}
}

// perEntry exposes one number per entry model, absent while a check detects its anomaly.
func perEntry(t term, checks ...string) Rule {
	return eachEntry(t.inputs, func(p *Plan, f *Family, id string) {
		p.emit(f, p.forModel(id), p.gate(id, checks...), t.eval(p, id))
	})
}

func rateOf(signal engine.Signal) Rule {
	return perEntry(rate(signal)).queried(rateQuery(signal), "rate("+string(signal)+")")
}

// share divides the increase of a counter by the increase of others. It is at most 1: vLLM counts
// cached tokens before it counts all tokens.
func share(part engine.Signal, wholes ...engine.Signal) Rule {
	return perEntry(term{allOf(part).and(allOf(wholes...)), func(p *Plan, id string) Eval {
		var all []*group
		for _, s := range wholes {
			all = append(all, p.groupsOf(s, id)...)
		}
		return transform(growthRatio(p.groupColumns(p.groupsOf(part, id)), p.groupColumns(all)), func(v float64) float64 { return min(v, 1) })
	}}).queried("clamp_max("+rateQuery(part)+" / "+rateQuery(wholes[0])+", 1)",
		"rate("+string(part)+") / rate("+string(wholes[0])+"), at most 1")
}

func info() Rule {
	return Rule{scope: OfReplica, labels: []string{"engine_version", "trtllm_version", "trtllm_version_source"}, why: whyBeyond, compile: func(p *Plan, f *Family) {
		lset := withLabels(p.identity.Labels, "engine_version", p.identity.EngineVersion,
			"trtllm_version", p.identity.TRTLLMVersion, "trtllm_version_source", string(p.identity.Source))
		p.emit(f, lset, nil, constant(1))
	}}
}

// adapters exposes 1 with the most recent label set.
func adapters() Rule {
	return Rule{inputs: allOf(engine.AdaptersWritten), like: engine.AdaptersWritten, why: whyShown, compile: func(p *Plan, f *Family) {
		for _, g := range p.groups[engine.AdaptersWritten] {
			written, newest := p.value(g), largest(p.groupColumns(p.groupsOf(engine.AdaptersWritten, g.id)))
			p.emit(f, g.labels, nil, func(w *Window) (float64, bool) {
				v, ok := written(w)
				latest, _ := newest(w)
				return 1, ok && v >= latest
			})
		}
	}}
}

// InPromQL holds a query with the values of a family, or the reason why there is none.
type InPromQL struct {
	// Query has the same result over a window of one minute; of percentiles, it is the 95th. For
	// a quantile above the last bound it returns that bound, while the family has no value.
	Query string
	// Why is the reason why no query has the same result for every server.
	Why string
}

// Reasons why no query has the values of a family.
const (
	whyShown  = "the server counts or exposes it itself"
	whyBeyond = "it comes from the server's API, the configuration or the exporter"
	whyByKind = "what it is made from differs by kind of server and release"
	whyOnce   = "failures that an ensemble counts twice are counted once, together with those of its steps"
	whyPages  = "it uses every page of the window, and Prometheus has fewer"
	whyModels = "it depends on the configuration of models, which is on no page"
)

func rateQuery(signal engine.Signal) string { return "rate(" + Prefix + string(signal) + "[1m])" }
