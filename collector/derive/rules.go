package derive

import (
	"math"
	"slices"
	"sync"

	"github.com/prometheus/common/model"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// Rule computes the series of one family for a target.
type Rule struct {
	// needs lists the signals that it needs, and so which servers can have the family; also lists
	// what it reads besides if it is there.
	needs inputs
	also  []engine.Signal
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

	// model sets the series of each model id that has the signals, page those of the whole page. One
	// of them is set, unless the values need more than the page. They are run on each page, and once
	// without values for each shape.
	model func(v *View, m *Model, out *Out)
	page  func(v *View, out *Out)
}

// runs reports whether the rule computes values from pages.
func (r *Rule) runs() bool { return r.model != nil || r.page != nil }

// run sets all series of the rule.
func (r *Rule) run(v *View, models []*Model, out *Out) {
	if r.page != nil {
		r.page(v, out)
		return
	}
	for _, m := range models {
		r.model(v, m, out)
	}
}

// inputs lists sets of signals, any of which is sufficient. Without sets, no signal is needed.
type inputs [][]engine.Signal

func allOf(signals ...engine.Signal) inputs { return inputs{signals} }

func anyOf(signals ...engine.Signal) (in inputs) {
	for _, s := range signals {
		in = append(in, []engine.Signal{s})
	}
	return in
}

func (in inputs) or(o inputs) inputs { return slices.Concat(in, o) }

func (in inputs) and(o inputs) (combined inputs) {
	for _, a := range in {
		for _, b := range o {
			combined = append(combined, slices.Concat(a, b))
		}
	}
	return combined
}

// all returns the signals of all sets.
func (in inputs) all() []engine.Signal { return slices.Concat(in...) }

// met reports whether a set of signals is complete; has reports which signals there are.
func (in inputs) met(has func(engine.Signal) bool) bool {
	lacks := func(s engine.Signal) bool { return !has(s) }
	complete := func(set []engine.Signal) bool { return !slices.ContainsFunc(set, lacks) }
	return len(in) == 0 || slices.ContainsFunc(in, complete)
}

func (in inputs) kinds() []engine.Name {
	var kinds []engine.Name
	for _, s := range servers() {
		if in.met(func(signal engine.Signal) bool { return s.signals[signal] != nil }) {
			kinds = append(kinds, s.kind)
		}
	}
	return slices.Compact(kinds)
}

//nolint:gochecknoglobals // constant data, built on first use.
var servers = sync.OnceValue(newServers)

func (r Rule) by(names ...string) Rule {
	r.labels = slices.Concat(r.labels, names)
	return r
}

// reads adds signals that the rule does not need.
func (r Rule) reads(signals ...engine.Signal) Rule {
	r.also = slices.Concat(r.also, signals)
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
	if r.like != engine.NoSignal {
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
	return Rule{needs: answers, scope: scope, labels: names, why: whyBeyond}
}

// eachModel returns a rule that is run for each model id with the signals.
func eachModel(needs inputs, set func(v *View, m *Model, out *Out)) Rule {
	return Rule{needs: needs, scope: OfEntry, why: whyByKind, model: set}
}

// eachVersion returns a rule that is run for each version that clients call.
func eachVersion(needs inputs, set func(v *View, m *Model, out *Out)) Rule {
	return eachModel(needs, func(v *View, m *Model, out *Out) {
		for _, version := range m.versions {
			set(v, version, out)
		}
	}).by("model", "version")
}

// ofPage returns a rule that is run once a page, with series like those of a signal.
func ofPage(needs inputs, like engine.Signal, set func(v *View, out *Out)) Rule {
	return Rule{needs: needs, like: like, why: whyShown, page: set}
}

// copyOf copies a signal, in base units and with our labels.
func copyOf(signal engine.Signal) Rule {
	return ofPage(allOf(signal), signal, func(v *View, out *Out) { copySignal(v, signal, out) })
}

func copySignal(v *View, signal engine.Signal, out *Out) {
	s := v.shown(v.index.replica, signal)
	if s == nil {
		return
	}
	for _, g := range s.groups {
		if len(g.value.sources) > 0 && !g.endsEarly {
			out.Copy(g)
		}
	}
}

// inFlight copies a signal of requests in flight, with 0 for an idle server.
func inFlight(signal engine.Signal) Rule {
	return ofPage(allOf(signal), signal, func(v *View, out *Out) {
		if !v.index.quirks.GaugesWhenRequestsEnd {
			copySignal(v, signal, out)
			return
		}
		for _, m := range v.index.models {
			if v.Has(m, signal) {
				requests, ok := v.Sum(m, signal)
				requests, ok = v.orIdle(m, requests, ok)
				out.Set(m, requests, ok && v.Runs(m))
			}
		}
	}).reads(engine.RequestsRunning, engine.RequestsFinished)
}

// copyOr copies a signal, or what a server shows of the same quantity in another way.
func copyOr(signal engine.Signal, q quantity) Rule {
	return ofPage(q.needs(), signal, func(v *View, out *Out) {
		copySignal(v, signal, out)
		for _, m := range v.index.models {
			if !v.Has(m, signal) && v.Shows(m, q) {
				value, ok := v.Of(m, q)
				out.Set(m, value, ok)
			}
		}
	}).because(whyByKind)
}

// byState copies two signals into one family with the label state.
func byState(state string, signal engine.Signal, otherState string, otherSignal engine.Signal) Rule {
	return ofPage(anyOf(signal, otherSignal), signal, func(v *View, out *Out) {
		copyAs(v, signal, state, out)
		copyAs(v, otherSignal, otherState, out)
	}).by("state")
}

func copyAs(v *View, signal engine.Signal, state string, out *Out) {
	if s := v.shown(v.index.replica, signal); s != nil {
		for _, g := range s.groups {
			out.CopyAs(g, "state", state)
		}
	}
}

// distribution copies a histogram or summary.
func distribution(signal engine.Signal) Rule {
	return ofPage(allOf(signal), signal, func(v *View, out *Out) {
		for _, g := range v.shown(v.index.replica, signal).groups {
			if !g.endsEarly {
				out.CopyDistribution(g, nil)
			}
		}
	}).typed(model.MetricTypeHistogram)
}

// rateOf exposes the increase of a counter per second.
func rateOf(signal engine.Signal) Rule {
	return eachModel(allOf(signal), func(v *View, m *Model, out *Out) {
		rate, ok := v.Rate(m, signal)
		out.Set(m, rate, ok)
	}).queried(rateQuery(signal), "rate("+signal.String()+")")
}

// grownShare returns the increase of a counter divided by the increase of others. It is at most 1: vLLM counts
// cached tokens before it counts all tokens.
func grownShare(part engine.Signal, wholes ...engine.Signal) func(v *View, m *Model) (float64, bool) {
	return func(v *View, m *Model) (float64, bool) {
		all := make([]int, 0, onStack)
		for _, whole := range wholes {
			all = append(all, v.counters(m, whole)...)
		}
		share, ok := v.window.grownRatio(v.counters(m, part), all)
		return min(share, 1), ok
	}
}

// share exposes the increase of a counter divided by the increase of others.
func share(part engine.Signal, wholes ...engine.Signal) Rule {
	grown := grownShare(part, wholes...)
	return eachModel(allOf(part).and(allOf(wholes...)), func(v *View, m *Model, out *Out) {
		value, ok := grown(v, m)
		out.Set(m, value, ok)
	}).queried("clamp_max("+rateQuery(part)+" / "+rateQuery(wholes[0])+", 1)",
		"rate("+part.String()+") / rate("+wholes[0].String()+"), at most 1")
}

// info exposes 1 with the versions of the target.
func info() Rule {
	return Rule{
		scope:  OfReplica,
		labels: []string{"engine_version", "trtllm_version", "trtllm_version_source"},
		why:    whyBeyond,
		page: func(v *View, out *Out) {
			id := &v.index.naming
			out.Set(v.index.replica, 1, true, "engine_version", id.EngineVersion,
				"trtllm_version", id.TRTLLMVersion, "trtllm_version_source", string(id.Source))
		},
	}
}

func adaptersRule() Rule {
	return ofPage(allOf(engine.AdaptersWritten), engine.AdaptersWritten, adapters)
}

// adapters exposes 1 with the most recent label set. Several processes of an API add up the times at which each of
// them wrote the same labels (vLLM from 0.9.1 on, v1/metrics/loggers.py): then one is nearer to twice another than to
// it, and nothing tells which is the most recent.
func adapters(v *View, out *Out) {
	groups, earliest := v.shown(v.index.replica, engine.AdaptersWritten).groups, math.Inf(1)
	latest := make(map[*Model]float64, 1)
	for _, g := range groups {
		if written, ok := v.value(g); ok {
			earliest, latest[g.model] = min(earliest, written), max(latest[g.model], written)
		}
	}
	for _, g := range groups {
		written, ok := v.value(g)
		out.SetLabels(g.labels, 1, ok && written >= latest[g.model] && math.Round(latest[g.model]/earliest) <= 1)
	}
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

func rateQuery(signal engine.Signal) string { return "rate(" + Prefix + signal.String() + "[1m])" }
