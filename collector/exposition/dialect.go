package exposition

import (
	"slices"
	"strings"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
)

// dialect is a format together with its escaping. The zero value is the text format with
// unescaped names, in which shapes are stored.
type dialect struct {
	openMetrics bool
	// scheme is how names beyond the legacy character set are escaped.
	scheme model.EscapingScheme
}

// dialectOf returns the dialect of a format. It is called for every page, so it parses
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

// variant is a family of a shape in another dialect or under another type: other
// prefixes before the same values.
type variant struct {
	Family
	segment
	// selector is the name that selects the lines: the name of the shape's family.
	selector string
	// roles are the roles of the lines in a family with several sample names, in
	// OpenMetrics only. malformed marks a family that OpenMetrics does not allow under its
	// type, whatever the values.
	roles     []role
	malformed bool
}

// in returns the families of the shape in a dialect; nil if they are those of the shape.
// They are computed once.
func (s *Shape) in(d dialect) []variant {
	if !s.utf8 {
		d.scheme = model.NoEscaping
	}
	if d == (dialect{}) {
		return nil
	}
	s.variants.mu.Lock()
	defer s.variants.mu.Unlock()
	if variants, ok := s.variants.byDialect[d]; ok {
		return variants
	}
	variants := make([]variant, len(s.families))
	for i := range s.families {
		variants[i] = variant{Family: s.families[i], segment: s.segment(i), selector: s.families[i].Name}
	}
	if d.scheme != model.NoEscaping {
		variants = escape(variants, d.scheme)
	}
	if d.openMetrics {
		variants = openMetrics(variants)
	}
	if s.variants.byDialect == nil {
		s.variants.byDialect = make(map[dialect][]variant)
	}
	s.variants.byDialect[d] = variants
	return variants
}

// escape escapes names for a reader that accepts the legacy character set only. A series
// that then equals another one of the target is dropped; names that need no escaping
// win. Series of other targets differ in identity.
func escape(variants []variant, scheme model.EscapingScheme) []variant {
	e := escaper{scheme: scheme, seen: make(map[string]bool)}
	for i := range variants {
		v := &variants[i]
		if !model.LegacyValidation.IsValidMetricName(v.Name) {
			continue
		}
		for _, prefix := range v.prefixes() {
			if !quotedLabelName(string(prefix)) {
				e.seen[string(prefix)] = true
			}
		}
	}
	escaped := variants[:0]
	for i := range variants {
		if v := variants[i]; e.family(&v) {
			escaped = append(escaped, v)
		}
	}
	slices.SortStableFunc(escaped, func(a, b variant) int { return strings.Compare(a.Name, b.Name) })
	return escaped
}

// escaper escapes the names of one shape.
type escaper struct {
	scheme model.EscapingScheme
	// seen are the prefixes of lines.
	seen map[string]bool
}

// family escapes one family; false if no line is left.
func (e *escaper) family(v *variant) bool {
	quoted := !model.LegacyValidation.IsValidMetricName(v.Name)
	name := v.Name
	if quoted {
		name = model.EscapeName(v.Name, e.scheme)
	}
	entries, changed := v.entries(), quoted
	escaped := entries[:0]
	for _, one := range entries {
		lset, ok := e.labels(one.labels, v.Name, name)
		if !ok {
			changed = true
			continue
		}
		if quoted || !labels.Equal(lset, one.labels) {
			changed = true
			prefix := string(appendPrefix(nil, lset))
			if e.seen[prefix] {
				continue
			}
			e.seen[prefix] = true
		}
		escaped = append(escaped, entry{labels: lset, index: one.index})
	}
	if changed {
		v.Name, v.segment = name, newSegment(escaped)
	}
	return len(escaped) > 0
}

// labels escapes the names of one series; false if two label names become equal. Colons
// are replaced first, because EscapeName allows them as in metric names.
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

// entry is one line of a segment that is rewritten.
type entry struct {
	labels labels.Labels
	index  uint32
}

// entries returns the lines of a segment.
func (s *segment) entries() []entry {
	all := make([]entry, len(s.lines))
	for i, prefix := range s.prefixes() {
		all[i] = entry{labels: parsePrefix(prefix), index: s.indexes[i]}
	}
	return all
}

// newSegment renders lines in their order.
func newSegment(entries []entry) segment {
	all := make([]series, len(entries))
	for i := range entries {
		all[i].prefix = string(appendPrefix(nil, entries[i].labels))
	}
	text := newTextBuilder(all)
	seg := segment{local: text.local, lines: make([]line, len(entries)), indexes: make([]uint32, len(entries))}
	for i := range entries {
		seg.lines[i], seg.indexes[i] = text.add(all[i].prefix), entries[i].index
	}
	seg.text = text.family().Value()
	return seg
}
