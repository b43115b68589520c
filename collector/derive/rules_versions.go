package derive

import (
	"maps"
	"math"
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// comparison compares two versions of one model that clients can call side by side by a measure of
// which less is better.
type comparison struct {
	by    string
	needs inputs
	also  []engine.Signal
	// compare returns by how much the newer version exceeds the older one. Whether there is a
	// difference to show depends on the shape alone.
	compare func(v *View, newer, older *Model) (difference interval, shown, ok bool)
}

func comparisons() []comparison {
	return []comparison{durationComparison(), errorComparison(), firstTokenComparison()}
}

func errorComparison() comparison {
	return comparison{
		by:      "errors",
		needs:   allOf(engine.ModelSuccess, engine.ModelFailed),
		also:    outcomeSignals(),
		compare: compareErrors,
	}
}

func compareErrors(v *View, newer, older *Model) (difference interval, shown, ok bool) {
	a, b := v.outcome(newer), v.outcome(older)
	if a == nil || b == nil || !a.complete || !b.complete {
		return interval{}, false, false
	}
	ofNewer, okNewer := v.endedOf(a)
	ofOlder, okOlder := v.endedOf(b)
	if !okNewer || !okOlder || ofNewer.total <= 0 || ofOlder.total <= 0 || !v.Trust(newer, frozenCounters) {
		return interval{}, true, false
	}
	failedNewer := a.since(v.window, ofNewer.row, engine.ClassServer)
	failedOlder := b.since(v.window, ofOlder.row, engine.ClassServer)
	return sharesDiffer(failedNewer, ofNewer.total, failedOlder, ofOlder.total), true, true
}

func durationComparison() comparison {
	return comparison{
		by:      "duration",
		needs:   allOf(engine.ModelSuccess, engine.ModelRequestSeconds),
		compare: compareDurations,
	}
}

// compareDurations compares the mean times of requests that succeeded.
func compareDurations(v *View, newer, older *Model) (difference interval, shown, ok bool) {
	times := func(version *Model) observations {
		return observations{v.counters(version, engine.ModelRequestSeconds), v.counters(version, engine.ModelSuccess)}
	}
	if !v.index.countsWhole(newer.name) {
		return interval{}, false, false
	}
	difference, shown, ok = v.compareMeans(times(newer), times(older))
	return difference, shown, ok && v.Trust(newer, frozenCounters, decoupledDurations)
}

func firstTokenComparison() comparison {
	return comparison{
		by:      "first_token",
		needs:   allOf(engine.ModelFirstResponse),
		also:    []engine.Signal{engine.FirstToken},
		compare: compareFirstTokens,
	}
}

// compareFirstTokens compares the times to the first token, unless the page has those of all versions
// together.
func compareFirstTokens(v *View, newer, older *Model) (difference interval, shown, ok bool) {
	times := func(version *Model) observations {
		if s := v.firstTokens(version); s != nil && s.groups[0].ofModel {
			return v.observations(s)
		}
		return observations{}
	}
	difference, shown, ok = v.compareMeans(times(newer), times(older))
	well := v.ofSuccesses(v.firstTokens(newer)) && v.ofSuccesses(v.firstTokens(older))
	return difference, shown, ok && well
}

func (v *View) compareMeans(newer, older observations) (difference interval, shown, ok bool) {
	if !newer.haveMean() || !older.haveMean() {
		return interval{}, false, false
	}
	a, okA := v.window.sampled(newer)
	b, okB := v.window.sampled(older)
	return meansDiffer(a, b), true, okA && okB
}

// sideBySide returns a rule that is run for each pair of consecutive versions of an entry model.
func sideBySide(needs inputs, set func(v *View, newer, older *Model, out *Out)) Rule {
	return Rule{
		needs:  needs,
		scope:  OfModel,
		labels: []string{"version", "than"},
		why:    whyPages,
		model: func(v *View, m *Model, out *Out) {
			for i, newer := range m.versions[1:] {
				if older := m.versions[i]; older.name == newer.name {
					set(v, newer, older, out)
				}
			}
		},
	}
}

// bounds exposes the interval of the difference for each pair of versions.
func bounds(c comparison) Rule {
	return sideBySide(c.needs, func(v *View, newer, older *Model, out *Out) {
		if difference, shown, ok := c.compare(v, newer, older); shown {
			out.Set(newer, difference.lower, ok, "than", older.version, "bound", "lower")
			out.Set(newer, difference.upper, ok, "than", older.version, "bound", "upper")
		}
	}).by("bound").reads(c.also...)
}

// worse exposes by which measures the newer of two versions is certainly worse.
func worse() Rule {
	var needs inputs
	var also []engine.Signal
	all := comparisons()
	for _, c := range all {
		needs, also = needs.or(c.needs), append(also, c.also...)
	}
	return sideBySide(needs, func(v *View, newer, older *Model, out *Out) {
		for _, c := range all {
			if difference, shown, ok := c.compare(v, newer, older); shown {
				out.Set(newer, flag(difference.lower > 0), ok, "than", older.version, "by", c.by)
			}
		}
	}).by("by").reads(also...)
}

// tokensByVersion counts tokens by model and version, if the server distinguishes them.
func tokensByVersion(signal engine.Signal) Rule {
	return Rule{
		needs:  allOf(signal, engine.ModelSuccess),
		scope:  OfModel,
		labels: []string{"version"},
		why:    whyShown,
		page: func(v *View, out *Out) {
			for _, g := range v.shown(v.index.replica, signal).groups {
				for i := range v.index.byVersion(g) {
					part := &g.byVersion[i]
					n, ok := v.combined(&part.numbers, engine.Sum)
					ok = v.trusts(g) && ok
					out.SetLabels(part.labels, n, ok)
				}
			}
		},
	}
}

// ofVersion is what a group counts of one version.
type ofVersion struct {
	numbers

	labels labels.Labels
}

// byVersion returns the numbers of a group by model and version, in order.
func (ix *index) byVersion(g *group) []ofVersion {
	if ix.building == nil || g.byVersion != nil {
		return g.byVersion
	}
	sources := make(map[instance][]int)
	for _, i := range g.value.sources {
		s := &ix.building.sources[i]
		key := instance{g.model.id, s.name, s.version}
		sources[key] = append(sources[key], i)
	}
	for _, key := range slices.SortedFunc(maps.Keys(sources), instance.compare) {
		if key.version != "" {
			lset := g.model.labels
			if key.name != "" {
				lset = withLabels(lset, "model", key.name, "version", key.version)
			}
			g.byVersion = append(g.byVersion, ofVersion{numbers{sources: sources[key]}, lset})
		}
	}
	return g.byVersion
}

// interval is a 95 % confidence interval.
type interval struct{ lower, upper float64 }

// confidence is the quantile of the normal distribution for the middle 95 %.
const confidence = 1.959964

// wilson returns Wilson's score interval for x of n cases, which is valid for few cases too.
func wilson(x, n float64) interval {
	const z2 = confidence * confidence
	middle, half := (x+z2/2)/(n+z2), confidence/(n+z2)*math.Sqrt(x*(n-x)/n+z2/4)
	return interval{max(middle-half, 0), min(middle+half, 1)}
}

// sharesDiffer returns the interval of the first share minus the second (Newcombe, Statistics in
// Medicine 17, 1998, method 10).
func sharesDiffer(x1, n1, x2, n2 float64) interval {
	a, b, p1, p2 := wilson(x1, n1), wilson(x2, n2), x1/n1, x2/n2
	return interval{
		p1 - p2 - math.Hypot(p1-a.lower, b.upper-p2),
		p1 - p2 + math.Hypot(a.upper-p1, p2-b.lower),
	}
}

// sample is a mean with the square of its standard error, estimated from batches.
type sample struct {
	mean, variance float64
	batches        int
}

// minBatches is how many batches are needed to estimate a variance.
const minBatches = 5

// meansDiffer returns Welch's interval of the first mean minus the second. It assumes that the
// batches are independent of each other.
func meansDiffer(a, b sample) interval {
	variance := a.variance + b.variance
	half := 0.0
	if variance > 0 {
		squares := a.variance*a.variance/float64(a.batches-1) + b.variance*b.variance/float64(b.batches-1)
		freedom := variance * variance / squares
		half = student(freedom) * math.Sqrt(variance)
	}
	return interval{a.mean - b.mean - half, a.mean - b.mean + half}
}

// student returns the quantile of Student's distribution for the middle 95 % by the
// Cornish-Fisher expansion, which is within 0.3 % from four degrees of freedom on.
func student(freedom float64) float64 {
	const z = confidence
	const z3, z5, z7 = z * z * z, z * z * z * z * z, z * z * z * z * z * z * z
	f := 1 / freedom
	return z + (z3+z)/4*f + (5*z5+16*z3+3*z)/96*f*f + (3*z7+19*z5+17*z3-15*z)/384*f*f*f
}

// sampled returns the increase of sums per increase of counts, false if there are too few pages.
// The error is estimated from the means between pages, weighted by their counts.
func (w *Window) sampled(o observations) (sample, bool) {
	row, _, ok := w.stretch(o.sums, o.counts)
	if !ok {
		return sample{}, false
	}
	rows := w.rows[row:]
	grown := func(i int, columns []int) float64 { return max(sumOf(rows[i], columns)-sumOf(rows[i-1], columns), 0) }
	var sum, count float64
	for i := 1; i < len(rows); i++ {
		sum, count = sum+grown(i, o.sums), count+grown(i, o.counts)
	}
	s := sample{mean: sum / count}
	for i := 1; i < len(rows); i++ {
		if n := grown(i, o.counts); n > 0 {
			off := grown(i, o.sums)/n - s.mean
			s.variance += n * off * off
			s.batches++
		}
	}
	s.variance /= float64(s.batches-1) * count
	return s, s.batches >= minBatches
}
