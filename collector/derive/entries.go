package derive

import (
	"cmp"
	"slices"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// watchedEntry is a model that clients call, and the counters of its outcome.
type watchedEntry struct {
	key, model, version string
	// callee is what clients call the model, empty if it is the only one.
	callee string
	// why explains why it is not trusted.
	why string
	// ended holds the requests that ended well if the server is known to count the other ones too
	// (trusted), and otherwise those that were accepted, whatever became of them.
	ended   tally
	trusted bool
	// failed are those of class server, among whose doubled ones are those of other classes.
	failed  tally
	doubled *doubledFailures
	// part is true for a part of models that do not count how their requests end, unclear if the failed ones may be
	// the clients' fault.
	part, unclear bool
	// answered is true if each request that ended well has an answer. Once counts those that ended in the engine, each
	// once, and is nil if nothing does.
	answered bool
	once     []int
}

// watchEntries follows the outcomes of each entry from page to page, across missed pages and idle
// times, until a request ends well or the process changes.
func (d *Deriver) watchEntries() {
	w, by := d.window, &d.index.watch
	if w.restarted == w.now && len(w.times) > 1 {
		for _, s := range d.entries {
			*s = entryState{}
		}
		return
	}
	before := d.acquitted()
	d.watchMovements()
	d.counts.Answered += w.growth(by.answers)
	d.seemed = 0
	served := false
	for i := range by.entries {
		e := &by.entries[i]
		s := d.entries[i]
		failed := s.streak.failures().requests
		ended := d.watchEntry(e, s)
		if !e.part && (ended+s.streak.seemed > 0 || s.streak.failures().requests > failed) {
			d.latest.called = w.now
		}
		served = d.countEnded(e, s, ended) || served
	}
	if d.acquitted() > before {
		d.acquit(served)
	}
}

// countEnded counts the requests to an entry that ended, and reports whether some are known to have ended well.
func (d *Deriver) countEnded(e *watchedEntry, s *entryState, ended float64) (served bool) {
	now := d.window.now
	switch {
	case e.part || e.unclear || ended+s.streak.seemed <= 0:
		return false
	case !e.trusted:
		d.latest.accepted, d.latest.acceptedBy = now, e.model
		s.streak.accepted = now
		return false
	}
	d.counts.Served += ended
	d.seemed += s.streak.seemed
	d.latest.served = now
	return ended > 0
}

// watchMovements counts pages on which the engine works, and on which tokens of others move.
func (d *Deriver) watchMovements() {
	w, by := d.window, &d.index.watch
	if slices.ContainsFunc(by.tokens, w.moved) || slices.ContainsFunc(by.cache, w.moved) {
		d.counts.Steps++
	}
	if slices.ContainsFunc(by.flow, w.moved) && (!d.own.onPage || slices.ContainsFunc(by.generated, d.generatesMore)) {
		d.counts.Movements++
		if d.movesForOthers() {
			d.latest.moved = w.now // Beside tokens, steps speak for no request: an engine may make them without work.
		}
	}
}

// movesForOthers reports whether the tokens that moved belong to requests that are in flight, on this page and on
// the one before, if the pages show that. Other tokens belong to requests that have ended since, well or not, or to
// checks of the server's health.
func (d *Deriver) movesForOthers() bool {
	if before, now, known := d.othersInFlight(); known {
		return before && now
	}
	outputs := d.index.watch.outputs
	return len(outputs) == 0 || slices.ContainsFunc(outputs, d.window.moved)
}

// othersInFlight reports whether the newest page and the one before show requests of others in flight in an engine.
// It is not known where gauges are set only when a request ends.
func (d *Deriver) othersInFlight() (before, now, known bool) {
	if d.index.quirks.GaugesWhenRequestsEnd {
		return false, false, false
	}
	for i := range d.index.watch.works {
		k := &d.index.watch.works[i]
		if !k.serves { // What the API has accepted may never reach the engine.
			continue
		}
		s := d.works[i]
		v, ok := k.inFlight.now(d.window)
		known = known || ok
		before = before || s.spell.inFlight > 0
		now = now || ok && v-s.excess.requests-d.own.inFlight >= k.minInFlight
	}
	return before, now, known
}

// acquit ends the accusations of all entries. If a request is known to have ended well, which is true if
// served is, the entries that failed before are acquitted for a window. Requests of which nobody knows how
// they end do not speak for a part that they may need.
func (d *Deriver) acquit(served bool) {
	for i := range d.index.watch.entries {
		e := &d.index.watch.entries[i]
		s := d.entries[i]
		if served && s.streak.failures().requests > 0 && s.streak.since < d.window.previousAt {
			s.acquitted = d.window.now
		}
		if served || !e.part {
			s.streak.pardon()
		}
	}
}

// generatesMore reports whether the newest page shows more tokens than may be the exporter's own.
func (d *Deriver) generatesMore(columns []int) bool {
	return d.window.growth(columns) > d.own.mayGenerate
}

// uncounted returns [Conditions.Uncounted].
func (d *Deriver) uncounted() (all []string) {
	for i := range d.index.watch.entries {
		e := &d.index.watch.entries[i]
		accepted := d.entries[i].streak.accepted
		if accepted > 0 && d.window.now-accepted <= d.window.length && e.why != "" && !slices.Contains(all, e.why) {
			all = append(all, e.why)
		}
	}
	return all
}

// acquitted returns when the pages last spoke for the replica. Where each model counts, tokens may
// be those of requests that fail in a later model, so they speak for it only next to requests of
// which nobody knows how they end.
func (d *Deriver) acquitted() int64 {
	moved := d.latest.moved
	if slices.ContainsFunc(d.index.watch.entries, func(e watchedEntry) bool { return e.model != "" }) {
		moved = min(moved, d.latest.accepted)
	}
	if slices.ContainsFunc(d.entries, func(s *entryState) bool { return s.streak.lost > 0 }) {
		moved = 0 // What moved ended in the engine, and was not answered well.
	}
	return max(d.latest.served, moved)
}

// watchEntry follows one entry, and returns how many requests of others are known to have ended.
func (d *Deriver) watchEntry(e *watchedEntry, s *entryState) (ended float64) {
	ended, seems := s.watchEnds(e, d.window)
	if ended > 0 {
		s.acquitted, s.served = d.refuted(s), d.window.now
		s.streak = streak{left: max(d.left(), 0)} // Their requests may fail on the next page.
		return ended
	}
	s.streak.goesOn(d.window, seems)
	s.streak.left += d.left()
	s.watchFailures(e, d.window)
	return 0
}

// left returns how many clients left on the newest page whose requests do not count as canceled.
func (d *Deriver) left() float64 {
	return d.window.growth(d.index.watch.gone) - d.window.growth(d.index.watch.canceled)
}

// refuted returns when an accusation of the entry was refuted, given that a request has ended well: now, if it was
// accused, or had been within the window and something failed again. Zero is never.
func (d *Deriver) refuted(s *entryState) int64 {
	failed := s.streak.failures()
	if d.accuse(failed) || failed.requests > 0 && s.acquittedWithin(d.window) {
		return d.window.now
	}
	return s.acquitted
}

// hasAnswers reports whether an API counts the answers to the same requests.
func (t *tally) hasAnswers() bool {
	return slices.ContainsFunc(t.net, func(n *netCounter) bool { return n.answers != nil })
}

// unanswered returns how many requests had ended in the engine by the previous page without an answer that says so, and
// have none on the newest page either: they were answered with an error, or not by this API. While answers come,
// nobody knows to which requests.
func (t *tally) unanswered(w *Window) (sum float64) {
	for _, n := range t.net {
		come := w.growth([]int{n.soon}) > 0
		if n.answers != nil && !come && w.previous[n.unanswered] > 0 {
			sum += w.previous[n.unanswered]
		}
	}
	return sum
}

// settled returns how many more requests are known to have ended than on the previous page, without those
// of which a later page may show that they ended otherwise.
func (t *tally) settled(w *Window) float64 {
	return t.ended(w, func(n *netCounter) float64 { return w.growth([]int{n.soon}) })
}

// growth returns how many more seem to have ended.
func (t *tally) growth(w *Window) float64 {
	return t.ended(w, func(n *netCounter) float64 {
		if n.answers != nil {
			return w.growth([]int{n.column})
		}
		return n.compute(w.current, w.growth, w.growth(n.minus))
	})
}

// ended adds up how many requests ended since the previous page; net returns those of a difference.
func (t *tally) ended(w *Window, net func(n *netCounter) float64) float64 {
	sum := w.growth(t.single) + w.growth(t.double)
	for _, n := range t.net {
		sum += net(n)
	}
	return sum
}

// accuse reports whether so many failures are enough to say that only failures end.
func (d *Deriver) accuse(f failures) bool {
	return f.requests >= float64(cmp.Or(d.opts.FailingMin, DefaultFailingMin)) && f.pages >= failingPages
}

// failing returns [Conditions.Failing].
func (d *Deriver) failing(at func(time.Duration) time.Time) (all []Failures) {
	var parts, unclear []Failures
	for i := range d.index.watch.entries {
		e := &d.index.watch.entries[i]
		f, fails := d.failingEntry(e, d.entries[i], at)
		switch {
		case !fails:
		case f.Unclear:
			unclear = append(unclear, f)
		case e.part:
			parts = append(parts, f)
		default:
			all = append(all, f)
		}
	}
	if len(all) == 0 {
		all = parts
	}
	slices.SortStableFunc(all, func(a, b Failures) int { return a.Since.Compare(b.Since) })
	return append(all, unclear...)
}

// failingEntry returns what is said of an entry of which only failures end, or false if that is not known.
func (d *Deriver) failingEntry(
	e *watchedEntry, s *entryState, at func(time.Duration) time.Time,
) (f Failures, fails bool) {
	k := &s.streak
	failed := k.failures()
	f = Failures{
		Entry:     Entry{e.callee, e.version},
		Requests:  failed.requests,
		Since:     at(time.Duration(k.since)),
		Last:      at(time.Duration(k.last)),
		Accused:   at(time.Duration(k.accused)),
		Acquitted: !d.accuse(failed.without(k.pardoned)) || s.acquittedWithin(d.window),
	}
	forgotten := f.Acquitted && d.window.now-k.last > d.window.length // Nobody asks any more.
	fails = d.accuse(failed) && !forgotten && d.addWhose(&f, e, k)
	return f, fails
}

// addWhose adds to failures whose they are. It returns false for those of a part if models that call it counted
// requests since, and tell how these end.
func (d *Deriver) addWhose(f *Failures, e *watchedEntry, k *streak) bool {
	switch {
	case e.unclear, k.unknown > 0:
		f.Unclear, f.Unanswered = true, !e.unclear
	case f.Requests <= k.left: // Each may be that of a client that left.
		f.Unclear = true
	case !e.part:
	case d.latest.accepted > k.since:
		f.Entry, f.Part = Entry{Model: d.latest.acceptedBy}, e.model
	case d.latest.called <= k.since:
		f.Entry, f.Part = Entry{Model: e.model}, e.model
	default:
		return false
	}
	return true
}

// isOtherVersion reports whether another entry is a version of the same model.
func (e *watchedEntry) isOtherVersion(other watchedEntry) bool {
	return other.model == e.model && other.version != e.version
}

// isOtherVersion reports whether another one is a version of the same model.
func (m *Model) isOtherVersion(other *Model) bool {
	return other.name == m.name && other.version != m.version
}

// failingBeside returns the models of a role whose failures the page counts, and which are no entries of
// their own: parts of entries, or models that may be.
func (ix *index) failingBeside(m *Model, role engine.Role) (all []watchedEntry) {
	for _, failures := range m.groups(engine.ModelFailed) {
		if failures.role != role || failures.class != engine.ClassServer {
			continue
		}
		i := slices.IndexFunc(
			all,
			func(e watchedEntry) bool { return e.model == failures.name && e.version == failures.version },
		)
		if i < 0 {
			i = len(all)
			all = append(all, watchedEntry{
				key:     m.id + "\x00" + string(role) + " " + failures.name + "\x00" + failures.version,
				model:   failures.name,
				callee:  failures.name,
				version: failures.version,
				part:    role == engine.RolePart,
			})
			all[i].ended.single = ix.allColumns(failures.instance.groups(engine.ModelSuccess))
		}
		all[i].failed.single = append(all[i].failed.single, ix.columnsOf(&failures.value)...)
	}
	return all
}

// trusted reports whether requests that ended well are known to have done so: those of a model
// whose failures are not all counted may have been accepted only.
func (o *outcome) trusted(version *Model) bool { return version.name == "" || o.complete }

// watched returns what the conditions read of an outcome.
func (o *outcome) watched(version *Model) watchedEntry {
	ended := o.well
	if o.both != nil {
		ended = tally{net: []*netCounter{o.both}}
	}
	return watchedEntry{
		key:     version.id + "\x00" + version.name + "\x00" + version.version,
		model:   version.name,
		version: version.version,
		ended:   ended,
		trusted: o.trusted(version),
		failed:  *o.tally(engine.ClassServer),
		doubled: o.doubled,
	}
}
