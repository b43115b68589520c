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

// objective counts the requests of one front by an objective. All three only
// grow, as long as the server's own counters do: what the server counted is all
// they are made of, so that a restart of the exporter loses nothing but how high
// what is [lessened] was.
type objective struct {
	name   ObjectiveName
	labels labels.Labels
	gate   Gate
	// all are the requests, least and most those that were bad.
	all, least, most Eval
	reason           string
}

// objectiveInputs are what objectives are measured by.
func objectiveInputs() inputs {
	var in inputs
	for _, h := range objectiveHistograms() {
		in = in.or(h.inputs)
	}
	return in.or(allOf(engine.ModelSuccess, engine.ModelFailed)).or(allOf(engine.RequestsFinished, engine.FailuresCounted))
}

// objectiveHistograms are the histograms of the objectives of time.
func objectiveHistograms() map[ObjectiveName]histograms {
	return map[ObjectiveName]histograms{
		TTFT: firstTokens(), E2E: wholeRequests(),
		TPOT: observed(engine.OutputToken), ITL: observed(engine.InterToken),
	}
}

// objectiveRequests are the requests that objectives count.
func objectiveRequests() Rule {
	return eachObjective(func(p *Plan, f *Family, o *objective) {
		p.emit(f, withLabel(o.labels, labelSLO, string(o.name)), o.gate, o.all)
	})
}

// objectiveBad are the requests that were not good, as two bounds.
func objectiveBad() Rule {
	return eachObjective(func(p *Plan, f *Family, o *objective) {
		of := labels.NewBuilder(o.labels).Set(labelSLO, string(o.name))
		p.emit(f, of.Set(labelBound, "lower").Labels(), o.gate, o.least)
		p.emit(f, of.Set(labelBound, "upper").Labels(), o.gate, o.most)
	}).by(labelBound)
}

// The labels of objectives.
const (
	labelSLO   = "slo"
	labelBound = "bound"
)

// eachObjective makes the series of one objective after the other.
func eachObjective(of func(p *Plan, f *Family, o *objective)) Rule {
	return Rule{inputs: objectiveInputs(), scope: OfEntry, why: whyByKind, compile: func(p *Plan, f *Family) {
		for _, want := range p.wanted {
			measured, _ := p.measure(want)
			for _, o := range measured {
				of(p, f, o)
			}
		}
	}}.by("model", labelSLO, "version")
}

// objectives say for each objective of the pool whether it is measured; of those
// that the page may yet show nothing is said.
func (p *Plan) objectives() []target.Check {
	var all []target.Check
	for _, want := range p.wanted {
		measured, reason := p.measure(want)
		switch {
		case len(measured) > 0:
			all = append(all, target.Check{Name: string(want.Name), OK: true, Reason: measured[0].reason})
		case reason != "":
			all = append(all, target.Check{Name: string(want.Name), Reason: reason})
		}
	}
	return all
}

// measure counts the requests of each front by an objective; where it cannot, the
// reason says why, and is empty while no request has ended.
func (p *Plan) measure(want Objective) (measured []*objective, reason string) {
	in, one := p.measures(want)
	for _, id := range p.ids(in) {
		for _, at := range p.fronts(id) {
			o, why := one(id, at)
			if o != nil {
				o.name = want.Name
				measured = append(measured, o)
			} else if reason == "" {
				reason = why
			}
		}
	}
	if len(measured) > 0 || reason != "" || p.quirks.CountersAppear && !ended().met(p.has) {
		return measured, reason
	}
	return nil, "the page has nothing that says how long it took or how it ended"
}

// measures are what an objective needs, and how it counts the requests of a
// front.
func (p *Plan) measures(want Objective) (inputs, func(id string, at front) (*objective, string)) {
	if want.Name == Availability {
		return ended(), p.available
	}
	h := objectiveHistograms()[want.Name]
	return h.inputs, func(id string, at front) (*objective, string) {
		return p.within(h, id, at, want.Within.Seconds())
	}
}

// within counts the requests of a front that took at most so many seconds.
func (p *Plan) within(h histograms, id string, at front, seconds float64) (*objective, string) {
	groups := h.of(p, id, at)
	if len(groups) == 0 {
		return nil, ""
	}
	if len(groups) > 1 {
		return nil, "several histograms say how long it took"
	}
	g := groups[0]
	name, _, _ := strings.Cut(g.meaning.Name, "_bucket")
	switch {
	case g.meaning.Form != engine.Histogram || len(g.buckets) < 2 || !g.complete():
		return nil, name + " has no buckets"
	case p.falsified(g):
		return nil, name + " may end when a request is handed over, long before its last token"
	}
	last := len(g.buckets) - 1
	up := slices.IndexFunc(g.buckets, func(b point) bool { return atLeast(b.at/math.Pow10(g.meaning.Shift), seconds) })
	if up == last {
		return nil, fmt.Sprintf("the largest bucket of %s ends at %s: slower requests are not told apart", name, secondsOf(g, last-1))
	}
	count := func(i int) Eval { return combine(p.columnsOf(g.buckets[i].members), engine.Sum) }
	all := count(last)
	o := &objective{labels: p.forGroups(groups, id, at), gate: p.gateOf(g), least: beyond(all, count(up))}
	o.all = pairwise(all, o.least, func(n, _ float64) float64 { return n })
	o.most, o.reason = o.least, fmt.Sprintf("a bucket of %s ends at the target", name)
	if between := !atLeast(seconds, g.buckets[up].at/math.Pow10(g.meaning.Shift)); between {
		below := "0 s"
		o.most = o.all
		if up > 0 {
			below, o.most = secondsOf(g, up-1), beyond(all, count(up-1))
		}
		o.reason = fmt.Sprintf("between the buckets of %s that end at %s and %s: bad requests are counted as two bounds", name, below, secondsOf(g, up))
	}
	return o, ""
}

// atLeast says whether a bound is not below a time, but for what a change of
// units costs.
func atLeast(bound, seconds float64) bool { return bound >= seconds*(1-1e-9) }

// secondsOf is the bound of a bucket for people.
func secondsOf(g *group, i int) string {
	return strconv.FormatFloat(g.buckets[i].at/math.Pow10(g.meaning.Shift), 'g', 6, 64) + " s"
}

// beyond is how many of all are not in a bucket; no value where there would be
// less than none.
func beyond(all, in Eval) Eval {
	return func(w *Window) (float64, bool) {
		n, known := all(w)
		m, also := in(w)
		return n - m, known && also && n >= m
	}
}

// available counts the requests of a front that did not fail by the server's
// fault.
func (p *Plan) available(id string, at front) (*objective, string) {
	o := p.outcome(id, at)
	switch {
	case o == nil:
		return nil, ""
	case !o.known:
		return nil, "the server does not count all failures, or that is not known"
	case !slices.Contains(p.classes(o), engine.ClassServer):
		return nil, "the server does not count the requests that fail by its own fault"
	case o.of(engine.ClassServer).partial:
		return nil, "the server counts only some of the requests that fail by its own fault"
	}
	return &objective{
		labels: p.forFront(id, at), gate: p.held(id, without(checkFrozen), without(checkSurvived)),
		all:   func(w *Window) (float64, bool) { return o.soFar(w, classOrder...) },
		least: func(w *Window) (float64, bool) { return o.soFar(w, engine.ClassServer) },
		most: func(w *Window) (float64, bool) {
			least, ok := o.soFar(w, engine.ClassServer)
			twice, also := w.totals(o.classes[engine.ClassServer].twice)
			return least + twice/2, ok && also
		},
		reason: "requests are counted by how they ended",
	}, ""
}

// soFar is how many requests of some classes ended since the server started: of
// those that an ensemble counts twice the half, which is the least.
func (o *outcome) soFar(w *Window, classes ...engine.Class) (float64, bool) {
	sum := 0.0
	for _, class := range classes {
		c := o.classes[class]
		if c == nil {
			continue
		}
		counted, ok := c.soFar(w)
		if !ok {
			return 0, false
		}
		twice, _ := w.totals(c.twice)
		sum += counted - twice/2
	}
	return sum, true
}

// totals are the newest values of columns together, all of which must be there.
func (w *Window) totals(columns []int) (float64, bool) {
	sum := sumOf(w.current, columns)
	return sum, !math.IsNaN(sum)
}
