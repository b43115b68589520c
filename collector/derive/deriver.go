package derive

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Options say what one target's derivation works with.
type Options struct {
	// Window is how far rules look back, Interval the time between scrapes.
	Window, Interval time.Duration
	// StallAfter is how long work may be in flight without an iteration; 0
	// is [DefaultStallAfter].
	StallAfter time.Duration
	// FailingMin is how many requests must fail in a row for the replica to count as
	// failing; 0 is [DefaultFailingMin].
	FailingMin int
	// Engine is the kind of the server, Identity what its series carry.
	Engine   engine.Engine
	Identity Identity
	// Objectives are those of the pool, by which requests are counted.
	Objectives []Objective
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
	// Stats count what interrupts the target's windows, those of earlier derivers too;
	// nil begins anew.
	Stats *Stats
	// caches are the sizes of the KV caches by model id, as far as they are known.
	caches map[string]cacheSize
	// Budget bounds the series, together with those of the page.
	Budget Budget
}

// Deriver makes the derived series of one target, page after page. It is not
// safe for concurrent use.
type Deriver struct {
	opts Options
	// read is what was read of the page that the program was made for, ranks what was
	// known of its ranks.
	read    *engine.Page
	ranks   engine.Ranks
	program *program
	window  *Window
	// out are the series with the target's labels, gpus those of its page.
	out       *exposition.Computed
	gpus      []string
	row       []float64
	left      LeftOut
	processes processes
	failing   failures
	// busy is each work that is in flight, stale how many requests of it are not,
	// whatever the gauges say.
	busy  map[string]*workInFlight
	stale map[string]float64
	// born are the counters that appeared, of servers whose do with their first
	// event.
	born map[column]struct{}
}

// failures are what failed since a request succeeded: on how many pages, and how many.
type failures struct {
	pages    int
	requests float64
}

// NewDeriver returns a deriver that has seen no page.
func NewDeriver(opts Options) *Deriver {
	opts.Stats = cmp.Or(opts.Stats, &Stats{})
	return &Deriver{opts: opts, busy: make(map[string]*workInFlight), stale: make(map[string]float64), born: make(map[column]struct{})}
}

// Identify changes what the series carry; the window is kept.
func (d *Deriver) Identify(identity Identity) {
	d.opts.Identity = identity
	d.read, d.ranks = nil, 0
}

// Stats returns what interrupted the target's windows so far.
func (d *Deriver) Stats() Stats { return *d.opts.Stats }

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
func (d *Deriver) Follow(at time.Duration, page *exposition.Block, read *engine.Page) {
	if read != d.read || read.Ranks() != d.ranks {
		d.compile(read, page)
	}
	d.program.values(page, d.row, d.opts.Stats)
	d.window.lessen(d.program.lessened, d.row)
	seen := d.processes.look(int64(at), d.window.length, page, read)
	if d.window.push(int64(at), d.row, seen.turn) {
		d.processes.take(int64(at), d.window.length, &seen, page, read)
		d.watchFailures()
		d.watchWork()
		d.sizeCaches(page)
	}
}

// Render returns the derived series of the page that was followed last.
func (d *Deriver) Render(page *exposition.Block) *exposition.Block {
	out := d.out.Block()
	d.program.render(d.window, page, out)
	return out
}

// BeganAgain reports whether a page that comes next is the first of a process that
// began since the last.
func (d *Deriver) BeganAgain(at time.Duration, page *exposition.Block, read *engine.Page) bool {
	if d.window == nil {
		return false
	}
	seen := d.processes.look(int64(at), d.window.length, page, read)
	return seen.turn == restarts
}

// Processes is how many processes answer in turn, 0 where no more than one is known
// to.
func (d *Deriver) Processes() int {
	if d.window == nil {
		return 0
	}
	return d.processes.several(d.window.now, d.window.length)
}

// compile takes the program for pages of another shape, which is that of other targets
// where one has the equal, and gives its series the labels of the target. Inputs that
// the program before has too keep their values.
func (d *Deriver) compile(read *engine.Page, numbers *exposition.Block) {
	old, oldGPUs, window := d.program, d.gpus, d.window
	d.read, d.ranks, d.gpus = read, read.Ranks(), read.Shape().GPUs()
	compile := func() *program { return newPlan(&d.opts, read, numbers).compile(&d.opts, read.Shape()) }
	if alike, shares := d.opts.likeness(read); shares {
		d.program = kept.Intern(alike, nil, compile)
	} else {
		d.program = compile()
	}
	series := d.program.seriesOf(&d.opts.Identity, d.gpus)
	d.left = LeftOut{d.program.unread, boundSeries(series, d.opts.Identity.Topology.Served(), d.opts.Budget.Remaining(read.Shape().Cost()))}
	d.out = exposition.NewComputed(series, d.opts.Identity.Relabel, read.Shape())
	d.window = newWindow(d.opts.Window, d.opts.Interval, d.program.counter)
	d.window.results, d.window.stats = make([]any, d.program.results), d.opts.Stats
	if window != nil {
		d.window.adopt(window, d.program.from(old, d.gpus, oldGPUs))
	}
	d.window.begin(d.newborn())
	d.forgetWork()
	d.row = make([]float64, len(d.program.places))
}

// forgetWork forgets what the page has no more.
func (d *Deriver) forgetWork() {
	gone := func(key string) bool {
		return !slices.ContainsFunc(d.program.watch.works, func(k work) bool { return k.key == key })
	}
	maps.DeleteFunc(d.busy, func(key string, _ *workInFlight) bool { return gone(key) })
	maps.DeleteFunc(d.stale, func(key string, _ float64) bool { return gone(key) })
}

// mostBorn bounds the counters of which it is kept that they appeared.
const mostBorn = 4096

// newborn are the counters of the new shape that the page never had before, of
// servers on whose pages they come with their first event. One that was gone for
// some pages and is there again is not new.
func (d *Deriver) newborn() []int {
	var columns []int
	for i, numbered := range d.program.keys {
		key := numbered.on(d.gpus)
		_, known := d.born[key]
		if !d.program.appears[i] || known || len(d.born) >= mostBorn {
			continue
		}
		d.born[key] = struct{}{}
		if math.IsNaN(d.window.current[i]) {
			columns = append(columns, i)
		}
	}
	for _, numbered := range d.program.counters {
		if len(d.born) < mostBorn/2 { // The rest is for those that rules read.
			d.born[numbered.on(d.gpus)] = struct{}{}
		}
	}
	return columns
}
