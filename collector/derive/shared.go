package derive

import (
	"fmt"
	"hash/maphash"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"weak"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/slo"
)

// likeness is all that a program follows from: targets for which it is equal have
// the same one. The labels of their series differ, of which a program knows none.
type likeness struct {
	kind     engine.Kind
	ranks    engine.Ranks
	page     exposition.Likeness
	topology *engine.Topology
	wanted   []slo.Objective
	aliases  []string
	// taken are the names of aliases that the page has itself, wrong those that do not
	// hold in the server's version.
	taken  string
	wrong  string
	caches map[string]cacheSize
	models int
	leave  bool
	only   bool
	hidden bool
	// gpus is the order of the names of its GPUs, which series are sorted by: rules
	// for labels may show them, and so number them, in another.
	gpus string
	// named are labels of the target whose names the rules give to labels as well.
	named string
}

// likeness is that of pages as the one that was read; false where a program is no
// other's.
func (o *Options) likeness(read *engine.Page) (likeness, bool) {
	page, ok := read.Shape().Likeness()
	return likeness{
		kind: o.Engine.Kind(), ranks: read.Ranks(), page: page, topology: o.Identity.Topology, wanted: o.Objectives, aliases: o.Aliases, taken: o.taken(read.Shape()), wrong: o.wrong(), caches: o.caches,
		models: o.Budget.Models, leave: o.NoWindowGauges, only: o.AliasesOnly, hidden: o.RawHidden, gpus: orderOf(read.Shape().GPUs()), named: o.Identity.named(),
	}, ok
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

// equal says whether both make the same program.
func (l *likeness) equal(o *likeness) bool {
	return l.kind == o.kind && l.ranks == o.ranks && l.page == o.page && l.models == o.models && l.leave == o.leave && l.only == o.only &&
		l.hidden == o.hidden && l.gpus == o.gpus && l.named == o.named && l.taken == o.taken && l.wrong == o.wrong && slices.Equal(l.wanted, o.wanted) && slices.Equal(l.aliases, o.aliases) &&
		maps.Equal(l.caches, o.caches) && l.topology.Equal(o.topology)
}

// ruleLabels are the names of all labels that rules give series.
//
//nolint:gochecknoglobals // constant data that is made when it is first asked for.
var ruleLabels = sync.OnceValue(func() map[string]bool {
	names := make(map[string]bool)
	add := func(_ Scope, labels []string) {
		for _, name := range labels {
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
	id.Labels.Range(func(l label) {
		if ruleLabels()[l.Name] && l.Name != "engine_version" && l.Name != "trtllm_version" {
			all.WriteString(l.Name + "\x00" + l.Value + "\x00")
		}
	})
	return all.String()
}

// programs keeps equal programs once, for as long as any target has one. It is
// safe for concurrent use.
type programs struct {
	seed maphash.Seed

	mu sync.Mutex
	of map[uint64][]weak.Pointer[program]
}

// kept are the programs of all targets.
//
//nolint:gochecknoglobals // memory only; it says nothing of any target's numbers.
var kept = &programs{seed: maphash.MakeSeed(), of: make(map[uint64][]weak.Pointer[program])}

// sum finds the programs of a likeness.
func (k *programs) sum(l *likeness) uint64 { return maphash.Comparable(k.seed, l.page) }

// find is the program of a likeness, nil for none.
func (k *programs) find(l *likeness) *program {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, one := range k.of[k.sum(l)] {
		if p := one.Value(); p != nil && p.shared.likeness.equal(l) {
			return p
		}
	}
	return nil
}

// once gives the program that is kept already, or keeps this one.
func (k *programs) once(l *likeness, mine *program) *program {
	if same := k.find(l); same != nil {
		return same
	}
	mine.shared.likeness = *l
	sum, pointer := k.sum(l), weak.Make(mine)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.of[sum] = append(k.of[sum], pointer)
	runtime.AddCleanup(mine, k.forget, sum)
	return mine
}

// forget takes out what no target has any more.
func (k *programs) forget(sum uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.of[sum] = slices.DeleteFunc(k.of[sum], func(p weak.Pointer[program]) bool { return p.Value() == nil })
	if len(k.of[sum]) == 0 {
		delete(k.of, sum)
	}
}
