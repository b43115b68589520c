package derive

import (
	"fmt"
	"slices"
	"sync"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// programKey is all that a program depends on: targets with equal keys share one.
type programKey struct {
	page exposition.WatchedKey
	// rest holds the options, and what of the page is not in its series.
	rest string
}

// programs holds the programs of all targets.
//
//nolint:gochecknoglobals // memory only; it says nothing of any target's numbers.
var programs exposition.Interner[programKey, program]

// programKey returns the key of the program for a page, or false if it cannot be
// shared: the traffic of models and a GPU that is a label differ by target.
func (o *Options) programKey(page *engine.Page) (programKey, bool) {
	alike, ok := page.Shape().WatchedKey()
	ok = ok && (o.Budget.Models == 0 || len(page.NamedModels().Names) <= o.Budget.Models) && !o.Identity.Labels.Has(exposition.LabelGPU)
	// Relabeling may number GPUs in another order than that of their names, by which
	// series are sorted.
	return programKey{alike, fmt.Sprintf(
		"%s %+v %+v %+v %q %v %v %d %t %t %t %s %q %q %q %s",
		o.Engine.Kind(), page.Ranks(), o.Identity.Topology, o.Objectives, o.Aliases, o.takenAliases(page.Shape()), o.caches,
		o.Budget.Models, o.NoWindowGauges, o.AliasesOnly, o.RawHidden, sortOrder(page.Shape().GPUs()),
		o.Identity.EngineVersion, o.Identity.TRTLLMVersion, o.Identity.Source, o.Identity.ruleLabels(),
	)}, ok
}

func sortOrder(names []string) string {
	var positions []int
	sorted := slices.Sorted(slices.Values(names))
	for _, name := range names {
		positions = append(positions, slices.Index(sorted, name))
	}
	return fmt.Sprint(positions)
}

// takenAliases reports which names of aliases the server's own exposed page has.
func (o *Options) takenAliases(page *exposition.Shape) map[string]bool {
	if o.RawHidden || len(o.Aliases) == 0 {
		return nil
	}
	names := []string{cacheConfig}
	for _, a := range Aliases() {
		names = append(names, a.Name)
	}
	taken := make(map[string]bool)
	for _, f := range page.Families() {
		if slices.Contains(names, f.Name) {
			taken[f.Name] = true
		}
	}
	return taken
}

// ruleLabelNames returns the names of all labels that rules set or read.
//
//nolint:gochecknoglobals // constant data that is made when it is first asked for.
var ruleLabelNames = sync.OnceValue(func() []string {
	names := []string{"engine"}
	add := func(_ Scope, all []string) { names = append(names, all...) }
	for _, f := range Catalogue() {
		add(f.rule.scopeAndLabels())
	}
	for _, s := range servers() {
		for signal := range s.signals {
			add(labelsOf(signal))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
})

// ruleLabels returns the labels of the target whose names rules use or read.
func (id *Identity) ruleLabels() labels.Labels {
	return id.Labels.MatchLabels(true, ruleLabelNames()...)
}
