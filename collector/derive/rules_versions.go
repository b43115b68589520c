package derive

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// pair is two versions of one model that clients can call side by side.
type pair struct{ newer, older modelVersion }

// compare orders versions, which are directory names in Triton: numbers first, by value.
func (mv modelVersion) compare(other modelVersion) int {
	number := func(version string) uint64 {
		if n, err := strconv.ParseUint(version, 10, 64); err == nil {
			return n
		}
		return math.MaxUint64
	}
	return cmp.Or(strings.Compare(mv.model, other.model), cmp.Compare(number(mv.version), number(other.version)), strings.Compare(mv.version, other.version))
}

// intervalEval computes by how much one version exceeds another.
type intervalEval func(w *Window) (interval, bool)

// comparison compares versions by a measure of which less is better.
type comparison struct {
	by     string
	inputs inputs
	// compare returns the difference of a pair with its gate, nil if unknown.
	compare func(p *Plan, id string, versions pair) (intervalEval, Gate)
}

func comparisons() []comparison {
	return []comparison{compareDurations(), compareErrors(), compareFirstTokens()}
}

func compareErrors() comparison {
	return comparison{"errors", allOf(engine.ModelSuccess, engine.ModelFailed), func(p *Plan, id string, versions pair) (intervalEval, Gate) {
		a, b := p.outcome(id, versions.newer), p.outcome(id, versions.older)
		if a == nil || b == nil || !a.complete || !b.complete {
			return nil, nil
		}
		return func(w *Window) (interval, bool) {
			newer, okNewer := a.ended(w)
			older, okOlder := b.ended(w)
			if !okNewer || !okOlder || newer.total <= 0 || older.total <= 0 {
				return interval{}, false
			}
			return sharesDiffer(a.since(w, newer.row, engine.ClassServer), newer.total, b.since(w, older.row, engine.ClassServer), older.total), true
		}, p.gate(id, checkFrozen)
	}}
}

// compareDurations compares the mean times of requests that succeeded.
func compareDurations() comparison {
	return comparison{"duration", allOf(engine.ModelSuccess, engine.ModelRequestSeconds), func(p *Plan, id string, versions pair) (intervalEval, Gate) {
		if !p.trusted(versions.newer.model) {
			return nil, nil
		}
		gate := every(p.gate(id, checkFrozen), p.gate(versions.newer.model, checkDurations))
		return means(versions, func(mv modelVersion) (sums, counts []int) {
			return p.groupColumns(p.versionGroups(engine.ModelRequestSeconds, id, mv)), p.groupColumns(p.versionGroups(engine.ModelSuccess, id, mv))
		}), gate
	}}
}

func compareFirstTokens() comparison {
	return comparison{"first_token", allOf(engine.ModelFirstResponse), func(p *Plan, id string, versions pair) (intervalEval, Gate) {
		return means(versions, func(mv modelVersion) (sums, counts []int) {
			return p.observations(filter(firstTokens().groups(p, id, mv), func(g *group) bool { return g.meaning.Scope() == engine.OfModel }))
		}), nil
	}}
}

// means returns the difference of two means; columns returns the columns of their sums and counts.
func means(versions pair, columns func(mv modelVersion) (sums, counts []int)) intervalEval {
	sumA, countA := columns(versions.newer)
	sumB, countB := columns(versions.older)
	if len(sumA) == 0 || len(countA) == 0 || len(sumB) == 0 || len(countB) == 0 {
		return nil
	}
	return func(w *Window) (interval, bool) {
		a, okA := w.sampled(sumA, countA)
		b, okB := w.sampled(sumB, countB)
		return meansDiffer(a, b), okA && okB
	}
}

// compared returns a rule that calls add for each pair of consecutive versions of an entry model.
func compared(in inputs, add func(p *Plan, f *Family, id string, versions pair, lset labels.Labels)) Rule {
	return Rule{inputs: in, scope: OfModel, labels: []string{"version", "than"}, why: whyPages, compile: func(p *Plan, f *Family) {
		for _, id := range p.ids(in) {
			versions := p.modelVersions(id)
			for i, newer := range versions[1:] {
				if older := versions[i]; older.model == newer.model {
					add(p, f, id, pair{newer, older}, p.forModelVersion(id, newer, "than", older.version))
				}
			}
		}
	}}
}

// bounds exposes the interval of the difference for each pair of versions.
func bounds(c comparison) Rule {
	return compared(c.inputs, func(p *Plan, f *Family, id string, versions pair, lset labels.Labels) {
		d, gate := c.compare(p, id, versions)
		if d == nil {
			return
		}
		d = oncePerPage(p, d)
		for _, bound := range []string{"lower", "upper"} {
			p.emit(f, withLabels(lset, "bound", bound), gate, func(w *Window) (float64, bool) {
				v, ok := d(w)
				if bound == "lower" {
					return v.lower, ok
				}
				return v.upper, ok
			})
		}
	}).by("bound")
}

// worse exposes by which measures the newer of two versions is certainly worse.
func worse() Rule {
	var in inputs
	for _, c := range comparisons() {
		in = in.or(c.inputs)
	}
	return compared(in, func(p *Plan, f *Family, id string, versions pair, lset labels.Labels) {
		for _, c := range comparisons() {
			if d, gate := c.compare(p, id, versions); d != nil {
				p.emit(f, withLabels(lset, "by", c.by), gate, func(w *Window) (float64, bool) {
					v, ok := d(w)
					return flag(v.lower > 0), ok
				})
			}
		}
	}).by("by")
}

// tokensByVersion counts tokens by model and version, if the server distinguishes them.
func tokensByVersion(signal engine.Signal) Rule {
	return Rule{inputs: allOf(signal, engine.ModelSuccess), scope: OfModel, labels: []string{"version"}, why: whyShown, compile: func(p *Plan, f *Family) {
		for _, g := range p.groups[signal] {
			members := make(map[modelVersion][]int)
			for _, m := range g.members {
				members[p.versionOf(m)] = append(members[p.versionOf(m)], m)
			}
			for _, mv := range slices.SortedFunc(maps.Keys(members), modelVersion.compare) {
				if mv.version != "" {
					p.emit(f, p.forModelVersion(g.id, mv), p.gateOf(g), combine(p.columnsOf(members[mv]), engine.Sum))
				}
			}
		}
	}}
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
		freedom := variance * variance / (a.variance*a.variance/float64(a.batches-1) + b.variance*b.variance/float64(b.batches-1))
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
func (w *Window) sampled(sumColumns, countColumns []int) (sample, bool) {
	row, _, ok := w.stretch(slices.Concat(sumColumns, countColumns))
	if !ok {
		return sample{}, false
	}
	rows := w.rows[row:]
	grown := func(i int, columns []int) float64 { return max(sumOf(rows[i], columns)-sumOf(rows[i-1], columns), 0) }
	var sum, count float64
	for i := 1; i < len(rows); i++ {
		sum, count = sum+grown(i, sumColumns), count+grown(i, countColumns)
	}
	s := sample{mean: sum / count}
	for i := 1; i < len(rows); i++ {
		if n := grown(i, countColumns); n > 0 {
			off := grown(i, sumColumns)/n - s.mean
			s.variance += n * off * off
			s.batches++
		}
	}
	s.variance /= float64(s.batches-1) * count
	return s, s.batches >= minBatches
}
