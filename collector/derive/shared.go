package derive

import (
	"fmt"
	"slices"
	"sync"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// programKey is everything that a program depends on: targets with equal keys share a program.
type programKey struct {
	page exposition.WatchedKey
	// options holds the options, and what the page shows besides its series.
	options string
}

// programs holds the programs of all targets.
//
//nolint:gochecknoglobals // memory only; it holds no values of any target.
var programs exposition.Interner[programKey, program]

// programKey returns the key of the program for a page. It reports false if the program cannot be
// shared, since the traffic of models and GPUs in labels differ between targets.
func (o *Options) programKey(page *engine.Page) (programKey, bool) {
	alike, ok := page.Shape().WatchedKey()
	ok = ok && (o.Output.Models == 0 || len(page.NamedModels().Names) <= o.Output.Models) && !o.Identity.Labels.Has(exposition.LabelGPU)
	// Series are sorted by the names of GPUs after relabeling, which may be in another order.
	return programKey{alike, fmt.Sprintf(
		"%s %+v %+v %+v %q %v %v %d %t %t %t %s %q %q %q %s",
		o.Engine.Name, page.Ranks(), o.Identity.Topology, o.Objectives, o.Aliases, o.takenAliases(page.Shape()), o.caches,
		o.Output.Models, o.NoWindowGauges, o.AliasesOnly, o.RawHidden, sortOrder(page.Shape().GPUs()),
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

// takenAliases returns the names of aliases that are already on the server's exposed page.
func (o *Options) takenAliases(page *exposition.Shape) map[string]bool {
	if o.RawHidden || len(o.Aliases) == 0 {
		return nil
	}
	names := []string{cacheConfig}
	for _, a := range Aliases() {
		names = append(names, a.Name)
	}
	existing := make(map[string]bool)
	for _, f := range page.Families() {
		if slices.Contains(names, f.Name) {
			existing[f.Name] = true
		}
	}
	return existing
}

// ruleLabelNames returns the names of all labels that any rule sets or reads.
//
//nolint:gochecknoglobals // constant data, built on first use.
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

// ruleLabels returns the labels of the target that rules set or read.
func (id *Identity) ruleLabels() labels.Labels {
	return id.Labels.MatchLabels(true, ruleLabelNames()...)
}
