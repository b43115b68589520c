package discovery

import (
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/discovery/targetgroup"
)

// merged holds the newest groups of every source of one pool.
type merged struct {
	static []*targetgroup.Group
	// One map a source, from a group's own source name to the group;
	// a map is nil until the source has answered once.
	newest []map[string]*targetgroup.Group
}

// apply notes what a source sent and reports whether that is news. The first
// answer always is, even with no target in it.
func (m *merged) apply(c change) (news bool) {
	known := m.newest[c.source]
	if known == nil {
		known, news = map[string]*targetgroup.Group{}, true
		m.newest[c.source] = known
	}
	for _, g := range c.groups {
		if g == nil {
			continue
		}
		switch old := known[g.Source]; {
		case len(g.Targets) == 0:
			news = news || old != nil
			delete(known, g.Source)
		default:
			g = ordered(g)
			if old == nil || !reflect.DeepEqual(old, g) {
				known[g.Source], news = g, true
			}
		}
	}
	return news
}

// ordered is the group with its targets in order, because name servers answer
// in another order each time.
func ordered(g *targetgroup.Group) *targetgroup.Group {
	targets := slices.Clone(g.Targets)
	slices.SortStableFunc(targets, func(a, b model.LabelSet) int {
		if by := strings.Compare(string(a[model.AddressLabel]), string(b[model.AddressLabel])); by != 0 {
			return by
		}
		return strings.Compare(a.String(), b.String())
	})
	return &targetgroup.Group{Targets: targets, Labels: g.Labels, Source: g.Source}
}

// groups lists all groups in a fixed order: static ones, then by source.
func (m *merged) groups() []*targetgroup.Group {
	all := slices.Clone(m.static)
	for _, known := range m.newest {
		for _, name := range slices.Sorted(maps.Keys(known)) {
			all = append(all, known[name])
		}
	}
	return all
}

// countTargets counts the targets of all groups.
func countTargets(groups iter.Seq[*targetgroup.Group]) int {
	n := 0
	for g := range groups {
		n += len(g.Targets)
	}
	return n
}
