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
	page exposition.Likeness
	// rest are the options, and what of the page is not in its series.
	rest string
}

// likeness is that of pages as the one that was read; false where a program is no
// other's.
func (o *Options) likeness(read *engine.Page) (likeness, bool) {
	page, ok := read.Shape().Likeness()
	// Rules for labels may show GPUs, and so number them, in another order than that of
	// their names, by which series are sorted.
	return likeness{page, fmt.Sprintf(
		"%s %+v %+v %+v %q %q %q %v %d %t %t %t %s %q",
		o.Engine.Kind(), read.Ranks(), o.Identity.Topology, o.Objectives, o.Aliases, o.taken(read.Shape()), o.wrong(), o.caches,
		o.Budget.Models, o.NoWindowGauges, o.AliasesOnly, o.RawHidden, orderOf(read.Shape().GPUs()), o.Identity.named(),
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

// taken are the names of aliases that a page has itself.
func (o *Options) taken(page *exposition.Shape) string {
	if len(o.Aliases) == 0 {
		return ""
	}
	var all strings.Builder
	for _, f := range page.Families() {
		if aliasNames()[f.Name] {
			all.WriteString(f.Name + "\x00")
		}
	}
	return all.String()
}

// wrong are the names that do not mean in the server's version what they mean in others.
func (o *Options) wrong() string {
	var all []string
	for name, meanings := range engine.IndexOf(o.Engine) {
		if slices.ContainsFunc(meanings, func(m engine.Indexed) bool { return !m.Holds(o.Identity.EngineVersion) }) {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// aliasNames are the names of all aliases.
//
//nolint:gochecknoglobals // constant data that is made when it is first asked for.
var aliasNames = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{cacheConfig: true}
	for _, a := range Aliases() {
		names[a.Name] = true
	}
	return names
})

// ruleLabels are the names of all labels that rules give series.
//
//nolint:gochecknoglobals // constant data that is made when it is first asked for.
var ruleLabels = sync.OnceValue(func() map[string]bool {
	names := make(map[string]bool)
	add := func(_ Scope, all []string) {
		for _, name := range all {
			names[name] = true
		}
	}
	for _, f := range Catalogue() {
		add(f.rule.shape())
	}
	for _, s := range servers() {
		for signal := range s.signals {
			add(labelsOf(signal))
		}
	}
	return names
})

// named are those labels of the target whose names rules use: they may change the
// order of series, and what rules read of labels. The versions are none of them:
// only the info family has both.
func (id *Identity) named() string {
	var all strings.Builder
	id.Labels.Range(func(l labels.Label) {
		if ruleLabels()[l.Name] && l.Name != "engine_version" && l.Name != "trtllm_version" {
			all.WriteString(l.Name + "\x00" + l.Value + "\x00")
		}
	})
	return all.String()
}

// kept are the programs of all targets.
//
//nolint:gochecknoglobals // memory only; it says nothing of any target's numbers.
var kept exposition.Keeper[likeness, program]
