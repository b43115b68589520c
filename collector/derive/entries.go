package derive

import (
	"cmp"
	"slices"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// entry is a model that clients call, and the counters of its outcome.
type entry struct {
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

// entryState is what happened at an entry since a request last ended well.
type entryState struct {
	// single, double, steps, otherEntries and refused are increases of the counters.
	single, double, steps, otherEntries, refused float64
	// settled is the increase of net counters. They are late while what they are net of moves;
	// unsettled are their failures on pages since it has rested. Both without own are others'.
	settled, unsettled, own float64
	// pages counts the pages with failures, unsettledPages those with unsettled ones.
	pages, unsettledPages int
	// since is the time of the page before the first failure, last that of the page with the latest.
	since, last int64
	// accepted is when a request ended of which nobody knows how, served when one ended well last.
	accepted, served int64
	// pardoned failures, on pardonedPages, count no more: the pages spoke for the replica since.
	pardoned      float64
	pardonedPages int
	// accused is the time of the page before the first failure that counts.
	accused int64
	// acquitted is when a request ended well although failures counted, which speaks for the entry for a window.
	acquitted int64
	// seemed is how many requests seem to have ended well on the newest page, of which the next one may
	// show that they did not; once it did, disproved is true, and only settled ones count.
	seemed    float64
	disproved bool
	// ownEnded and ownFailed are requests of the exporter that the next pages may count.
	ownEnded, ownFailed pending
	// lost counts requests that ended in the engine and failed to be answered.
	lost float64
	// unknown counts those that ended there beside failures: nobody knows how they were answered.
	unknown float64
	// beside is true if other requests ended well on the newest page, erred is how many failed on it, and once how
	// many ended in the engine, each counted once.
	beside      bool
	erred, once float64
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
	d.answered += w.growth(by.answers)
	d.seemed = 0
	served := false
	for i := range by.entries {
		e := &by.entries[i]
		s := d.entries[e.key]
		failures := s.failures()
		ended := d.watchEntry(e, s)
		if !e.part && (ended+s.seemed > 0 || s.failures() > failures) {
			d.calledAt = w.now
		}
		served = d.countEnded(e, s, ended) || served
	}
	if d.acquitted() > before {
		d.acquit(served)
	}
}

// countEnded counts the requests to an entry that ended, and reports whether some are known to have ended well.
func (d *Deriver) countEnded(e *entry, s *entryState, ended float64) (served bool) {
	now := d.window.now
	switch {
	case e.part || e.unclear || ended+s.seemed <= 0:
		return false
	case !e.trusted:
		d.acceptedAt, d.acceptedBy = now, e.model
		s.accepted = now
		return false
	}
	d.served += ended
	d.seemed += s.seemed
	d.servedAt = now
	return ended > 0
}

// watchMovements counts pages on which the engine works, and on which tokens of others move.
func (d *Deriver) watchMovements() {
	w, by := d.window, &d.index.watch
	if slices.ContainsFunc(by.tokens, w.moved) || slices.ContainsFunc(by.cache, w.moved) {
		d.steps++
	}
	if slices.ContainsFunc(by.flow, w.moved) && (!d.own.onPage || slices.ContainsFunc(by.generated, d.generatesMore)) {
		d.movements++
		if d.movesForOthers() {
			d.movedAt = w.now // Beside tokens, steps speak for no request: an engine may make them without work.
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
		s := d.works[k.key]
		v, ok := k.inFlight.now(d.window)
		known = known || ok
		before = before || s.inFlight > 0
		now = now || ok && v-s.over-d.own.inFlight >= k.minInFlight
	}
	return before, now, known
}

// acquit ends the accusations of all entries. If a request is known to have ended well, which is true if
// served is, the entries that failed before are acquitted for a window. Requests of which nobody knows how
// they end do not speak for a part that they may need.
func (d *Deriver) acquit(served bool) {
	for i := range d.index.watch.entries {
		e := &d.index.watch.entries[i]
		s := d.entries[e.key]
		if served && s.failures() > 0 && s.since < d.window.previousAt {
			s.acquitted = d.window.now
		}
		if served || !e.part {
			s.pardon()
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
		accepted := d.entries[e.key].accepted
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
	moved := d.movedAt
	if slices.ContainsFunc(d.index.watch.entries, func(e entry) bool { return e.model != "" }) {
		moved = min(moved, d.acceptedAt)
	}
	if slices.ContainsFunc(d.index.watch.entries, func(e entry) bool { return d.entries[e.key].lost > 0 }) {
		moved = 0 // What moved ended in the engine, and was not answered well.
	}
	return max(d.servedAt, moved)
}

// pardon ends an accusation and its memory: the next one begins with later failures. Which of those on
// the newest page came before what speaks for the replica is not known.
func (s *entryState) pardon() {
	s.pardoned, s.pardonedPages = s.failures(), s.failedPages()
	s.unknown = 0
}

// watchEntry follows one entry, and returns how many requests of others are known to have ended.
func (d *Deriver) watchEntry(e *entry, s *entryState) (ended float64) {
	w := d.window
	ended, seems := s.watchEnds(e, w)
	if ended > 0 {
		*s = entryState{
			ownEnded:  s.ownEnded,
			ownFailed: s.ownFailed,
			beside:    s.beside,
			erred:     s.erred,
			once:      s.once,
			acquitted: d.refuted(s),
			served:    w.now,
		}
		return ended
	}
	s.disproved = s.disproved || s.seemed > 0
	s.seemed = 0
	if !s.disproved {
		s.seemed = max(seems, 0)
	}
	if s.failures() == 0 {
		s.since = w.previousAt
	}
	s.pardoned, s.pardonedPages = min(s.pardoned, s.failures()), min(s.pardonedPages, s.failedPages())
	if s.failures() == s.pardoned {
		s.accused = w.previousAt
	}
	s.watchFailures(e, w)
	return 0
}

// watchEnds returns how many requests of others are known to have ended, and how many seem to have.
func (s *entryState) watchEnds(e *entry, w *Window) (ended, seems float64) {
	seems = e.ended.growth(w) - s.ownEnded.n
	settled := e.ended.settled(w)
	elsewhere := s.lose(e, w)
	s.beside = settled > 0
	ended = s.ownEnded.without(settled)
	if s.failsLately(w) {
		s.unknown += elsewhere
	} else {
		ended += elsewhere
	}
	return ended, seems
}

// watchFailures counts the failed requests of others.
func (s *entryState) watchFailures(e *entry, w *Window) {
	failures := s.failures()
	single, double := w.growth(e.failed.single), w.growth(e.failed.double)
	switch {
	case len(e.failed.net) > 0:
		s.watchNet(e.failed.net, w)
	case len(e.failed.double) > 0:
		double = 2 * s.ownFailed.without(double/2)
	default:
		single = s.ownFailed.without(single)
	}
	s.single += single
	s.double += double
	if n := e.doubled; n != nil {
		s.steps += w.growth(n.steps)
		s.otherEntries += w.growth(n.otherEntries)
		s.refused += w.growth(n.refused)
	}
	if single > 0 || s.failures() > failures {
		s.pages++
		s.last = w.now
	}
}

// refuted returns when an accusation of the entry was refuted, given that a request has ended well: now, if it was
// accused, or had been within the window and something failed again. Zero is never.
func (d *Deriver) refuted(s *entryState) int64 {
	if d.accuse(s.failures(), s.failedPages()) || s.failures() > 0 && s.acquittedWithin(d.window) {
		return d.window.now
	}
	return s.acquitted
}

// acquittedWithin reports whether a request that ended well speaks for the entry in this window.
func (s *entryState) acquittedWithin(w *Window) bool {
	return s.acquitted > 0 && w.now-s.acquitted <= w.length
}

// failsLately reports whether requests failed on the newest page, or within the window before it.
func (s *entryState) failsLately(w *Window) bool {
	return s.erred > 0 || s.failures() > 0 && w.now-s.last <= w.length
}

// lose counts what ended in the engine and was not answered well, as far as failed answers explain that: the API
// may fail on what the engine did well. Beside answers, it may be further completions of the same requests. What
// neither explains is returned: it came by another way, as over gRPC, or is further completions of requests that
// failed, where the page does not tell how many requests these were.
func (s *entryState) lose(e *entry, w *Window) (elsewhere float64) {
	erred := e.failed.growth(w)
	if !s.beside {
		alone := e.ended.unwitnessed(w)
		if len(e.once) > 0 {
			alone = min(alone, s.once)
		}
		lost := min(alone, s.erred+erred)
		s.lost += lost
		if e.ended.hasWitness() && !e.answered { // Its answers were waited for.
			elsewhere = alone - lost
		}
	}
	s.erred, s.once = erred, w.growth(e.once)
	return elsewhere
}

// hasWitness reports whether something else counts the same requests.
func (t *tally) hasWitness() bool {
	return slices.ContainsFunc(t.net, func(n *netCounter) bool { return n.witnessed })
}

// unwitnessed returns how many requests ended of which the newest page knows that they did not end well: nothing
// else counted them, or it was an error that did.
func (t *tally) unwitnessed(w *Window) (sum float64) {
	for _, n := range t.net {
		switch {
		case w.growth([]int{n.soon}) > 0:
		case n.witnessed && w.previous[n.spare] > 0:
			sum += w.previous[n.spare]
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
		if n.witnessed {
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

// watchNet follows counters that are net of others.
func (s *entryState) watchNet(all []*netCounter, w *Window) {
	var failed, others, settled float64
	for _, n := range all {
		failed += w.growth(n.plus)
		others += w.growth(n.minus)
		settled += w.growth([]int{n.column})
	}
	own := failed
	failed = s.ownFailed.without(failed)
	s.own += own - failed
	if settled > 0 {
		s.settled += settled
		s.pages++
	}
	switch {
	case others > 0:
		s.unsettled, s.unsettledPages = 0, 0
	case failed > 0:
		s.unsettled += failed
		s.unsettledPages++
	}
	if failed > 0 {
		s.last = w.now
	}
}

// failures returns how many requests of others failed.
func (s *entryState) failures() float64 {
	doubled := once(s.double, s.steps, s.otherEntries)
	return s.single + max(doubled-s.refused, 0) + max(s.settled-s.own, s.unsettled)
}

// failedPages returns how many pages showed them.
func (s *entryState) failedPages() int { return max(s.pages, s.unsettledPages) }

// accuse reports whether so many failures, on so many pages, are enough to say that only failures end.
func (d *Deriver) accuse(failures float64, pages int) bool {
	return failures >= float64(cmp.Or(d.opts.FailingMin, DefaultFailingMin)) && pages >= failingPages
}

// failing returns [Conditions.Failing].
func (d *Deriver) failing(at func(time.Duration) time.Time) (all []Failures) {
	var parts, unclear []Failures
	for i := range d.index.watch.entries {
		e := &d.index.watch.entries[i]
		f, fails := d.failingEntry(e, d.entries[e.key], at)
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
	e *entry, s *entryState, at func(time.Duration) time.Time,
) (f Failures, fails bool) {
	requests, pages := s.failures(), s.failedPages()
	f = Failures{
		Entry:    Entry{e.callee, e.version},
		Requests: requests,
		Since:    at(time.Duration(s.since)),
		Last:     at(time.Duration(s.last)),
		Accused:  at(time.Duration(s.accused)),
	}
	f.Acquitted = !d.accuse(requests-s.pardoned, pages-s.pardonedPages) || s.acquittedWithin(d.window)
	switch {
	case !d.accuse(requests, pages):
		return f, false
	case f.Acquitted && d.window.now-s.last > d.window.length:
		return f, false // Nobody asks any more, and it is forgotten.
	case e.unclear, s.unknown > 0:
		f.Unclear, f.Unanswered = true, !e.unclear
	case !e.part:
	case d.acceptedAt > s.since:
		f.Entry, f.Part = Entry{Model: d.acceptedBy}, e.model
	case d.calledAt <= s.since:
		f.Entry, f.Part = Entry{Model: e.model}, e.model
	default:
		return f, false // Models that call the part counted requests since, and tell how these end.
	}
	return f, true
}

// isOtherVersion reports whether another entry is a version of the same model.
func (e *entry) isOtherVersion(other entry) bool {
	return other.model == e.model && other.version != e.version
}

// isOtherVersion reports whether another one is a version of the same model.
func (m *Model) isOtherVersion(other *Model) bool {
	return other.name == m.name && other.version != m.version
}

// failingBeside returns the models of a role whose failures the page counts, and which are no entries of
// their own: parts of entries, or models that may be.
func (ix *index) failingBeside(m *Model, role engine.Role) (all []entry) {
	for _, failures := range m.groups(engine.ModelFailed) {
		if failures.role != role || failures.class != engine.ClassServer {
			continue
		}
		i := slices.IndexFunc(
			all,
			func(e entry) bool { return e.model == failures.name && e.version == failures.version },
		)
		if i < 0 {
			i = len(all)
			all = append(all, entry{
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

// entry returns what the conditions read of an outcome.
func (o *outcome) entry(version *Model) entry {
	ended := o.well
	if o.both != nil {
		ended = tally{net: []*netCounter{o.both}}
	}
	return entry{
		key:     version.id + "\x00" + version.name + "\x00" + version.version,
		model:   version.name,
		version: version.version,
		ended:   ended,
		trusted: o.trusted(version),
		failed:  *o.tally(engine.ClassServer),
		doubled: o.doubled,
	}
}
