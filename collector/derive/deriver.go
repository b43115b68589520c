package derive

import (
	"maps"
	"math"
	"slices"
	"time"
	"unique"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/slo"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Options say what one target's derivation works with.
type Options struct {
	// Window is how far rules look back, Interval the time between scrapes.
	Window, Interval time.Duration
	// StallAfter is how long work may be in flight without an iteration; 0
	// is [DefaultStallAfter].
	StallAfter time.Duration
	// Engine is the kind of the server, Identity what its series carry.
	Engine   engine.Engine
	Identity Identity
	// Objectives are those of the pool, by which requests are counted.
	Objectives []slo.Objective
	// Aliases are the other vocabularies, of [AliasSets], in which values are
	// repeated; AliasesOnly leaves the llm_server_* names themselves off.
	Aliases     []string
	AliasesOnly bool
	// NoWindowGauges keeps the families from the page that a query computes of
	// others, see [InPromQL].
	NoWindowGauges bool
	// RawHidden says that the server's own series are not shown, so that none of
	// their names is taken.
	RawHidden bool
	// Before is what interrupted windows of the same target that were given up.
	Before Stats
	// caches are the sizes of the KV caches by model id, as far as they are known.
	caches map[string]cacheSize
	// Budget bounds the series, together with those of the page.
	Budget Budget
	// Guard keeps a panic of a rule from the reader that met it, and returns it;
	// the page then has no derived series. It may be called from any goroutine;
	// nil lets panics through.
	Guard func(do func()) error
}

// Deriver makes the derived series of one target, page after page. It is not
// safe for concurrent use.
type Deriver struct {
	opts    Options
	read    *engine.Page
	program *program
	window  *Window
	out     *exposition.Computed
	row     []float64
	// page and block are what render, made once, works on.
	page, block *exposition.Block
	render      func()
	glances     glances
	left        LeftOut
	// failing counts the pages on which requests failed since one succeeded, of
	// which failedAt is the time of the last.
	failing  int
	failedAt int64
	// busy is since when each work has been in flight.
	busy map[string]int64
	// born are the counters that appeared, of servers whose do with their first
	// event.
	born map[unique.Handle[string]]struct{}
}

// NewDeriver returns a deriver that has seen no page.
func NewDeriver(opts Options) *Deriver {
	d := &Deriver{opts: opts, busy: make(map[string]int64), born: make(map[unique.Handle[string]]struct{})}
	d.render = func() { d.program.render(d.window, d.page, d.block) }
	return d
}

// Identify changes what the series carry; the window is kept.
func (d *Deriver) Identify(identity Identity) {
	d.opts.Identity = identity
	d.read = nil
}

// Stats counts what interrupted the target's windows so far, this one and those
// before.
func (d *Deriver) Stats() Stats {
	all := d.opts.Before
	if d.window != nil {
		all.Add(d.window.stats)
	}
	return all
}

// Objectives say which objectives of the pool are measured by pages as the last
// one. The slice is shared and only read.
func (d *Deriver) Objectives() []target.Check {
	if d.program == nil {
		return nil
	}
	return d.program.objectives
}

// Follow takes the numbers of one page into the window, given what was read of
// pages of its shape. The moment of its scrape is given as the time since any
// fixed moment, by the monotonic clock.
//
// The derived series are computed only when somebody reads them, for pages may
// be scraped more often than they are read: when the block that is returned is
// settled, which must be before the next page is followed, if at all. The
// caller holds the one reference of the block, which goes on with the memory of
// the page: a page is followed before it is published.
func (d *Deriver) Follow(at time.Duration, page *exposition.Block, read *engine.Page) *exposition.Block {
	if read != d.read {
		d.compile(read)
	}
	d.program.values(page, d.row, &d.window.stats)
	if d.window.push(int64(at), d.row) {
		d.watchFailures()
		d.watchWork()
		d.sizeCaches()
	}
	return d.out.Over(page, d.program.room(), d)
}

// Fill implements [exposition.Filler].
func (d *Deriver) Fill(page, out *exposition.Block) {
	if d.opts.Guard == nil {
		d.program.render(d.window, page, out)
		return
	}
	d.page, d.block = page, out
	if err := d.opts.Guard(d.render); err != nil {
		out.Clear()
	}
	d.page, d.block = nil, nil
}

// compile makes a plan for pages of another shape; inputs that both shapes have
// keep their values.
func (d *Deriver) compile(read *engine.Page) {
	before, window := d.program, d.window
	d.read = read
	plan := newPlan(&d.opts, read)
	d.program = plan.compile(&d.opts, read.Shape())
	d.window = newWindow(d.opts.Window, d.opts.Interval, d.program.counter)
	if window != nil {
		d.window.adopt(window, d.program.from(before))
	}
	d.window.begin(d.newborn())
	d.left = LeftOut{plan.unread, boundSeries(d.program.series, d.opts.Budget.Less(read.Shape().Cost()))}
	d.out = exposition.NewRelabelled(d.program.series, d.opts.Identity.Relabel, read.Shape())
	d.program.series = nil
	d.forgetWork()
	d.row = make([]float64, len(d.program.places))
}

// forgetWork forgets what the page has no more.
func (d *Deriver) forgetWork() {
	maps.DeleteFunc(d.busy, func(key string, _ int64) bool {
		return !slices.ContainsFunc(d.program.watch.works, func(k work) bool { return k.key == key })
	})
}

// mostBorn bounds the counters of which it is kept that they appeared.
const mostBorn = 4096

// newborn are the counters of the new shape that the page never had before, of
// servers on whose pages they come with their first event. One that was gone for
// some pages and is there again is not new.
func (d *Deriver) newborn() []int {
	var columns []int
	for i, key := range d.program.keys {
		_, known := d.born[key]
		if !d.program.appears[i] || known || len(d.born) >= mostBorn {
			continue
		}
		d.born[key] = struct{}{}
		if math.IsNaN(d.window.current[i]) {
			columns = append(columns, i)
		}
	}
	return columns
}
