package exposition

import (
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
)

// escaped returns the shape as readers without UTF-8 names need it.
func (s *Shape) escaped(scheme model.EscapingScheme) *Shape {
	all := make([]rewritten, len(s.families))
	for i := range s.families {
		all[i] = rewritten{s.families[i], s.entries(i)}
		all[i].selector = s.families[i].Name
	}
	return newShape(escape(all, scheme))
}

// rewritten is a family whose lines are rendered again.
type rewritten struct {
	Family

	entries []entry
}

type entry struct {
	prefix string
	index  uint32
}

func (s *Shape) entries(i int) []entry {
	seg := s.segment(i)
	all := make([]entry, len(seg.lines))
	for n, prefix := range seg.prefixes() {
		all[n] = entry{string(prefix), seg.indexes[n]}
	}
	return all
}

func newShape(all []rewritten) *Shape {
	var b shapeBuilder
	for i := range all {
		b.families = append(b.families, all[i].Family)
		for _, e := range all[i].entries {
			b.series = append(b.series, series{family: i, prefix: e.prefix, value: int(e.index)})
		}
	}
	return b.build()
}

// escape escapes names for readers that accept only the legacy character set. A series that then
// equals another series of the target is dropped; names that need no escaping win. Series of
// other targets differ in identity.
func escape(all []rewritten, scheme model.EscapingScheme) []rewritten {
	seen := make(map[string]bool)
	for i := range all {
		for _, e := range all[i].entries {
			if e.prefix[0] != '{' && !quotedLabelName(e.prefix) {
				seen[e.prefix] = true
			}
		}
	}
	for i := range all {
		f := &all[i]
		name := f.Name
		if !model.LegacyValidation.IsValidMetricName(name) {
			name = model.EscapeName(name, scheme)
		}
		entries := f.entries[:0]
		for _, e := range f.entries {
			lset, distinct := escapeLabels(parsePrefix([]byte(e.prefix)), f.Name, name, scheme)
			if prefix := string(appendPrefix(nil, lset)); prefix != e.prefix {
				distinct = distinct && !seen[prefix]
				seen[prefix], e.prefix = true, prefix
			}
			if distinct {
				entries = append(entries, e)
			}
		}
		f.Name, f.entries = name, entries
	}
	return slices.DeleteFunc(all, func(f rewritten) bool { return len(f.entries) == 0 })
}

// escapeLabels escapes the names of one series. It reports false if two label names become equal.
// Colons are replaced first, because EscapeName allows them as in metric names.
func escapeLabels(lset labels.Labels, family, escapedFamily string, scheme model.EscapingScheme) (labels.Labels, bool) {
	b := labels.NewScratchBuilder(lset.Len())
	seen, distinct := make(map[string]bool, lset.Len()), true
	lset.Range(func(l labels.Label) {
		switch {
		case l.Name == model.MetricNameLabel:
			l.Value = escapedFamily + strings.TrimPrefix(l.Value, family)
		case !model.LegacyValidation.IsValidLabelName(l.Name):
			l.Name = strings.ReplaceAll(l.Name, ":", "_")
			if !model.LegacyValidation.IsValidLabelName(l.Name) {
				l.Name = model.EscapeName(l.Name, scheme)
			}
		}
		distinct = distinct && !seen[l.Name]
		seen[l.Name] = true
		b.Add(l.Name, l.Value)
	})
	b.Sort()
	return b.Labels(), distinct
}
