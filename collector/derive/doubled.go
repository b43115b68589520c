package derive

import (
	"math"
	"slices"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// doubledReason is the reason of failures that an ensemble counts twice.
const doubledReason = "other"

// doubledFailures are the failures of an ensemble since 24.07. It counts each of them when it answers and again when
// it releases the request, always for the same reason, whatever the step failed for (core
// src/ensemble_scheduler/ensemble_scheduler.cc, FinishEnsemble). The step counts in between, for its own reason
// (src/infer_request.cc, RespondIfError), so a failure has the class of the step's. What no step counts, as an
// overflow of its queue, has the class that the ensemble shows.
type doubledFailures struct {
	// column is not on any page: how many requests are counted, see [once].
	column int
	// double holds the counters of the ensemble, succeeded those of its successes, steps those of all failures of
	// its parts, refused those of other classes among them, and otherEntries the failures of other entry models.
	double, succeeded, steps, refused, otherEntries []int
	refusing                                        []refusingStep
	// shares holds how many requests are of each class. The last two are of unknown class and of that of the
	// ensemble's counters.
	shares []*onceCounter
	// parts holds the columns which fall only if the process ends.
	parts []int
}

// onceCounter is a column that is not on any page: how many doubled failures are of one class.
type onceCounter struct {
	column int
	class  engine.Class
	reason string
}

// refusingStep is a part of an ensemble that counts failures of other classes: by share, and all of its requests.
type refusingStep struct {
	ended   []int
	refused [][]int
}

// addDoubled adds the failures that an ensemble counts twice.
func (ix *index) addDoubled(version *Model, o *outcome) {
	for _, class := range classOrder {
		if t := o.tally(class); len(t.double) > 0 {
			o.doubled = &doubledFailures{double: t.double}
			o.addSteps(ix, version)
			ix.addShares(version, o, class)
			return // All are of one reason.
		}
	}
}

// addSteps adds the counters that tell what the doubled ones count.
func (o *outcome) addSteps(ix *index, version *Model) {
	n := o.doubled
	for _, g := range version.of.groups(engine.ModelFailed) {
		switch columns := ix.columnsOf(&g.value); {
		case g.role == engine.RolePart && g.doubles: // Its steps are parts as well.
		case g.role == engine.RolePart:
			n.steps = append(n.steps, columns...)
		case g.role.Front() && (g.name != version.name || g.version != version.version):
			n.otherEntries = append(n.otherEntries, columns...)
		}
	}
	n.succeeded = ix.allColumns(version.groups(engine.ModelSuccess))
	n.parts = slices.Concat(n.double, n.steps, n.otherEntries)
	o.all = slices.Concat(o.all, n.steps, n.otherEntries)
}

// addShares adds the columns of the classes that failures of an ensemble may have, which it counts as of one class.
func (ix *index) addShares(version *Model, o *outcome, counted engine.Class) {
	n := o.doubled
	of := []string{"once", version.id, version.name, version.version}
	n.column = ix.addReplaced(n.double[0], append(of, string(counted))...)
	refusing := filter(version.of.groups(engine.ModelFailed), func(g *group) bool {
		return g.role == engine.RolePart && g.class != counted
	})
	slices.SortStableFunc(refusing, func(a, b *group) int { return strings.Compare(string(a.class), string(b.class)) })
	for _, g := range refusing {
		n.addShare(g.class, g.labels.Get("reason"))
	}
	if len(n.shares) > 0 {
		n.addShare(engine.ClassUnknown, doubledReason)
	}
	n.addShare(counted, doubledReason)
	for _, share := range n.shares {
		share.column = n.column
		if len(n.shares) > 1 {
			share.column = ix.addReplaced(n.double[0], append(of, "share", string(share.class))...)
		}
		if o.classes[share.class] == nil {
			o.classes[share.class] = &tally{partial: true}
		}
		o.classes[share.class].once = share
		if share.class == engine.ClassUnknown {
			o.unclear = append(o.unclear, share.column)
		}
	}
	for _, g := range refusing {
		n.refused = append(n.refused, ix.columnsOf(&g.value)...)
		n.addRefusals(ix, g)
	}
	ix.once = append(ix.once, n)
}

func (n *doubledFailures) addShare(class engine.Class, reason string) {
	if !slices.ContainsFunc(n.shares, func(s *onceCounter) bool { return s.class == class }) {
		n.shares = append(n.shares, &onceCounter{class: class, reason: reason})
	}
}

// addRefusals adds the failures of a step of one class. A group of a part is of one version of it.
func (n *doubledFailures) addRefusals(ix *index, g *group) {
	step := refusingStep{refused: make([][]int, len(n.shares))}
	share := slices.IndexFunc(n.shares, func(s *onceCounter) bool { return s.class == g.class })
	step.refused[share] = ix.columnsOf(&g.value)
	step.ended = ix.allColumns(g.instance.all(engine.ModelSuccess, engine.ModelFailed))
	for i := range n.refusing {
		if slices.Equal(n.refusing[i].ended, step.ended) {
			n.refusing[i].refused[share] = append(n.refusing[i].refused[share], step.refused[share]...)
			return
		}
	}
	n.refusing = append(n.refusing, step)
}

// setOnce sets the columns of doubled counters in the row of the next page. What a failure of a step adds may turn
// out to be another entry's, but what was exposed once is not taken back before the counters are reset.
func (w *Window) setOnce(all []*doubledFailures, row []float64) {
	for _, n := range all {
		// Half a request is one whose second count is yet to come.
		row[n.column] = math.Ceil(once(sumOf(row, n.double), sumOf(row, n.steps), sumOf(row, n.otherEntries)))
		fell := func(c int) bool { return row[c] < w.current[c] }
		goesOn := !slices.ContainsFunc(n.parts, fell)
		if goesOn {
			row[n.column] = larger(w.current[n.column], row[n.column])
		}
		if len(n.shares) > 1 {
			n.share(w.current, row)
			if goesOn {
				n.keepShares(w.current, row)
			}
		}
	}
}

// share sets how many failures are of each class. The requests of a step that are not the ensemble's may be those
// that it refused, and so may as many of all failures of the steps as the ensemble did not count. As the step ends a
// moment before the ensemble, only what both had ended by the previous page counts.
func (n *doubledFailures) share(previous, row []float64) {
	failed := row[n.column]
	left := min(failed, sumOf(row, n.refused))
	unknown, rest := n.shares[len(n.shares)-2], n.shares[len(n.shares)-1]
	row[rest.column] = failed - left
	beyond := earlier(previous, row, n.steps) - failed
	for i, share := range n.shares[:len(n.shares)-2] {
		known := 0.0
		for _, step := range n.refusing {
			others := earlier(previous, row, step.ended) - sumOf(row, n.succeeded) - failed
			known += max(sumOf(row, step.refused[i])-max(others, beyond, 0), 0)
		}
		row[share.column] = min(known, left)
		left -= row[share.column]
	}
	row[unknown.column] = left
}

// earlier returns what counters showed on the previous page, or what they show now if that is less, since it is of
// another process or not known.
func earlier(previous, row []float64, columns []int) float64 {
	now := sumOf(row, columns)
	if before := sumOf(previous, columns); before < now {
		return before
	}
	return now
}

// keepShares takes nothing back from any class: what is new is of those that lack most of what they should have.
func (n *doubledFailures) keepShares(previous, row []float64) {
	if math.IsNaN(previous[n.column]) || math.IsNaN(previous[n.shares[0].column]) {
		return
	}
	fresh := row[n.column] - previous[n.column]
	for _, share := range n.shares {
		before := previous[share.column]
		more := min(max(row[share.column]-before, 0), fresh)
		row[share.column] = before + more
		fresh -= more
	}
}

// once returns how many requests a doubled counter counts. A failure while other steps still run may count once, so
// the failures of the steps, minus those of other entry models, are the minimum.
func once(double, steps, otherEntries float64) float64 {
	return min(max(double/2, steps-otherEntries), double)
}

// since returns how many requests of a share ended since a row. Where the ensemble's counters and shares differ, as
// at the edges of the time, the last share has the difference.
func (n *doubledFailures) since(w *Window, row int, of *onceCounter) float64 {
	left := once(w.increaseFrom(row, n.double), w.increaseFrom(row, n.steps), w.increaseFrom(row, n.otherEntries))
	for _, share := range n.shares {
		counted := left
		if share != n.shares[len(n.shares)-1] {
			counted = min(w.increaseOf(row, share.column), left)
		}
		if share == of {
			return counted
		}
		left -= counted
	}
	return 0
}

// increaseOf returns the increase of a computed column since a row, before whose first value it counted nothing.
func (w *Window) increaseOf(row, column int) float64 {
	before := w.rows[row][column]
	if math.IsNaN(before) {
		before = 0
	}
	return max(w.current[column]-before, 0)
}

// spare returns how many more requests may be of the class that the ensemble counts: of those that are taken for
// counted twice all may be counted once, and some are of unknown class.
func (n *doubledFailures) spare(row []float64) float64 {
	spare := sumOf(row, n.double) - row[n.column]
	if last := len(n.shares) - 2; last >= 0 {
		spare += row[n.shares[last].column]
	}
	return spare
}

// isMixed reports whether the class of some failures since a row is unknown, which may be any of those of
// [outcome.mayBe].
func (o *outcome) isMixed(w *Window, row int) bool {
	return o.doubled != nil && o.tally(engine.ClassUnknown).once != nil && o.since(w, row, engine.ClassUnknown) > 0
}

// mayBe reports whether failures of unknown class may be of a class.
func (o *outcome) mayBe(class engine.Class) bool {
	return class != engine.ClassUnknown && o.tally(class).once != nil
}
