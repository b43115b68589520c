package exposition

import (
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
		all[i] = entry{labels: labelsOf(buf), value: s.at[i]}
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
	defer share.done()
	seg := segment{own: share.own, lines: make([]line, len(entries)), at: make([]uint32, len(entries))}
	for i := range entries {
		seg.lines[i], seg.at[i] = share.add(all[i].prefix), entries[i].value
	}
	seg.text = share.family().Value()
	return seg
}

// sampleNames are the names that belong to a family in the dialect, its own
// first.
func (d dialect) sampleNames(name string, typ model.MetricType) []string {
	var suffixes []string
	base := name
	switch typ {
	case model.MetricTypeHistogram:
		suffixes = []string{"_bucket", "_count", "_sum", "_created"}
	case model.MetricTypeSummary:
		suffixes = []string{"_count", "_sum", "_created"}
	case model.MetricTypeCounter:
		var total bool
		if base, total = strings.CutSuffix(name, "_total"); total && d.openMetrics {
			return []string{name, base, base + "_created"}
		}
	default:
	}
	names := []string{name}
	for _, suffix := range suffixes {
		if d.openMetrics || suffix != "_created" {
			names = append(names, base+suffix)
		}
	}
	return names
}

// compound says whether the dialect has several sample names in a family.
func (d dialect) compound(name string, typ model.MetricType) bool {
	return !scalar(typ) || d.openMetrics && typ == model.MetricTypeCounter && strings.HasSuffix(name, "_total")
}

// scalar says whether a family of that type has single values for samples.
func scalar(t model.MetricType) bool {
	return t != model.MetricTypeHistogram && t != model.MetricTypeSummary
}

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
