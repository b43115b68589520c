package derive

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// likeness is all that a program follows from: targets for which it is equal have
// the same one. The labels of their series differ, of which a program knows none.
type likeness struct {
	page exposition.WatchedKey
	// rest are the options, and what of the page is not in its series.
	rest string
}

// likeness is that of pages as the one that was read; false where a program is no
// other's: which models have most of the traffic is each target's own, and so is what a
// GPU is called that the target has as a label.
func (o *Options) likeness(read *engine.Page) (likeness, bool) {
	page, ok := read.Shape().WatchedKey()
	ok = ok && (o.Budget.Models == 0 || len(read.NamedModels().Names) <= o.Budget.Models) && !o.Identity.Labels.Has(exposition.LabelGPU)
	// Rules for labels may show GPUs, and so number them, in another order than that of
	// their names, by which series are sorted.
	return likeness{page, fmt.Sprintf(
		"%s %+v %+v %+v %q %v %v %d %t %t %t %s %q %q %q %s",
		o.Engine.Kind(), read.Ranks(), o.Identity.Topology, o.Objectives, o.Aliases, o.taken(read.Shape()), o.caches,
		o.Budget.Models, o.NoWindowGauges, o.AliasesOnly, o.RawHidden, orderOf(read.Shape().GPUs()),
		o.Identity.EngineVersion, o.Identity.TRTLLMVersion, o.Identity.Source, o.Identity.named(),
	)}, ok
}

// orderOf is the order of names, by their places.
func orderOf(names []string) string {
	places := make([]int, len(names))
	for i := range places {
		places[i] = i
	}
	slices.SortFunc(places, func(a, b int) int { return strings.Compare(names[a], names[b]) })
	return fmt.Sprint(places)
}

// taken are the names of aliases that a page has itself, and that stay the server's if
// its page is shown.
func (o *Options) taken(page *exposition.Shape) map[string]bool {
	if o.RawHidden || len(o.Aliases) == 0 {
		return nil
	}
	names := map[string]bool{cacheConfig: false}
	for _, a := range Aliases() {
		names[a.Name] = false
	}
	for _, f := range page.Families() {
		if _, alias := names[f.Name]; alias {
			names[f.Name] = true
		}
	}
	return names
}

// ruleLabels are the names of all labels that rules give series, or read.
//
//nolint:gochecknoglobals // constant data that is made when it is first asked for.
var ruleLabels = sync.OnceValue(func() []string {
	names := []string{"engine"}
	add := func(_ Scope, all []string) { names = append(names, all...) }
	for _, f := range Catalogue() {
		add(f.rule.shape())
	}
	for _, s := range servers() {
		for signal := range s.signals {
			add(labelsOf(signal))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
})

// named are those labels of the target whose names rules use: they may change the
// order of series, and what rules read of labels.
func (id *Identity) named() labels.Labels {
	return id.Labels.MatchLabels(true, ruleLabels()...)
}

// others are those labels of the target of which rules know nothing.
func (id *Identity) others() labels.Labels {
	return id.Labels.MatchLabels(false, ruleLabels()...)
}

// kept are the programs of all targets.
//
//nolint:gochecknoglobals // memory only; it says nothing of any target's numbers.
var kept exposition.Interner[likeness, program]
