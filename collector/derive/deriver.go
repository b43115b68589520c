package derive

import (
	"cmp"
	"math"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Options configures the [Deriver] of one target.
type Options struct {
	// Window is how far rules look back, Interval the time between scrapes.
	Window, Interval time.Duration
	// StallAfter is how long work may make no progress; it defaults to [DefaultStallAfter].
	StallAfter time.Duration
	// FailingMin is how many requests must fail in a row; it defaults to [DefaultFailingMin].
	FailingMin int
	Engine     *engine.Kind
	Naming     Naming
	Objectives []Objective
	// Aliases lists vocabularies of [exposition.AliasSets]. AliasesOnly hides llm_server_*.
	Aliases     []string
	AliasesOnly bool
	// NoWindowGauges hides the families that PromQL can compute, see [InPromQL].
	NoWindowGauges bool
	// Off lists the groups whose series are not written.
	Off exposition.Groups
	// RawHidden is true if the server's own series are not exposed, RawWhole if all are. Then buckets and quantiles
	// that nothing of group core reads are written under their names alone.
	RawHidden, RawWhole bool
	// Stats continues the counts of an earlier deriver; if nil, they start at 0.
	Stats *Stats
	// Output limits the series of the page and the derived series together.
	Output Output
}

// Deriver computes the derived series of one target. It is not safe for concurrent use.
type Deriver struct {
	opts Options
	// The index is of page, ranks and uses; gpus are the GPUs of the page.
	page   *engine.Page
	ranks  engine.Ranks
	uses   int
	gpus   []string
	index  *index
	window *Window
	view   *View
	// series holds the series with the target's labels, sizes the known sizes of KV caches by model
	// id, which are labels of some.
	series    *exposition.Shape
	sizes     map[string]cacheSize
	out       Out
	row       []float64
	dropped   Dropped
	processes processTracker
	// entries and works hold the state of each entry and work of the index, in its order.
	entries []*entryState
	works   []*workState
	// counts is what the pages have shown, less what on the newest one only seems to have ended well.
	counts Counts
	seemed float64
	latest latest
	own    ownRequests
	// convicted is true if a question has proven that the work stands still.
	convicted bool
	// paused is true while the server says that somebody paused it.
	paused bool
	// unmapped is the shape of what of the page no series repeats, nil before it is asked for.
	unmapped *exposition.Shape
	// appeared holds the counters that have appeared on a page.
	appeared map[column]struct{}
	// raised is the newest page with what is carried, nil if that is nothing.
	carried carried
	raised  *exposition.Block
}

// latest is when the pages last showed something of all entries.
type latest struct {
	// served is when a request ended well, moved when tokens of others moved, and called when a model that clients
	// call counted a request.
	served, moved, called int64
	// accepted is when a request ended of which nobody knows how, acceptedBy the model that accepted it.
	accepted   int64
	acceptedBy string
}

// NewDeriver returns a deriver without pages.
func NewDeriver(opts Options) *Deriver {
	opts.Stats = cmp.Or(opts.Stats, &Stats{})
	nothing, window := &index{}, newWindow(opts.Window, opts.Interval, nil)
	return &Deriver{
		opts:      opts,
		index:     nothing,
		window:    window,
		view:      newView(nothing, window),
		processes: processTracker{window: int64(max(opts.Window, minPages*opts.Interval))},
		appeared:  make(map[column]struct{}),
	}
}

// Rename changes the naming of the series. The window stays.
func (d *Deriver) Rename(naming Naming) {
	d.opts.Naming = naming
	d.page, d.ranks = nil, 0
}

// Stats returns the counts of what interrupted the target's windows.
func (d *Deriver) Stats() Stats { return *d.opts.Stats }

// Objectives returns which objectives the newest page measures. The slice must not be modified.
func (d *Deriver) Objectives() []target.Check { return d.index.measured }

// Sight determines which process a page comes from. The time now is monotonic, from any origin; page
// is the result of package engine for pages of the block's shape.
func (d *Deriver) Sight(now time.Duration, block *exposition.Block, page *engine.Page, connection Connection) Sighting {
	return d.processes.identify(int64(now), block, page, connection)
}

// Observe adds the values of a page to the window. It must be the page that was sighted last.
func (d *Deriver) Observe(seen Sighting) {
	block, page := seen.block, seen.page
	if page != d.page || page.Ranks() != d.ranks || d.dropped != (Dropped{}) && page.Uses() != d.uses {
		d.reindex(page, block, seen.changes.vouched)
	}
	if d.window.isNew(seen.now) {
		d.carried.next(d.index, page, block, seen.transition == continues, len(seen.changes.fell) > 0)
		d.window.raise(d.index.names, d.carried.moved)
	}
	d.raised = d.carried.raise(block)
	d.index.readRow(cmp.Or(d.raised, block), d.row, d.opts.Stats)
	d.window.setBatched(d.index.batched, d.row)
	d.window.setNet(seen.now, seen.transition, d.index.net, d.row)
	d.window.setOnce(d.index.once, d.row)
	isNew := d.window.push(seen.now-int64(seen.Took), seen.now, int64(seen.Age), d.row, seen.transition)
	d.view.judge()
	if isNew {
		d.processes.record(&seen)
		d.own.nextPage()
		d.watchEntries()
		d.watchWork()
		d.resizeCaches(block)
	}
}

// AddFresh compares a fresh page with the observed ones without adding it to the window. It was read
// after the last of them, over a new connection beside theirs.
func (d *Deriver) AddFresh(now time.Duration, block *exposition.Block, page *engine.Page) {
	d.processes.addFresh(int64(now), block, page)
}

// AddLate is AddFresh for a fresh page that was on its way together with one that is observed: with the
// next one if crossed, otherwise with the newest.
func (d *Deriver) AddLate(now time.Duration, block *exposition.Block, page *engine.Page, crossed bool) {
	d.processes.addLate(int64(now), block, page, crossed)
}

// TakeFresh reports whether a fresh page is wanted before the next page is observed, and assumes that
// it is requested.
func (d *Deriver) TakeFresh() bool { return d.processes.takeFresh() }

// ForgoFresh tells the deriver that no fresh pages can be had.
func (d *Deriver) ForgoFresh() { d.processes.forgoFresh() }

// Render returns the derived series as of the page that was observed last. They have no values
// while several processes answer or may answer: counters that alternate are resets to a reader,
// each of which counts as an increase.
func (d *Deriver) Render(block *exposition.Block) *exposition.Block {
	out := d.series.Block()
	if !d.withholds() {
		d.runRules(cmp.Or(d.raised, block), out)
	}
	return out
}

// withholds reports whether derived series have no values now.
func (d *Deriver) withholds() bool { return d.processes.doubt || d.processes.isSeveral(d.window.now) }

// Unmapped returns what of the page that was observed last no derived series repeats as it is: all of it
// while those have no values.
func (d *Deriver) Unmapped(block *exposition.Block) *exposition.Block {
	if d.withholds() {
		return block
	}
	if d.unmapped == nil {
		repeated := d.repeated()
		d.unmapped = block.Shape().Without(func(i exposition.ValueIndex) bool { return repeated[i] })
	}
	return block.In(d.unmapped)
}

// repeated returns which values of the page a derived series has, among those that are written.
func (d *Deriver) repeated() map[exposition.ValueIndex]bool {
	lines := make([]int, d.series.Lines())
	for i := range lines {
		lines[i] = i
	}
	written := make(map[exposition.ValueIndex]bool)
	for _, value := range d.series.ValueIndexes(lines) {
		written[value] = true
	}
	values := make(map[exposition.ValueIndex]bool)
	for _, r := range d.index.repeated {
		if written[exposition.ValueIndex(r.series)] {
			values[r.place] = true
		}
	}
	return values
}

// runRules sets the series of all rules, and those that repeat them under other names.
func (d *Deriver) runRules(page, block *exposition.Block) {
	ix := d.index
	d.out = Out{view: d.view, page: page, block: block}
	for i := range ix.applied {
		a := &ix.applied[i]
		d.out.next, d.out.end = a.first, a.last
		a.family.rule.run(d.view, a.models, &d.out)
	}
	for _, r := range ix.repeats {
		block.Repeat(r.series, r.original)
	}
	for i, m := range ix.sized {
		if d.view.Runs(m) {
			block.SetShort(len(ix.series)-len(ix.sized)+i, 1)
		}
	}
	for n := range ix.hidden {
		block.Unset(n)
	}
	d.out.page, d.out.block = nil, nil
}

// Processes returns the number of processes that are known to answer, or 0 if only one is. It is
// at least two, and more only if the pages name them.
func (d *Deriver) Processes() int { return d.processes.count(d.window.now) }

// reindex switches to the index of another shape of pages and keeps common columns. Goes on is true if
// the page is known to come from the process of the previous one: only then were counters that have just
// appeared 0 on the pages before.
func (d *Deriver) reindex(page *engine.Page, block *exposition.Block, goesOn bool) {
	old, oldGPUs, window := d.index, d.gpus, d.window
	d.page, d.ranks, d.uses, d.gpus = page, page.Ranks(), page.Uses(), page.Shape().GPUs()
	d.index = sharedIndex(&d.opts, page, block)
	d.label(block)
	d.window = newWindow(d.opts.Window, d.opts.Interval, d.index.counter)
	d.window.stats = d.opts.Stats
	d.window.adopt(window, d.index.from(&old.columns, d.gpus, oldGPUs))
	d.view = newView(d.index, d.window)
	if appeared := d.newCounters(); goesOn {
		d.window.startAtZero(appeared)
		d.window.beginNet(d.index.net, appeared)
	}
	d.goOn(&old.watch)
	d.row = make([]float64, len(d.index.places))
}

// goOn keeps the states of entries and works of an older index that the new one has, too.
func (d *Deriver) goOn(old *watch) {
	entries, works := make(map[string]*entryState), make(map[string]*workState)
	for i, s := range d.entries {
		entries[old.entries[i].key] = s
	}
	for i, s := range d.works {
		works[old.works[i].key] = s
	}
	d.entries, d.works = nil, nil
	for _, e := range d.index.watch.entries {
		d.entries = append(d.entries, cmp.Or(entries[e.key], &entryState{}))
	}
	for _, k := range d.index.watch.works {
		// Counters that have just appeared were 0 on the pages before.
		fresh := &workState{excess: excess{known: k.countersAppear && len(d.window.times) > 0}}
		d.works = append(d.works, cmp.Or(works[k.key], fresh))
	}
}

// label gives the series the labels of the target, within its budget.
func (d *Deriver) label(block *exposition.Block) {
	shape := d.page.Shape()
	series := d.index.seriesOf(&d.opts.Naming, d.gpus)
	d.index.setSizes(series, d.sizes)
	priorities := func() map[string]priority { return d.opts.Naming.priorities(d.page, block) }
	d.dropped = Dropped{d.index.droppedModels, dropSeries(series, d.opts.Output.Remaining(shape.Cost()), priorities)}
	d.series = exposition.NewComputed(series, d.opts.Naming.Relabel, shape)
	d.unmapped = nil
}

const maxAppeared = 4096

// newCounters returns the columns of counters that appeared with their first event.
func (d *Deriver) newCounters() []int {
	var columns []int
	for i, name := range d.index.names {
		c := name.on(d.gpus)
		_, seen := d.appeared[c]
		if !d.index.quirks.CountersAppear || !d.index.counter[i] || seen || len(d.appeared) >= maxAppeared {
			continue
		}
		d.appeared[c] = struct{}{}
		if math.IsNaN(d.window.current[i]) {
			columns = append(columns, i)
		}
	}
	for _, name := range d.index.counters {
		if len(d.appeared) < maxAppeared/2 { // The other half is reserved for counters that rules read.
			d.appeared[name.on(d.gpus)] = struct{}{}
		}
	}
	return columns
}
