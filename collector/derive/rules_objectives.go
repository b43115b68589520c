package derive

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// objective counts the requests of one model version for an objective. Its counters depend only
// on the server's counters and grow as these do, so that a restart of the exporter loses only the
// maximum of a [netCounter].
type objective struct {
	labels labels.Labels
	gate   Gate
	// all counts the requests; lower and upper are bounds of the number of bad ones.
	all, lower, upper Eval
	reason            string
}

func objectiveHistograms() map[ObjectiveName]histograms {
	return map[ObjectiveName]histograms{
		TTFT: firstTokens(), E2E: wholeRequests(),
		TPOT: observed(engine.OutputToken), ITL: observed(engine.InterToken),
	}
}

func objectiveRequests() Rule {
	return eachObjective(func(p *Plan, f *Family, o *objective) {
		p.emit(f, o.labels, o.gate, o.all)
	})
}

// objectiveBad counts the requests that missed the objective, with two bounds.
func objectiveBad() Rule {
	return eachObjective(func(p *Plan, f *Family, o *objective) {
		p.emit(f, withLabels(o.labels, "bound", "lower"), o.gate, o.lower)
		p.emit(f, withLabels(o.labels, "bound", "upper"), o.gate, o.upper)
	}).by("bound")
}

func eachObjective(add func(p *Plan, f *Family, o *objective)) Rule {
	in := allOf(engine.ModelSuccess, engine.ModelFailed).or(allOf(engine.RequestsFinished, engine.FailuresCounted))
	for _, h := range objectiveHistograms() {
		in = in.or(h.inputs)
	}
	return Rule{inputs: in, scope: OfEntry, why: whyByKind, compile: func(p *Plan, f *Family) {
		for _, want := range p.opts.Objectives {
			measured, _ := p.measure(want)
			for _, o := range measured {
				add(p, f, o)
			}
		}
	}}.by("model", "slo", "version")
}

// measurable returns which objectives can be measured, without those that are not known yet.
func (p *Plan) measurable() []target.Check {
	var all []target.Check
	for _, want := range p.opts.Objectives {
		measured, reason := p.measure(want)
		if len(measured) > 0 {
			reason = measured[0].reason
		}
		if reason != "" {
			all = append(all, target.Check{Name: string(want.Name), OK: len(measured) > 0, Reason: reason})
		}
	}
	return all
}

// measure counts the requests of each model version for an objective. If it cannot, it returns
// the reason, which is empty while no request has ended.
func (p *Plan) measure(want Objective) (measured []*objective, reason string) {
	in, count := ended(), p.available
	if want.Name != Availability {
		h := objectiveHistograms()[want.Name]
		in, count = h.inputs, func(id string, mv modelVersion) (*objective, string) {
			return p.within(h, id, mv, want.Within.Seconds())
		}
	}
	for _, id := range p.ids(in) {
		for _, mv := range p.modelVersions(id) {
			o, missing := count(id, mv)
			if o != nil {
				o.labels = withLabels(o.labels, "slo", string(want.Name))
				measured = append(measured, o)
			} else if reason == "" {
				reason = missing
			}
		}
	}
	if len(measured) > 0 || reason != "" || p.quirks.CountersAppear && !ended().met(p.has) {
		return measured, reason
	}
	return nil, "the page shows neither how long requests took nor how they ended"
}

// within counts the requests of a model version that took at most the given seconds.
func (p *Plan) within(h histograms, id string, mv modelVersion, seconds float64) (*objective, string) {
	groups := h.groups(p, id, mv)
	if len(groups) == 0 {
		return nil, ""
	}
	if len(groups) > 1 {
		return nil, "several histograms measure it"
	}
	g := groups[0]
	name, _, _ := strings.Cut(g.meaning.Name, "_bucket")
	switch {
	case g.meaning.Form() != engine.Histogram || len(g.buckets) < 2 || !g.complete():
		return nil, name + " has no buckets"
	case p.endsEarly(g):
		return nil, name + " may end when a request is handed over, long before its last token"
	}
	last := len(g.buckets) - 1
	bucket := slices.IndexFunc(g.buckets, func(b point) bool { return atLeast(b.bound, seconds) })
	if bucket == last {
		return nil, fmt.Sprintf("the largest bucket of %s ends at %s: slower requests cannot be told apart", name, secondsOf(g, last-1))
	}
	count := func(i int) Eval { return combine(p.columnsOf(g.buckets[i].members), engine.Sum) }
	all := count(last)
	o := &objective{labels: p.forGroups(groups, id, mv), gate: p.gateOf(g), lower: beyond(all, count(bucket))}
	o.all = pairwise(all, o.lower, func(n, _ float64) float64 { return n })
	o.upper, o.reason = o.lower, fmt.Sprintf("a bucket of %s ends at the target", name)
	if between := !atLeast(seconds, g.buckets[bucket].bound); between {
		below := "0 s"
		o.upper = o.all
		if bucket > 0 {
			below, o.upper = secondsOf(g, bucket-1), beyond(all, count(bucket-1))
		}
		o.reason = fmt.Sprintf("the target lies between the buckets of %s that end at %s and %s: bad requests are counted as two bounds", name, below, secondsOf(g, bucket))
	}
	return o, ""
}

// atLeast reports whether a bound is not below a time, up to rounding.
func atLeast(bound, seconds float64) bool { return bound >= seconds*(1-1e-9) }

func secondsOf(g *group, i int) string {
	return strconv.FormatFloat(g.buckets[i].bound, 'g', 6, 64) + " s"
}

// beyond returns how many of all are not in a bucket. It has no value if that is negative.
func beyond(all, in Eval) Eval {
	return func(w *Window) (float64, bool) {
		n, ok := all(w)
		m, inOK := in(w)
		return n - m, ok && inOK && n >= m
	}
}

// available counts the requests, and the requests that failed by the server's fault.
func (p *Plan) available(id string, mv modelVersion) (*objective, string) {
	o := p.outcome(id, mv)
	if o == nil {
		return nil, ""
	}
	server := o.tally(engine.ClassServer)
	switch {
	case !o.complete:
		return nil, "the server does not count all failures, or it is unknown whether it does"
	case !slices.Contains(p.classes(o), engine.ClassServer):
		return nil, "the server does not count the requests that fail by its fault"
	case server.partial:
		return nil, "the server counts only some of the requests that fail by its fault"
	}
	return &objective{
		labels: p.forModelVersion(id, mv), gate: p.gate(id, checkFrozen, checkSurvived),
		all:    func(w *Window) (float64, bool) { return o.soFar(w, classOrder...) },
		lower:  func(w *Window) (float64, bool) { return o.soFar(w, engine.ClassServer) },
		upper:  func(w *Window) (float64, bool) { return w.totals(server.columns()) },
		reason: "requests are counted by how they ended",
	}, ""
}

// soFar returns how many requests ended since the server started. Failures that an ensemble
// counts twice are halved, which is the minimum.
func (o *outcome) soFar(w *Window, classes ...engine.Class) (float64, bool) {
	sum := 0.0
	for _, class := range classes {
		t := o.tally(class)
		sum += sumOf(w.current, t.columns()) - sumOf(w.current, t.double)/2
	}
	return sum, !math.IsNaN(sum)
}
