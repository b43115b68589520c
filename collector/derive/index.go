package derive

import (
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// index holds where pages of one shape have what rules ask for, and the series that rules set. It
// is immutable once it is built, and belongs to all targets with pages of that shape and equal
// options.
type index struct {
	columns

	naming   Naming
	topology *engine.Topology
	// noWindowGauges hides the families that PromQL can compute.
	noWindowGauges bool
	// off hides the series of these groups. Some are repeated under other names if aliased is true.
	off exposition.Groups
	// rawWhole hides points of distributions that are exposed under the server's name.
	rawWhole bool
	aliased  bool
	wanted   []Objective
	facts

	// replica is the subject of rules for all models together, models those of each model id, sorted.
	replica *Model
	models  []*Model

	checks     []*check
	outcomes   []*outcome
	objectives []*objective
	// histograms counts those whose growth is computed once a page.
	histograms int

	// applied lists the rules that the page has the signals for, with their series.
	applied []appliedRule
	series  []exposition.ComputedSeries
	repeats []repeat
	// repeated lists the series that have the value of a single number of the page.
	repeated []repeatedValue
	// The first hidden series are computed only for their aliases.
	hidden int
	// sized lists the KV caches whose size is shown in labels by the last series.
	sized []*Model
	watch watch
	// measured lists which objectives of the pool are measured by pages of the shape.
	measured []target.Check
	// copied lists the histograms that are copied, broken counts incomplete ones.
	copied []*group
	broken uint64
	// droppedModels counts the models beyond the limit.
	droppedModels int
	// addsUp is true if a counter is a sum of several of the page.
	addsUp bool

	// building holds what is needed only until the index is built.
	building *building
}

// facts is what a page tells about itself.
type facts struct {
	ranks  engine.Ranks
	quirks engine.Quirks
	// countsFailures is true if the page shows failed requests.
	countsFailures bool
	counted        []engine.Class
	// lackFirstResponse is true if some loaded models have no time to the first response.
	lackFirstResponse bool
	gpus              []string
}

// building holds the sources of the page, which columns they have, and which samples are checked.
type building struct {
	page    *engine.Page
	sources []source
	// byID holds the models by id, instances each model and version of the server.
	byID      map[string]*Model
	instances map[instance]*Model

	columns map[int]int
	checked map[exposition.ValueIndex]bool
	// view is on a window without pages.
	view *View
}

// appliedRule is a rule with the models that it is run for, and the range of its series.
type appliedRule struct {
	family      *Family
	models      []*Model
	first, last int
}

// newIndex returns the index of a page. The block holds its values and may be nil.
func newIndex(opts *Options, page *engine.Page, block *exposition.Block) *index {
	ix := &index{
		naming:         opts.Naming,
		topology:       opts.Naming.Topology,
		noWindowGauges: opts.NoWindowGauges,
		off:            opts.Off,
		rawWhole:       opts.RawWhole,
		aliased:        opts.aliases(page.Shape()) != 0,
		wanted:         opts.Objectives,
	}
	ix.naming.Labels, ix.naming.Relabel = opts.Naming.ruleLabels(), nil // Labels of the target are set later.
	ix.facts = facts{
		ranks:          page.Ranks(),
		quirks:         opts.Engine.Quirks(page),
		countsFailures: opts.Engine.CountsFailures(page),
		counted:        countedClasses(page, opts.Engine),
		gpus:           page.Shape().GPUs(),
	}
	ix.building = &building{
		page:      page,
		sources:   sourcesOf(page, &ix.naming),
		byID:      make(map[string]*Model),
		instances: make(map[instance]*Model),
		columns:   make(map[int]int),
		checked:   make(map[exposition.ValueIndex]bool),
		view:      &View{index: ix, window: newWindow(opts.Window, opts.Interval, nil)},
	}
	ix.dropModels(opts.Output.Models, block)
	ix.addModels()
	ix.addChecks()
	ix.addOutcomes()
	ix.addObjectives()
	ix.runRules()
	ix.addCounters()
	ix.addAliases(opts.aliases(page.Shape()), opts.AliasesOnly)
	ix.watchConditions()
	ix.building = nil
	return ix
}

// runRules runs all rules on a page without values, which tells their series and columns.
func (ix *index) runRules() {
	v := newView(ix, ix.building.view.window)
	v.judge()
	ix.building.view = v
	out := &Out{view: v, series: &ix.series}
	catalogue := Catalogue()
	for i := range catalogue {
		f := &catalogue[i]
		if !f.rule.runs() || !f.rule.needs.met(ix.replica.has) {
			continue
		}
		a := appliedRule{family: f, first: len(ix.series)}
		if f.rule.model != nil {
			a.models = ix.having(f.rule.needs)
		}
		out.family = f
		f.rule.run(v, a.models, out)
		if ix.unread(f, ix.series[a.first:]) {
			ix.dropFrom(a.first)
			continue
		}
		a.last = len(ix.series)
		ix.applied = append(ix.applied, a)
	}
}

// hides reports whether a series is not written: its group is off, PromQL can compute it, or it is a part of a
// distribution that is written under the server's name.
func (ix *index) hides(f *Family, suffix string, lset labels.Labels) bool {
	group := f.GroupOf(suffix, lset)
	return ix.off.Has(group) || ix.noWindowGauges && f.InPromQL.Query != "" ||
		ix.rawWhole && group != exposition.GroupCore && isPoint(suffix, lset)
}

// unread reports whether nothing has a use for the values of a family of which no series is exposed. Status pages and
// aliases have some: the former read groups core and windows.
func (ix *index) unread(f *Family, all []exposition.ComputedSeries) bool {
	shown := slices.ContainsFunc(all, func(s exposition.ComputedSeries) bool { return !s.Hidden })
	return !shown && f.Group != exposition.GroupCore && f.Group != exposition.GroupWindows && !ix.aliased
}

// dropFrom drops the series from a number on. What their rule asked for stays, so that all that is found out about a
// page is the same with any groups.
func (ix *index) dropFrom(first int) {
	ix.series = ix.series[:first]
	ix.repeated = slices.DeleteFunc(ix.repeated, func(r repeatedValue) bool { return r.series >= first })
}

// addCounters lists all counters of the page if counters appear with their first event: one that no
// rule reads yet must not count as new when one does.
func (ix *index) addCounters() {
	if !ix.quirks.CountersAppear {
		return
	}
	for i := range ix.building.sources {
		if s := &ix.building.sources[i]; s.counter {
			ix.counters = append(ix.counters, s.columnOf(ix.gpus))
		}
	}
}

// having returns the models that have the signals.
func (ix *index) having(needs inputs) []*Model {
	if len(needs) == 0 {
		return nil
	}
	return filter(ix.models, func(m *Model) bool { return needs.met(m.has) })
}

func filter[T any](all []T, keep func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(all), func(item T) bool { return !keep(item) })
}
