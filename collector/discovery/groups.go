package discovery

import (
	"cmp"
	"iter"
	"maps"
	"reflect"
	"slices"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/discovery/targetgroup"
)

// groupSet holds the latest target groups of every source of one pool.
type groupSet struct {
	static []*targetgroup.Group
	// latest holds one map per source, from the Source of a group to the group. It is nil until
	// the source has answered.
	latest []map[string]*targetgroup.Group
}

// apply applies an update and reports whether it changed anything. The first update of a source
// always does, even without targets.
func (s *groupSet) apply(c change) (changed bool) {
	groups := s.latest[c.source]
	if groups == nil {
		groups, changed = map[string]*targetgroup.Group{}, true
		s.latest[c.source] = groups
	}
	for _, g := range c.groups {
		if g == nil {
			continue
		}
		switch old := groups[g.Source]; {
		case len(g.Targets) == 0:
			changed = changed || old != nil
			delete(groups, g.Source)
		default:
			g = sorted(g)
			if old == nil || !reflect.DeepEqual(old, g) {
				groups[g.Source], changed = g, true
			}
		}
	}
	return changed
}

// sorted returns the group with sorted targets, since name servers change the order with each
// answer.
func sorted(g *targetgroup.Group) *targetgroup.Group {
	targets := slices.Clone(g.Targets)
	slices.SortStableFunc(targets, func(a, b model.LabelSet) int {
		return cmp.Or(cmp.Compare(a[model.AddressLabel], b[model.AddressLabel]), cmp.Compare(a.String(), b.String()))
	})
	return &targetgroup.Group{Targets: targets, Labels: g.Labels, Source: g.Source}
}

// groups returns all groups in a fixed order: static groups first, then by source.
func (s *groupSet) groups() []*targetgroup.Group {
	all := slices.Clone(s.static)
	for _, groups := range s.latest {
		for _, name := range slices.Sorted(maps.Keys(groups)) {
			all = append(all, groups[name])
		}
	}
	return all
}

func countTargets(groups iter.Seq[*targetgroup.Group]) int {
	n := 0
	for g := range groups {
		n += len(g.Targets)
	}
	return n
}
