package exposition

import (
	"slices"
	"strings"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
)

// dialect is what a reader's format makes of names; its zero value is the text
// format with names as they are, as every shape is kept.
type dialect struct {
	openMetrics bool
	// scheme is how names beyond the legacy character set are escaped.
	scheme model.EscapingScheme
}

// dialectOf is the dialect of a format. It is asked for once a page, and so reads
// the one parameter in place.
func dialectOf(f expfmt.Format) dialect {
	_, escaping, _ := strings.Cut(string(f), model.EscapingKey+"=")
	escaping, _, _ = strings.Cut(escaping, ";")
	scheme, err := model.ToEscapingScheme(strings.TrimSpace(escaping))
	if err != nil {
		scheme = model.NameEscapingScheme
	}
	return dialect{openMetrics: strings.HasPrefix(string(f), expfmt.OpenMetricsType), scheme: scheme}
}

// part is one family of a shape as a dialect has it: other prefixes, perhaps,
// before the same values.
type part struct {
	Family
	segment
	// asked is the name that selects the family, which is that of the shape.
	asked string
	// roles are what the lines are in a family that OpenMetrics has several sample
	// names for; broken says that it cannot have them so, whatever the values.
	roles  []role
	broken bool
}

// in gives the families of the shape in a dialect; nil says that they are the
// shape's own. They are made once and kept with the shape.
func (s *Shape) in(d dialect) []part {
	if !s.utf8 {
		d.scheme = model.NoEscaping
	}
	if d == (dialect{}) {
		return nil
	}
	s.dialects.mu.Lock()
	defer s.dialects.mu.Unlock()
	if parts, ok := s.dialects.of[d]; ok {
		return parts
	}
	parts := make([]part, len(s.families))
	for i := range s.families {
		parts[i] = part{Family: s.families[i], segment: s.segment(i), asked: s.families[i].Name}
	}
	if d.scheme != model.NoEscaping {
		parts = escape(parts, d.scheme)
	}
	if d.openMetrics {
		parts = openMetrics(parts)
	}
	if s.dialects.of == nil {
		s.dialects.of = make(map[dialect][]part)
	}
	s.dialects.of[d] = parts
	return parts
}

// escape gives the families the names that a reader gets who does not take
// those beyond the legacy character set. What becomes equal to another series
// of the same target is left out, odd names before ordinary ones; between
// targets nothing is, because their series differ in identity.
func escape(parts []part, scheme model.EscapingScheme) []part {
	e := escaper{scheme: scheme, seen: make(map[string]bool)}
	for i := range parts {
		if p := &parts[i]; model.LegacyValidation.IsValidMetricName(p.Name) {
			e.ordinary(&p.segment)
		}
	}
	kept := parts[:0]
	for i := range parts {
		if p := parts[i]; e.part(&p) {
			kept = append(kept, p)
		}
	}
	slices.SortStableFunc(kept, func(a, b part) int { return strings.Compare(a.Name, b.Name) })
	return kept
}

// escaper escapes the names of one shape.
type escaper struct {
	scheme model.EscapingScheme
	// seen are the prefixes of lines.
	seen map[string]bool
}

// ordinary notes the lines that need no escaping.
func (e *escaper) ordinary(s *segment) {
	var buf []byte
	start := uint32(0)
	for i := range s.lines {
		buf = s.appendPrefix(buf[:0], start, &s.lines[i])
		start = s.lines[i].end
		if !quotedName(string(buf)) {
			e.seen[string(buf)] = true
		}
	}
}

// part escapes one family; false when nothing of it is left.
func (e *escaper) part(p *part) bool {
	odd := !model.LegacyValidation.IsValidMetricName(p.Name)
	name := p.Name
	if odd {
		name = model.EscapeName(p.Name, e.scheme)
	}
	entries, changed := p.entries(), odd
	kept := entries[:0]
	for _, one := range entries {
		escaped, ok := e.labels(one.labels, p.Name, name)
		if !ok {
			changed = true
			continue
		}
		if odd || !labels.Equal(escaped, one.labels) {
			changed = true
			prefix := string(appendPrefix(nil, escaped))
			if e.seen[prefix] {
				continue
			}
			e.seen[prefix] = true
		}
		kept = append(kept, entry{labels: escaped, value: one.value})
	}
	if changed {
		p.Name, p.segment = name, render(kept)
	}
	return len(kept) > 0
}

// labels escapes the names of one series of a family; false when two of them
// become equal. A colon is replaced before, because the escaping takes names of
// labels for names of metrics, in which colons may stay.
func (e *escaper) labels(lset labels.Labels, family, escapedFamily string) (labels.Labels, bool) {
	b := labels.NewScratchBuilder(lset.Len())
	seen, distinct := make(map[string]bool, lset.Len()), true
	lset.Range(func(l labels.Label) {
		switch {
		case l.Name == model.MetricNameLabel:
			l.Value = escapedFamily + strings.TrimPrefix(l.Value, family)
		case !model.LegacyValidation.IsValidLabelName(l.Name):
			l.Name = strings.ReplaceAll(l.Name, ":", "_")
			if !model.LegacyValidation.IsValidLabelName(l.Name) {
				l.Name = model.EscapeName(l.Name, e.scheme)
			}
		}
		distinct = distinct && !seen[l.Name]
		seen[l.Name] = true
		b.Add(l.Name, l.Value)
	})
	b.Sort()
	return b.Labels(), distinct
}

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
