package derive

import (
	"cmp"
	"slices"
	"time"
)

// workState is what is remembered of a work from one page to the next.
type workState struct {
	excess excess
	spell  spell
	// stepped is when the engine of its model made a step last.
	stepped int64
	// ours is how many of its requests on the newest page may be the exporter's own: none of those that were in
	// flight before these were sent, and of which nothing has moved since.
	ours float64
	// left is true if the newest page shows that its requests are gone, and none of them ended.
	left bool
}

// excess is how many requests a difference of counters shows although they are not in flight, which does not change
// while others come and go.
type excess struct {
	known bool
	// requests are all of them, inside those that were in an engine when it was found out.
	requests, inside float64
}

// spell is a time in which requests are in flight, or have left without any progress. Its zero value is none.
type spell struct {
	active bool
	// inFlight is how many there are, 0 after they left.
	inFlight float64
	// began is when it did, progressed when something moved last since then, and lasting since when requests have
	// been in flight at all times.
	began, progressed, lasting int64
	// waited is for how long there were some since something moved. Unsure is the time since more of them came, where
	// those that were computed may have left.
	waited, unsure time.Duration
	// answered is true if the exporter's own request was answered since something moved.
	answered bool
}

func (d *Deriver) watchWork() {
	rose := false
	for i := range d.index.watch.works {
		k := &d.index.watch.works[i]
		d.watchOne(k, d.works[i])
		rose = rose || k.rises(d.window)
	}
	if rose && !d.own.onPage {
		d.counts.Movements++
	}
	if by := &d.index.watch; rose || by.batches.moves(d.window, by.leads) {
		d.counts.Advances++
	}
}

// watchOne follows one work.
func (d *Deriver) watchOne(k *work, s *workState) {
	w := d.window
	moved := k.moves(w)
	if moved || w.restarted == w.now {
		w.rest(k.levels)
	} else {
		moved = w.climb(k.levels)
	}
	if slices.ContainsFunc(k.steps, w.moved) {
		s.stepped = w.now
	}
	inFlight, shows := d.inFlightOf(k, s, moved)
	shows = shows && k.showsProgress(w)
	progress := moved && !d.mayBeOurs(k, s)
	if s.spell.inFlight > 0 && !progress {
		s.ours = min(s.ours, d.own.inFlight)
	} else {
		s.ours = d.own.inFlight
	}
	s.left = false
	switch {
	case d.paused:
		s.spell = spell{}
	case shows && inFlight-s.ours >= k.minInFlight:
		s.spell.goesOn(w, inFlight, progress, k.counted && s.stepped > s.spell.began)
	default:
		d.goes(k, s, shows, moved)
	}
}

// inFlightOf returns how many requests of a work the newest page shows, and whether it does.
func (d *Deriver) inFlightOf(k *work, s *workState, moved bool) (n float64, ok bool) {
	n, ok = k.inFlight.now(d.window)
	inside, known := d.besides(k)
	e := &s.excess
	if ok && k.counted && (moved || n < e.requests || !e.known) {
		*e = excess{true, n, inside}
	} else if k.counted {
		e.requests += d.own.dropped
	}
	return n - e.requests - max(inside-e.inside, 0), ok && known
}

// besides returns how many requests the engine beside a work holds, 0 if none is beside it.
func (d *Deriver) besides(k *work) (inside float64, known bool) {
	if k.beside == nil {
		return 0, true
	}
	return d.view.inEngine(k.beside)
}

// mayBeOurs reports whether work that stands still may only seem to move, because the exporter's own request was
// answered.
func (d *Deriver) mayBeOurs(k *work, s *workState) bool {
	return d.own.onPage && s.stands(d) && !k.endsMore(d.window, d.own.mayEnd)
}

// goes takes into account that no requests of others are in flight, as far as the page shows that. The spell ends
// with them, unless nothing has moved: then its clients have left, and nobody was served. While an engine holds
// requests, those that are gone may have passed on into it.
func (d *Deriver) goes(k *work, s *workState, shows, moved bool) {
	w := d.window
	unmoved := !moved && w.restarted != w.now && s.spell.active
	inside, _ := d.besides(k)
	s.left = unmoved && d.convicted && s.stands(d)
	switch {
	case s.left:
	case unmoved && shows && !s.spell.answered && !(s.spell.inFlight > 0 && inside > 0):
		s.spell.inFlight, s.spell.lasting = 0, w.now
	default:
		s.spell = spell{}
	}
}

// goesOn takes into account that requests are in flight. If they may have left, time counts only until more come.
func (s *spell) goesOn(w *Window, inFlight float64, progress, mayHaveLeft bool) {
	switch {
	case !s.active || s.began > w.now:
		*s = spell{active: true, began: w.now, progressed: w.now, lasting: w.now}
	case s.inFlight == 0:
		s.lasting = w.now // Others left before.
	default:
		s.unsure += time.Duration(w.now - w.previousAt)
	}
	if !mayHaveLeft || inFlight > s.inFlight {
		s.waited, s.unsure = s.waited+s.unsure, 0
	}
	s.inFlight = inFlight
	if progress {
		s.progressed, s.lasting, s.waited, s.unsure, s.answered = w.now, w.now, 0, 0, false
	}
}

// moves reports whether the newest page shows progress.
func (k *work) moves(w *Window) bool {
	ended := func(t *tally) bool { return t.growth(w) > 0 }
	return k.batches.moves(w, k.progress) || slices.ContainsFunc(k.ends, ended)
}

// rises reports whether the use of a cache rose on the newest page beyond what it was since anything else moved.
func (k *work) rises(w *Window) bool {
	return slices.ContainsFunc(k.levels, func(i int) bool { return w.rose[i] == w.now })
}

// endsMore reports whether more than so many requests ended well on the newest page.
func (k *work) endsMore(w *Window, n float64) bool {
	return slices.ContainsFunc(k.ends, func(t *tally) bool { return t.growth(w) > n })
}

// showsProgress reports whether the page would show progress.
func (k *work) showsProgress(w *Window) bool {
	ended := func(t *tally) bool { return slices.ContainsFunc(t.columns, w.seen) }
	steps := slices.ContainsFunc(k.progress, w.seen) || slices.ContainsFunc(k.levels, w.seen)
	return k.countersAppear || steps || slices.ContainsFunc(k.ends, ended)
}

// stepless reports whether the page shows no step of the engine.
func (k *work) stepless(w *Window) bool { return !slices.ContainsFunc(k.steps, w.seen) }

// stands reports whether there was work for as long as is needed to say that it makes no progress. That
// its clients leave is none: where each gives up before, nobody is served either.
func (s *workState) stands(d *Deriver) bool { return s.spell.active && s.spell.waited >= d.patience() }

func (d *Deriver) patience() time.Duration { return cmp.Or(d.opts.StallAfter, DefaultStallAfter) }

// still returns the work that stands still, longest first.
func (d *Deriver) still(at func(time.Duration) time.Time) (all []Stillness) {
	for i := range d.index.watch.works {
		k := &d.index.watch.works[i]
		s := d.works[i]
		if !s.stands(d) || s.spell.inFlight <= 0 {
			continue
		}
		all = append(all, Stillness{
			Entry:    Entry{Model: k.callee},
			InFlight: s.spell.inFlight,
			Since:    at(time.Duration(s.spell.progressed)),
			Partly:   k.aside || d.movesBeside(k) || d.servesBeside(k.callee),
			Left:     s.left,
			Outside:  k.beside != nil,
			Stepless: k.stepless(d.window),
			Pieced:   time.Duration(d.window.now-s.spell.lasting) < d.patience() && !d.convicted,
		})
	}
	slices.SortStableFunc(all, func(a, b Stillness) int { return a.Since.Compare(b.Since) })
	return all
}

// stepless reports whether requests of others are in flight of which the page shows no step.
func (d *Deriver) stepless() bool {
	for i := range d.index.watch.works {
		if k := &d.index.watch.works[i]; d.works[i].spell.inFlight > 0 && k.stepless(d.window) {
			return true
		}
	}
	return false
}

// movesBeside reports whether other work moves whose requests may end well. What an engine computes does not, if
// what follows it stands still.
func (d *Deriver) movesBeside(still *work) bool {
	for i, s := range d.works {
		k := &d.index.watch.works[i]
		precedes := still.apart && k.callee == still.callee
		moves := !s.stands(d) && s.spell.inFlight > 0 && s.spell.progressed > s.spell.began
		if k.serves && !precedes && moves {
			return true
		}
	}
	return false
}

// servesBeside reports whether another model than this one answered requests lately.
func (d *Deriver) servesBeside(model string) bool {
	for i, s := range d.entries {
		e := &d.index.watch.entries[i]
		lately := s.served > 0 && time.Duration(d.window.now-s.served) < d.patience()
		if lately && e.trusted && !e.part && e.callee != "" && e.callee != model && model != "" {
			return true
		}
	}
	return false
}
