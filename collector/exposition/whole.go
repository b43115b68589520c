package exposition

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
)

// role is what a line is in its family.
type role uint8

const (
	roleValue role = iota
	roleBucket
	roleCount
	roleSum
	roleCreated

	// begins marks the first line of those with one set of labels.
	begins role = 1 << 7
)

// roleOf is the role of a sample name in a family; false for none.
func roleOf(f *Family, sample string) (role, bool) {
	base := f.Name
	if f.Type == model.MetricTypeCounter {
		base = strings.TrimSuffix(base, "_total")
	}
	switch strings.TrimPrefix(sample, base) {
	case "_bucket":
		return roleBucket, f.Type == model.MetricTypeHistogram
	case "_count":
		return roleCount, !scalar(f.Type)
	case "_sum":
		return roleSum, !scalar(f.Type)
	case "_created":
		return roleCreated, true
	default:
		return roleValue, sample == f.Name && f.Type != model.MetricTypeHistogram
	}
}

// member is a line that is made part of a histogram, summary or counter.
type member struct {
	entry

	role  role
	bound float64
	// group are the labels that the lines of one group have in common.
	group labels.Labels
}

// arrange makes lines part of a histogram or summary, or of a counter of
// OpenMetrics, group by group; false when one of them cannot be. OpenMetrics
// also wants bounds in their one spelling and groups that are whole.
func (d dialect) arrange(f Family, entries []entry, asked string) (part, bool) {
	seen := make(map[string]bool, len(entries))
	members := make([]member, len(entries))
	for i, one := range entries {
		m, ok := d.member(&f, one)
		identity := string(appendPrefix(nil, m.canonical()))
		if !ok || seen[identity] {
			return part{}, false
		}
		seen[identity] = true
		members[i] = m
	}
	slices.SortStableFunc(members, func(a, b member) int { return labels.Compare(a.group, b.group) })
	p := part{Family: f, asked: asked, same: -1, judge: judgeCounts, roles: make([]role, len(members))}
	if d.openMetrics {
		p.judge = judgeOpenMetrics
	}
	for first := 0; first < len(members); {
		end := first + 1
		for end < len(members) && labels.Equal(members[end].group, members[first].group) {
			end++
		}
		group := members[first:end]
		sortBounds(group)
		if d.openMetrics && !whole(&f, group) {
			return part{}, false
		}
		for i := range group {
			p.roles[first+i] = group[i].role
		}
		p.roles[first] |= begins
		first = end
	}
	arranged := make([]entry, len(members))
	for i := range members {
		arranged[i] = members[i].entry
	}
	p.segment = render(arranged)
	return p, true
}

// member finds the role of a line; false when it has none.
func (d dialect) member(f *Family, one entry) (member, bool) {
	role, ok := roleOf(f, one.labels.Get(model.MetricNameLabel))
	m := member{entry: one, role: role}
	if !ok {
		return m, false
	}
	b := labels.NewBuilder(one.labels)
	if label := boundLabel(f.Type, role); label != "" {
		text := one.labels.Get(label)
		bound, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return m, false
		}
		m.bound = bound
		if d.openMetrics {
			m.labels = b.Set(label, labels.FormatOpenMetricsFloat(bound)).Labels()
		}
		b.Del(label)
	}
	m.group = b.Del(model.MetricNameLabel).Labels()
	inside := m.group.Has(model.BucketLabel) && f.Type == model.MetricTypeHistogram || m.group.Has(model.QuantileLabel) && f.Type == model.MetricTypeSummary
	return m, !inside
}

// boundLabel is the label of a line's bound or quantile; empty for none.
func boundLabel(typ model.MetricType, r role) string {
	switch {
	case r == roleBucket:
		return model.BucketLabel
	case r == roleValue && typ == model.MetricTypeSummary:
		return model.QuantileLabel
	}
	return ""
}

// canonical are the labels of the line with the bound as readers spell it.
func (m *member) canonical() labels.Labels {
	for _, label := range []string{model.BucketLabel, model.QuantileLabel} {
		if !m.group.Has(label) && m.labels.Has(label) {
			return labels.NewBuilder(m.labels).Set(label, labels.FormatOpenMetricsFloat(m.bound)).Labels()
		}
	}
	return m.labels
}

// sortBounds puts the buckets or quantiles of a group in the order of their
// bounds and leaves the other lines in their places.
func sortBounds(group []member) {
	var places []int
	var bounded []member
	for i := range group {
		if group[i].role == roleBucket || group[i].role == roleValue {
			places, bounded = append(places, i), append(bounded, group[i])
		}
	}
	slices.SortStableFunc(bounded, func(a, b member) int {
		switch {
		case a.bound < b.bound:
			return -1
		case a.bound > b.bound:
			return 1
		}
		return 0
	})
	for i, at := range places {
		group[at] = bounded[i]
	}
}

// whole says whether OpenMetrics takes a group for one of a family of the type,
// as far as that does not depend on values: buckets up to infinity, a count
// where there is a sum and no sum below zero, quantiles from 0 to 1.
func whole(f *Family, group []member) bool {
	var has [roleCreated + 1]bool
	lowest, highest := math.Inf(1), math.Inf(-1)
	for i := range group {
		m := &group[i]
		has[m.role] = true
		if boundLabel(f.Type, m.role) != "" {
			if m.bound != m.bound {
				return false
			}
			lowest, highest = min(lowest, m.bound), max(highest, m.bound)
		}
	}
	switch f.Type {
	case model.MetricTypeHistogram:
		return math.IsInf(highest, 1) && has[roleCount] == has[roleSum] && (lowest >= 0 || !has[roleSum])
	case model.MetricTypeSummary:
		return !has[roleValue] || lowest >= 0 && highest <= 1
	default:
		return true
	}
}
