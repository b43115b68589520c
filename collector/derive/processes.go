package derive

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// Connection is the connection over which a page came. A process cannot change under a connection
// that leads straight to it.
type Connection uint8

const (
	// Opened is a new connection, or one of which nothing is known, as through a proxy.
	Opened Connection = iota
	// Kept is a connection that was open before the previous page.
	Kept
	// Reopened is a new connection after one that was refused or lost.
	Reopened
)

// Fresh pages come over new connections, beside the one that stays open.
const (
	// firstFresh is how many fresh pages are wanted at first, and after a sign of another process:
	// of two processes, chosen at random, the other one stays unseen once in 256 times. For as many
	// pages a few more are wanted, since processes may answer in turn.
	firstFresh = 8
	// laterFresh are wanted once in pagesPerFresh pages, as another process may be added: one
	// request in ten hardly counts for server and exporter. Two show even processes whose counts
	// are close, since no time passes between them.
	laterFresh, pagesPerFresh = 2, 20
	// knownFresh are wanted for each page while several processes are known, so that they stay
	// known although their counts are close.
	knownFresh = 4
	// minPages is for how many pages at least several processes stay known.
	minPages = 12
	// maxNames limits the names of processes that are remembered.
	maxNames = 64
)

// transition is how a page follows the previous one.
type transition uint8

const (
	// continues means the same process, restarts a process that started since, and breaks any
	// other process, in which case nothing is known about the time between the pages.
	continues transition = iota
	restarts
	breaks
)

// processTracker determines whether pages belong to one process. Counters of one process fall
// only when it restarts, or one by one when a model is loaded again. So from one page to a later
// one they fall as often as along all pages in between, unless one of those is of another process.
type processTracker struct {
	// window is for how long observations count.
	window int64
	// base is the last page that was not in doubt, path what the pages since show: those over
	// other connections and those in doubt.
	base base
	path path
	// doubt is true if counters fell on the previous page while no connection was lost: the next
	// one shows whether that was a restart.
	doubt bool
	// fell holds when that happened to a counter, by the hash of its labels; gone is true if the previous
	// page had none of the counters that had counted.
	fell map[uint64]fall
	gone bool
	// kept is true if the previous page came over a kept connection.
	kept bool
	// several is true if several processes were found, the last time at provedAt.
	several  bool
	provedAt int64
	names    []named
	// wanted is how many fresh pages are wanted, pages counts the others since a sign of another
	// process. While one is requested, atRequest is the base of that time.
	wanted, pages int
	atRequest     base
	late          latePage
	row           []float64
}

// latePage is a fresh page that was on its way together with another one, of which nobody knows whether it
// was read before or after. So it is compared with the pages before and after both.
type latePage struct {
	// before is the base before the request, path leads from there to the page.
	before base
	path   path
	// crossed is true until the other page has come.
	crossed bool
}

// fall is when a counter fell, and the model that it counts for, empty if it counts for none.
type fall struct {
	at    int64
	model string
}

// named is a process that names itself; answered is false if it did only over other connections.
type named struct {
	id       engine.Process
	last     int64
	answered bool
}

// Sighting is a page and what it shows about its process.
type Sighting struct {
	// Took is the time in which the server made the page, at some moment: from the request to the last byte,
	// unless a cache had stored it, Age before it came.
	Took, Age time.Duration

	now        int64
	block      *exposition.Block
	page       *engine.Page
	connection Connection

	transition transition
	id         engine.Process
	// several is true if the page proves several processes, doubt if it may.
	several, doubt bool
	changes        changes
}

// Restarted reports whether the page is the first of a restarted process.
func (s *Sighting) Restarted() bool { return s.transition == restarts }

// changes describes how a page differs from an earlier one.
type changes struct {
	// renamed is true if the page names another process, gone if none of the counters that had
	// counted is left, whole if none went on. Fell lists the counters that fell.
	renamed, gone, whole bool
	fell                 []int
	// vouched is true if the pages name the same process, no connection was lost, or a counter goes on.
	// Begins is true if nothing had counted before, and something has.
	vouched, begins bool
}

func (c *changes) any() bool { return c.renamed || len(c.fell) > 0 || c.whole }

// identify determines which process a page belongs to. It does not change the tracker, but for row.
func (t *processTracker) identify(
	now int64,
	block *exposition.Block,
	page *engine.Page,
	connection Connection,
) Sighting {
	s := Sighting{
		now:        now,
		block:      block,
		page:       page,
		connection: connection,
		id:         page.Process(block),
	}
	if t.base.page == nil {
		return s
	}
	t.row = t.base.read(t.row, block, page)
	lost := t.lost(connection)
	s.changes = t.compare(&s, lost)
	several := t.isSeveral(now)
	switch {
	case t.path.contradicts(&t.base, s.id, t.row, lost), t.late.contradicts(&s, lost),
		!lost && t.fellBefore(now, &s.changes), s.changes.renamed && t.returns(s.id):
		s.several, s.transition = true, breaks
	case several:
		s.several, s.transition = s.changes.any(), breaks
	case s.changes.any():
		s.doubt = !lost
		if lost || s.changes.whole {
			s.transition = restarts
		}
	case s.changes.begins && !s.changes.vouched:
		s.transition = breaks
	}
	return s
}

// compare returns how the page in row differs from the previous one; lost is true if the connection was
// lost in between.
func (t *processTracker) compare(s *Sighting, lost bool) (c changes) {
	id, values := t.base.id, t.previous()
	if t.doubt {
		id = t.path.id
	}
	same, known := id.SameAs(s.id)
	if c.renamed = known && !same; same {
		c.vouched = true
		return c
	}
	counted, counts, present, goesOn := false, false, false, false
	for i, v := range t.row {
		counted, counts = counted || values[i] > 0, counts || v > 0
		present = present || values[i] > 0 && !math.IsNaN(v)
		if falls(values[i], v) {
			c.fell = append(c.fell, i)
		} else if values[i] > 0 && v >= 0 {
			goesOn = true
		}
	}
	c.gone = counted && !present
	vanished := c.gone && !t.gone && s.connection != Kept // Over a kept one, the last model was unloaded.
	c.whole = c.renamed || vanished || len(c.fell) > 0 && !goesOn
	c.begins = counts && !counted
	c.vouched = !c.renamed && (goesOn || !lost)
	return c
}

// falls reports whether a counter is lower than before, by more than sums of fractions vary with
// the order of their terms. It reports false if one of the values is NaN.
func falls(before, after float64) bool { return after < before*(1-1e-9) }

// lost reports whether a page over a connection means that the one of the previous page was lost.
func (t *processTracker) lost(connection Connection) bool {
	return connection == Reopened || connection == Opened && t.kept
}

// contradicts reports whether a page shows that the late one belongs to another process. A process that
// began in the meantime may have counted as much again.
func (l *latePage) contradicts(s *Sighting, lost bool) bool {
	if l.path.values == nil || l.crossed || lost {
		return false
	}
	return l.path.contradicts(&l.before, s.id, l.before.read(nil, s.block, s.page), false)
}

// one returns 1 if something happened, else 0.
func one(happened bool) uint8 {
	if happened {
		return 1
	}
	return 0
}

// differ reports whether two pages name different processes.
func differ(a, b engine.Process) bool {
	same, known := a.SameAs(b)
	return known && !same
}

// fellBefore reports whether a counter fell for the second time in a window, unless a model is loaded again
// and again.
func (t *processTracker) fellBefore(now int64, c *changes) bool {
	again := func(i int) bool {
		before, ok := t.fell[t.base.hash(i)]
		return ok && now-before.at <= t.window
	}
	return len(t.fell) > 0 && slices.ContainsFunc(c.fell, again) && !t.reloads(now, c)
}

// reloads reports whether nothing but counters of some models fell within a window, while those of another one
// grow, which never fell: those of another process would be lower than some of that model, too, now or on the way
// back.
func (t *processTracker) reloads(now int64, c *changes) bool {
	fell := make(map[string]bool)
	for _, i := range c.fell {
		fell[t.base.model(i)] = true
	}
	for _, before := range t.fell {
		if now-before.at <= t.window {
			fell[before.model] = true
		}
	}
	if fell[""] {
		return false
	}
	for i, v := range t.row {
		if model := t.base.model(i); v > t.previous()[i] && model != "" && !fell[model] {
			return true
		}
	}
	return false
}

// previous returns the counters of the previous page.
func (t *processTracker) previous() []float64 {
	if t.doubt {
		return t.path.values
	}
	return t.base.values
}

// returns reports whether a process has answered before, or started before the present one: it
// does not replace it.
func (t *processTracker) returns(id engine.Process) bool {
	if id.Started > 0 && id.Started < t.base.id.Started {
		return true
	}
	return slices.ContainsFunc(t.names, func(n named) bool { return n.answered && n.is(id) })
}

// is reports whether a name may be that of the process.
func (n *named) is(id engine.Process) bool {
	same, known := n.id.SameAs(id)
	return same || !known && n.id.Started > 0 && id.Started > 0
}

// record stores the last sighting, of a page that is part of the window.
func (t *processTracker) record(s *Sighting) {
	first := t.base.page == nil
	t.note(s.now, s.id, true)
	switch {
	case s.several:
		t.several, t.provedAt, t.fell = true, s.now, nil
	case s.doubt:
		t.noteFalls(s.now, s.changes.fell)
	}
	t.passLate(s)
	if t.doubt = s.doubt; t.doubt {
		t.path.add(&t.base, s.id, t.row)
	} else {
		t.row = t.base.set(t.row, s.id, s.block, s.page)
		t.path = path{}
	}
	t.kept, t.gone = s.connection == Kept, s.changes.gone
	t.pages++
	switch {
	case first, s.doubt, s.transition == restarts:
		t.wanted, t.pages = firstFresh, 0
	case t.isSeveral(s.now):
		t.wanted = max(t.wanted, knownFresh)
	case t.pages <= firstFresh, t.pages%pagesPerFresh == 0:
		t.wanted = max(t.wanted, laterFresh)
	}
}

// takeFresh reports whether a fresh page is wanted, which is requested then: none before a late one has
// been compared.
func (t *processTracker) takeFresh() bool {
	if t.wanted == 0 || t.late.path.values != nil {
		return false
	}
	t.wanted--
	t.atRequest = t.base.copied()
	return true
}

func (t *processTracker) forgoFresh() { t.wanted, t.atRequest = 0, base{} }

// addFresh stores what a fresh page shows that was read after the previous page.
func (t *processTracker) addFresh(now int64, block *exposition.Block, page *engine.Page) {
	t.atRequest = base{}
	if t.base.page == nil {
		return
	}
	t.row = t.base.read(t.row, block, page)
	id := page.Process(block)
	t.note(now, id, false)
	t.path.add(&t.base, id, t.row)
}

// addLate keeps a fresh page that was on its way together with another one, which comes later if crossed.
func (t *processTracker) addLate(now int64, block *exposition.Block, page *engine.Page, crossed bool) {
	before := t.atRequest
	t.atRequest = base{}
	if before.page == nil {
		return
	}
	id := page.Process(block)
	t.note(now, id, false)
	t.late = latePage{before: before, crossed: crossed}
	t.late.path.add(&before, id, before.read(nil, block, page))
}

// passLate takes note of a page that comes after or together with a late one. What a late page shows beside
// a process that may have begun again proves nothing.
func (t *processTracker) passLate(s *Sighting) {
	switch {
	case t.lost(s.connection) || s.doubt || s.transition != continues:
		t.atRequest, t.late = base{}, latePage{}
	case t.late.crossed:
		t.late.crossed = false
	default:
		t.late = latePage{}
	}
}

// note stores when a process answered that names itself.
func (t *processTracker) note(now int64, id engine.Process, answered bool) {
	if id == (engine.Process{}) {
		return
	}
	i := slices.IndexFunc(t.names, func(n named) bool { return n.is(id) })
	if i < 0 {
		if len(t.names) == maxNames {
			oldest := slices.MinFunc(t.names, func(a, b named) int { return cmp.Compare(a.last, b.last) })
			t.names = slices.DeleteFunc(t.names, func(n named) bool { return n == oldest })
		}
		i = len(t.names)
		t.names = append(t.names, named{id: id})
	}
	n := &t.names[i]
	n.last, n.answered = now, n.answered || answered
}

func (t *processTracker) noteFalls(now int64, fell []int) {
	for hash, before := range t.fell {
		if now-before.at > t.window {
			delete(t.fell, hash)
		}
	}
	for _, i := range fell {
		if t.fell == nil {
			t.fell = make(map[uint64]fall)
		}
		t.fell[t.base.hash(i)] = fall{at: now, model: t.base.model(i)}
	}
}

// isSeveral reports whether several processes answered within the last window.
func (t *processTracker) isSeveral(now int64) bool {
	return t.several && now-t.provedAt <= t.window
}

// count returns how many processes are known to answer, at least two if they do not name
// themselves, or 0 if only one is.
func (t *processTracker) count(now int64) int {
	if !t.isSeveral(now) {
		return 0
	}
	n := 0
	for i := range t.names {
		if t.names[i].last >= now-t.window {
			n++
		}
	}
	return max(n, 2)
}

// base holds the counters of a page.
type base struct {
	id   engine.Process
	page *engine.Page
	// series are the numbers of the watched series, places those of their values.
	series []int
	places []exposition.ValueIndex
	values []float64
}

// nowhere is the place of a counter that is not on a page.
const nowhere = exposition.ValueIndex(math.MaxUint32)

// read reads the counters of the base from any page into a row, NaN if the page lacks them.
func (b *base) read(row []float64, block *exposition.Block, page *engine.Page) []float64 {
	row = slices.Grow(row[:0], len(b.places))[:len(b.places)]
	places := b.places
	if page != b.page {
		places = b.placesOn(page)
	}
	for i, place := range places {
		row[i] = math.NaN()
		if place != nowhere {
			row[i] = block.Number(place)
		}
	}
	return row
}

// placesOn returns where another page has the counters of the base.
func (b *base) placesOn(page *engine.Page) []exposition.ValueIndex {
	shape, all := page.Shape(), make(map[uint64]exposition.ValueIndex)
	for _, i := range page.Counters() {
		all[shape.WatchedLabels(i).Hash()] = shape.WatchedIndex(i)
	}
	places := make([]exposition.ValueIndex, len(b.series))
	for i := range places {
		place, ok := all[b.hash(i)]
		if !ok {
			place = nowhere
		}
		places[i] = place
	}
	return places
}

// copied returns a copy that stays as it is.
func (b *base) copied() base {
	c := *b
	c.values = slices.Clone(b.values)
	return c
}

func (b *base) hash(i int) uint64 { return b.page.Shape().WatchedLabels(b.series[i]).Hash() }

// model returns the model that a counter counts for, empty if it counts for none.
func (b *base) model(i int) string { return b.page.ModelOf(b.series[i]) }

// set makes a page the base. Row holds what [base.read] read from it, and is exchanged.
func (b *base) set(row []float64, id engine.Process, block *exposition.Block, page *engine.Page) []float64 {
	b.id = id
	if page == b.page {
		row, b.values = b.values, row
		return row
	}
	b.page, b.series = page, page.Counters()
	b.places = make([]exposition.ValueIndex, len(b.series))
	for i, series := range b.series {
		b.places[i] = page.Shape().WatchedIndex(series)
	}
	b.values = b.read(nil, block, page)
	return row
}

// path describes pages that follow a base, by its counters.
type path struct {
	// id is the name on the last of them, values the last values.
	id     engine.Process
	values []float64
	// renamed counts how often the name changed, fell how often each counter fell.
	renamed uint8
	fell    []uint8
}

// maxFalls is more than a counter of one process can fall between two pages, and no overflow.
const maxFalls = 100

// add adds a page, whose counters are in row.
func (p *path) add(from *base, id engine.Process, row []float64) {
	if p.values == nil {
		*p = path{id: from.id, values: slices.Clone(from.values), fell: make([]uint8, len(row))}
	}
	p.renamed = min(p.renamed+one(differ(p.id, id)), maxFalls)
	if id != (engine.Process{}) {
		p.id = id
	}
	for i, v := range row {
		p.fell[i] = min(p.fell[i]+one(falls(p.values[i], v)), maxFalls)
		if !math.IsNaN(v) {
			p.values[i] = v
		}
	}
}

// contradicts reports whether a page follows from the base, but not from a page in between, which then
// belongs to another process. Row holds its counters. If the connection was lost in the meantime, the process may
// have restarted once, before one of those in between or after all of them, and counted more since than before.
func (p *path) contradicts(from *base, id engine.Process, row []float64, lost bool) bool {
	if p.values == nil {
		return false
	}
	if same, _ := from.id.SameAs(id); same && p.renamed == 0 {
		return false
	}
	if p.renamed+one(!lost && differ(p.id, id)) > one(differ(from.id, id)) {
		return true
	}
	for i, v := range row {
		if p.fell[i]+one(!lost && falls(p.values[i], v)) > one(lost || falls(from.values[i], v)) {
			return true
		}
	}
	return false
}
