package exposition

import (
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
)

// entry is one line of a segment that is rearranged.
type entry struct {
	labels labels.Labels
	value  uint32
}

// entries reads the lines of a segment back.
func (s *segment) entries() []entry {
	all := make([]entry, len(s.lines))
	var buf []byte
	start := uint32(0)
	for i := range s.lines {
		buf = s.appendPrefix(buf[:0], start, &s.lines[i])
		all[i] = entry{labels: labelsOf(buf), value: s.lines[i].value}
		start = s.lines[i].end
	}
	return all
}

// render is the segment of the entries in their order.
func render(entries []entry) segment {
	all := make([]series, len(entries))
	for i := range entries {
		all[i].prefix = string(appendPrefix(nil, entries[i].labels))
	}
	share := newSharer(all)
	seg := segment{own: share.own, lines: make([]line, len(entries))}
	for i := range entries {
		seg.lines[i] = share.add(all[i].prefix)
		seg.lines[i].value = entries[i].value
	}
	seg.text = share.family().Value()
	return seg
}

// sampleNames are the names that samples of a family may have.
func sampleNames(name string, typ model.MetricType) []string {
	switch typ {
	case model.MetricTypeHistogram:
		return []string{name, name + "_bucket", name + "_count", name + "_sum"}
	case model.MetricTypeSummary:
		return []string{name, name + "_count", name + "_sum"}
	default:
		return []string{name}
	}
}

// scalar says whether a family of that type has single values for samples.
func scalar(t model.MetricType) bool {
	return t != model.MetricTypeHistogram && t != model.MetricTypeSummary
}

// role is what a line is in a histogram or summary.
type role uint8

const (
	roleSum role = iota
	// roleCount and roleBucket are numbers of observations.
	roleCount
	roleBucket
	roleQuantile
)

// split gives the lines of a family as families by sample name, which are
// untyped, for what a target says of the whole is not true of them.
func split(f *Family, s *segment, asked string) []part {
	var parts []part
	byName := make(map[string][]entry)
	for _, one := range s.entries() {
		name := one.labels.Get(model.MetricNameLabel)
		if byName[name] == nil {
			parts = append(parts, part{Family: Family{Name: name, Type: model.MetricTypeUnknown}, asked: asked, same: -1})
		}
		byName[name] = append(byName[name], one)
	}
	for i := range parts {
		p := &parts[i]
		p.segment = render(byName[p.Name])
		if p.Name == f.Name {
			p.Help, p.Unit = f.Help, f.Unit
		}
	}
	return parts
}

// arrange makes lines part of a histogram or summary; false when one of them
// cannot be.
func arrange(f Family, entries []entry, asked string) (part, bool) {
	seen := make(map[string]bool, len(entries))
	order := make([]labels.Labels, len(entries))
	place := make([]int, len(entries))
	for i := range entries {
		k := known{labels: entries[i].labels, name: entries[i].labels.Get(model.MetricNameLabel)}
		k.prefix = string(appendPrefix(nil, k.labels))
		identity, drop := k.lint(&f)
		if drop != "" || seen[identity] {
			return part{}, false
		}
		seen[identity] = true
		order[i], place[i] = k.order(f.Type), i
	}
	slices.SortStableFunc(place, func(x, y int) int { return labels.Compare(order[x], order[y]) })
	p := part{Family: f, asked: asked, same: -1, roles: make([]role, len(entries))}
	sorted := make([]entry, len(entries))
	for i, at := range place {
		sorted[i] = entries[at]
		p.roles[i] = roleOf(f.Name, sorted[i].labels.Get(model.MetricNameLabel))
	}
	p.segment = render(sorted)
	return p, true
}

// roleOf is the role of a sample name in a family.
func roleOf(family, sample string) role {
	switch strings.TrimPrefix(sample, family) {
	case "_bucket":
		return roleBucket
	case "_count":
		return roleCount
	case "_sum":
		return roleSum
	default:
		return roleQuantile
	}
}
