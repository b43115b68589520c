package derive

import (
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// Options say what one target's derivation works with.
type Options struct {
	// Window is how far rules look back, Interval the time between scrapes.
	Window, Interval time.Duration
	// StallAfter is how long work may be in flight without an iteration; 0
	// stands for [DefaultStallAfter].
	StallAfter time.Duration
	// Engine is the kind of the server, Identity what its series carry.
	Engine   engine.Engine
	Identity Identity
	// Aliases are the other vocabularies, of [AliasSets], in which values are
	// repeated; AliasesOnly leaves the llm_server_* names themselves off.
	Aliases     []string
	AliasesOnly bool
}

// Deriver makes the derived series of one target, page after page. It is not
// safe for concurrent use.
type Deriver struct {
	opts    Options
	index   engine.Index
	shape   *exposition.Shape
	program *program
	window  *Window
	out     *exposition.Computed
	row     []float64
	// failing counts the pages on which requests failed since one succeeded.
	failing int
	// busy is since when each executor has had work in flight.
	busy []int64
}

// NewDeriver returns a deriver that has seen no page.
func NewDeriver(opts Options) *Deriver {
	return &Deriver{opts: opts, index: engine.NewIndex(opts.Engine)}
}

// Watch says whether any rule may read the sample of that name; give it to
// the cache that parses the target's pages.
func (d *Deriver) Watch(name string) bool {
	_, ok := d.index[name]
	return ok
}

// Identify changes what the series carry; the window goes on.
func (d *Deriver) Identify(identity Identity) {
	d.opts.Identity = identity
	d.shape = nil
}

// Stats counts what interrupted the target's window so far.
func (d *Deriver) Stats() Stats {
	if d.window == nil {
		return Stats{}
	}
	return d.window.stats
}

// Derive computes the derived series from one page. The moment of its scrape
// is given as the time since any fixed moment, by the monotonic clock. The
// caller holds the one reference of the block it gets, which goes on with the
// memory of the page: a page is derived from before it is published.
func (d *Deriver) Derive(at time.Duration, page *exposition.Block) *exposition.Block {
	if page.Shape() != d.shape {
		d.compile(page.Shape())
	}
	falls := d.program.values(page, d.row, d.window.current, &d.window.stats)
	if d.window.push(int64(at), d.row, falls) {
		d.watchFailures()
		d.watchWork()
	}
	b := d.out.Over(page)
	d.program.render(d.window, page, b)
	b.Seal()
	return b
}

// compile plans anew for a page of another shape; inputs that both shapes
// have keep their past.
func (d *Deriver) compile(shape *exposition.Shape) {
	before, window := d.program, d.window
	d.shape = shape
	d.program = newPlan(d.index, &d.opts, shape)
	d.window = newWindow(d.opts.Window, d.opts.Interval, d.program.counters())
	if window != nil {
		d.window.adopt(window, d.program.from(before))
	}
	d.out = exposition.NewComputed(d.program.series)
	d.program.series = nil
	if len(d.busy) != len(d.program.watch.executors) {
		d.busy = make([]int64, len(d.program.watch.executors))
		for i := range d.busy {
			d.busy[i] = never
		}
	}
	d.program.open = make([]bool, len(d.program.gates))
	d.row = make([]float64, len(d.program.columns))
}
