package account

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Options configures a [Recorder].
type Options struct {
	// Interval is the time between two pages of a replica.
	Interval time.Duration
	// Skip is how much of the beginning does not count, as servers warm up.
	Skip time.Duration
	// Trim leaves out the time before the first and after the last sign of work, and lets Skip begin
	// there: programs start and end slowly.
	Trim bool
}

// Recorder adds up pages of replicas. It is not safe for concurrent use.
type Recorder struct {
	opts    Options
	ledgers map[string]*ledger
	// origin is when the time to skip begins, zero before. Begun is true once all replicas of the beginning were added.
	origin time.Time
	begun  bool
}

// NewRecorder returns a recorder without pages.
func NewRecorder(opts Options) *Recorder {
	return &Recorder{opts: opts, ledgers: make(map[string]*ledger)}
}

// Begin says that every replica that is there at the beginning has been added: what another did before is not known.
func (r *Recorder) Begin() { r.begun = true }

// Add adds a scrape. Those of one replica must come in order of time. It reports whether the page shows
// work since the one before.
func (r *Recorder) Add(p *Page) (worked bool) {
	l := r.ledgers[p.Name()]
	if l == nil {
		l = newLedger(p.Replica)
		l.late = r.begun
		r.ledgers[p.Name()] = l
	}
	before := l.last
	worked = l.add(p)
	switch {
	case !r.origin.IsZero():
	case !r.opts.Trim:
		r.origin = p.At
	case worked && !before.IsZero():
		r.origin = before
	}
	leadIn := r.origin.IsZero() || p.At.Before(r.origin.Add(r.opts.Skip))
	if !l.last.IsZero() && (leadIn || l.base.IsZero()) {
		l.rebase()
	}
	return worked
}

// lateAfter is how many intervals may pass between two pages.
const lateAfter = 3

// tolerance is how long a page may be missing: counters go on meanwhile.
func (r *Recorder) tolerance() time.Duration { return max(lateAfter*r.opts.Interval, 5*time.Second) }

// Account returns the account so far.
func (r *Recorder) Account() *Account {
	all := r.sorted()
	a := &Account{Skipped: r.opts.Skip.Seconds(), Replicas: []Replica{}, Models: []Model{}}
	from, to := r.stretch(all)
	a.From, a.To, a.Seconds = from, to, to.Sub(from).Seconds()
	if r.opts.Trim {
		a.Idle = min(2*r.opts.Interval.Seconds(), a.Seconds)
	}
	for _, l := range all {
		replica := l.Replica
		replica.Tier = string(l.tier)
		a.Replicas = append(a.Replicas, replica)
		a.Interrupted = append(a.Interrupted, r.interruptions(l, from, to)...)
	}
	slices.SortStableFunc(a.Interrupted, func(x, y Interruption) int { return x.From.Compare(y.From) })
	models := modelsOf(all)
	s := summary{from: from, to: to, interrupted: a.Interrupted}
	if !to.After(from) {
		a.Empty = r.emptiness(all)
		s.empty, s.left = a.Empty, r.opts.Skip > 0 && !r.origin.IsZero()
	}
	for _, m := range models {
		a.Models = append(a.Models, Model{m.pool, m.id, s.figures([]subject{m}, len(models) == 1)})
	}
	a.Sum = s.figures(models, true)
	return a
}

// emptiness says why nothing lies between the first and the last page that count.
func (r *Recorder) emptiness(all []*ledger) string {
	seconds := r.opts.Skip.Seconds()
	counted := func(l *ledger) bool { return !l.tried.Before(r.origin.Add(r.opts.Skip)) }
	switch {
	case r.opts.Trim && r.origin.IsZero():
		return "no page shows work"
	case !slices.ContainsFunc(all, counted):
		return fmt.Sprintf("it ended before the %g s that are left out were over", seconds)
	case r.opts.Trim:
		return fmt.Sprintf("no page shows work after the %g s that are left out", seconds)
	case seconds > 0:
		return fmt.Sprintf("there is one page only after the %g s that are left out", seconds)
	}
	return "there is one page only"
}

func (r *Recorder) sorted() []*ledger {
	return slices.SortedFunc(maps.Values(r.ledgers), func(x, y *ledger) int {
		return cmp.Or(cmp.Compare(x.PoolID, y.PoolID), cmp.Compare(x.ReplicaID, y.ReplicaID))
	})
}

// stretch returns the times of the first and the last page that count.
func (r *Recorder) stretch(all []*ledger) (from, to time.Time) {
	var last time.Time
	for _, l := range all {
		if !l.base.IsZero() && (from.IsZero() || l.base.Before(from)) {
			from = l.base
		}
		to, last = later(to, l.worked), later(last, l.tried)
	}
	switch {
	case !r.opts.Trim:
		return from, last
	case r.origin.IsZero() || to.IsZero(): // Nothing ran.
		return last, last
	}
	return from, to
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// interruptions returns those of a replica between two times. Single missing pages are none. Several
// processes hide what ran, so that they count also after it.
func (r *Recorder) interruptions(l *ledger, from, to time.Time) (all []Interruption) {
	found := slices.Clone(l.ended)
	for _, cause := range slices.Sorted(maps.Keys(l.open)) {
		i := *l.open[cause]
		i.To, i.lossy = later(i.To, l.tried), cause == NoPage
		found = append(found, i)
	}
	if silent := later(l.tried, l.last); l.open[NoPage] == nil && !silent.IsZero() && to.Sub(silent) > r.tolerance() {
		gone := l.interruption(NoPage, silent, to, "it was read no more: it is no target any more")
		gone.lossy = true
		found = append(found, *gone)
	}
	if l.late && l.first.After(from) { // What it did before is not known, however short that was.
		late := l.interruption(NoPage, from, l.first, "it had no page before, or was no target")
		late.lossy = true
		found = append(found, *late)
	}
	for _, i := range found {
		i.unread = l.last.IsZero()
		short := i.Kind == NoPage && i.To.Sub(i.From) < r.tolerance() && !i.lossy && !l.last.IsZero()
		if !short && !i.To.Before(from) && (!i.From.After(to) || i.Kind == Processes) {
			all = append(all, i)
		}
	}
	return all
}
