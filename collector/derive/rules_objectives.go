package derive

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// objective counts the requests of one version for an objective. Its counters depend only
// on the server's counters and grow as these do, so that a restart of the exporter loses only the
// maximum of a [netCounter] or [onceCounter].
type objective struct {
	name    ObjectiveName
	subject *Model
	// group is the histogram of an objective about time: requests in bucket at are good, those in no
	// bucket below it, which is -1 if no bucket ends there, may be bad. Both are equal if a bucket
	// ends at the target.
	group     *group
	at, below int
	// failed counts requests that the group observes, too, although they did not end well.
	failed []int
	// version is what availability is about.
	version *Model
	reason  string
}

func objectiveHistograms() map[ObjectiveName]histograms {
	return map[ObjectiveName]histograms{
		TTFT: firstTokens(), E2E: wholeRequests(),
		TPOT: observed(engine.OutputToken), ITL: observed(engine.InterToken),
	}
}

func objectiveRequestsRule() Rule { return ofObjectives(objectiveRequests) }

// objectiveRequests counts the requests of objectives.
func objectiveRequests(v *View, out *Out) {
	for _, o := range v.index.objectives {
		n := v.counted(o)
		out.Set(o.subject, n.all, n.okAll && v.trustsObjective(o), "slo", string(o.name))
	}
}

func objectiveBadRule() Rule { return ofObjectives(objectiveBad).by("bound") }

// objectiveBad counts the requests that missed the objective, with two bounds.
func objectiveBad(v *View, out *Out) {
	for _, o := range v.index.objectives {
		n, trusted := v.counted(o), v.trustsObjective(o)
		out.Set(o.subject, n.lower, n.okLower && trusted, "slo", string(o.name), "bound", "lower")
		out.Set(o.subject, n.upper, n.okUpper && trusted, "slo", string(o.name), "bound", "upper")
	}
}

func ofObjectives(set func(v *View, out *Out)) Rule {
	needs := failuresCounted()
	for _, name := range []ObjectiveName{TTFT, TPOT, ITL, E2E} {
		needs = needs.or(objectiveHistograms()[name].needs)
	}
	rule := Rule{needs: needs, scope: OfEntry, why: whyByKind, page: set}
	return rule.by("model", "slo", "version").reads(outcomeSignals()...)
}

// objectiveCounts holds the requests of an objective; lower and upper are bounds of the bad ones.
type objectiveCounts struct {
	all, lower, upper       float64
	okAll, okLower, okUpper bool
}

// counted counts the requests of an objective so far.
func (v *View) counted(o *objective) (n objectiveCounts) {
	if o.group == nil {
		return v.availability(v.outcome(o.version))
	}
	last := len(o.group.buckets) - 1
	all, okAll := v.bucket(o, last)
	at, okAt := v.bucket(o, o.at)
	n.lower, n.okLower = beyond(all, okAll, at, okAt)
	n.all, n.okAll = all, okAll && n.okLower
	switch o.below {
	case o.at:
		n.upper, n.okUpper = n.lower, n.okLower
	case -1:
		n.upper, n.okUpper = n.all, n.okAll
	default:
		below, okBelow := v.bucket(o, o.below)
		n.upper, n.okUpper = beyond(all, okAll, below, okBelow)
	}
	if len(o.failed) > 0 {
		n.upper = min(n.upper+sumOf(v.window.current, o.failed), n.all)
		n.okUpper = n.okUpper && !math.IsNaN(n.upper)
	}
	return n
}

func (v *View) bucket(o *objective, i int) (float64, bool) {
	return v.combined(&o.group.buckets[i].numbers, engine.Sum)
}

// beyond returns how many of all are not in a bucket. It has no value if that is negative.
func beyond(all float64, okAll bool, in float64, okIn bool) (float64, bool) {
	return all - in, okAll && okIn && all >= in
}

// availability counts the requests so far, and those that failed by the server's fault. Of failures that an
// ensemble may count twice all may be single ones, and those of unknown class may be the server's.
func (v *View) availability(o *outcome) (n objectiveCounts) {
	n.all, n.okAll = o.soFar(v.window, classOrder...)
	n.lower, n.okLower = o.soFar(v.window, engine.ClassServer)
	n.upper, n.okUpper = n.lower, n.okLower
	if o.doubled != nil {
		n.upper += o.doubled.spare(v.window.current)
	}
	return n
}

func (v *View) trustsObjective(o *objective) bool {
	if o.group == nil {
		return v.Trust(o.version, frozenCounters, survivedFailures)
	}
	return v.trusts(o.group)
}

// addObjectives finds out which objectives can be measured, without those of which it is not known
// yet.
func (ix *index) addObjectives() {
	for _, want := range ix.wanted {
		objectives, reason := ix.measure(want)
		ix.objectives = append(ix.objectives, objectives...)
		if len(objectives) > 0 {
			reason = objectives[0].reason
		}
		if reason != "" {
			ix.measured = append(ix.measured, target.Check{
				Name:   string(want.Name),
				OK:     len(objectives) > 0,
				Reason: reason,
			})
		}
	}
}

// measure returns how the requests of each version are counted for an objective. If none can be, it
// returns the reason, which is empty while no request has ended.
func (ix *index) measure(want Objective) (objectives []*objective, reason string) {
	needs := ended()
	if want.Name != Availability {
		needs = objectiveHistograms()[want.Name].needs
	}
	for _, m := range ix.having(needs) {
		for _, version := range m.versions {
			o, missing := ix.measureVersion(want, version)
			if o != nil {
				o.name = want.Name
				objectives = append(objectives, o)
			} else if reason == "" {
				reason = missing
			}
		}
	}
	if len(objectives) > 0 || reason != "" || ix.quirks.CountersAppear && !ended().met(ix.replica.has) {
		return objectives, reason
	}
	return nil, "the page shows neither how long requests took nor how they ended"
}

func (ix *index) measureVersion(want Objective, version *Model) (o *objective, missing string) {
	if want.Name == Availability {
		return ix.available(version)
	}
	s := objectiveHistograms()[want.Name].of(ix.building.view, version)
	return within(s, version, want.Within.Seconds())
}

// within counts the requests that took at most the given seconds.
func within(s *shown, version *Model, seconds float64) (*objective, string) {
	if s == nil || len(s.groups) == 0 {
		return nil, ""
	}
	if len(s.groups) > 1 {
		return nil, "several histograms measure it"
	}
	g := s.groups[0]
	name, _, _ := strings.Cut(g.source, "_bucket")
	switch {
	case g.form != engine.Histogram || len(g.buckets) < 2 || !g.complete():
		return nil, name + " has no buckets"
	case g.endsEarly:
		return nil, name + " may end when a request is handed over, long before its last token"
	}
	last := len(g.buckets) - 1
	at := slices.IndexFunc(g.buckets, func(b point) bool { return atLeast(b.bound, seconds) })
	if at == last {
		return nil, fmt.Sprintf("the largest bucket of %s ends at %s: slower requests cannot be told apart",
			name, secondsOf(g, last-1))
	}
	o := &objective{
		subject: s.subject(version),
		group:   g,
		at:      at,
		below:   at,
		reason:  fmt.Sprintf("a bucket of %s ends at the target", name),
		failed:  version.failed(g.fail),
	}
	if between := !atLeast(seconds, g.buckets[at].bound); between {
		below := "0 s"
		if o.below = at - 1; at > 0 {
			below = secondsOf(g, at-1)
		}
		o.reason = fmt.Sprintf(
			"the target lies between the buckets of %s that end at %s and %s: bad requests are counted as two bounds",
			name, below, secondsOf(g, at))
	}
	return o, ""
}

// failed returns what counts the requests to a version that ended with one of the classes.
func (m *Model) failed(classes []engine.Class) (columns []int) {
	if m.outcome == nil {
		return nil
	}
	for _, class := range classes {
		columns = append(columns, m.outcome.tally(class).columns...)
	}
	return columns
}

// atLeast reports whether a bound is not below a time, up to rounding.
func atLeast(bound, seconds float64) bool { return bound >= seconds*(1-1e-9) }

func secondsOf(g *group, i int) string {
	return strconv.FormatFloat(g.buckets[i].bound, 'g', 6, 64) + " s"
}

// available counts the requests, and the requests that failed by the server's fault.
func (ix *index) available(version *Model) (*objective, string) {
	o := version.outcome
	if o == nil {
		return nil, ""
	}
	switch {
	case !o.complete:
		return nil, "the server does not count all failures, or it is unknown whether it does"
	case !slices.Contains(ix.classes(o), engine.ClassServer):
		return nil, "the server does not count the requests that fail by its fault"
	case o.tally(engine.ClassServer).partial:
		return nil, "the server counts only some of the requests that fail by its fault"
	}
	return &objective{subject: version, version: version, reason: "requests are counted by how they ended"}, ""
}

// soFar returns how many requests ended since the server started.
func (o *outcome) soFar(w *Window, classes ...engine.Class) (float64, bool) {
	sum := 0.0
	for _, class := range classes {
		sum += sumOf(w.current, o.tally(class).columns)
	}
	return sum, !math.IsNaN(sum)
}
