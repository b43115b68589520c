package exposition

import (
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
)

// escaped returns the shape for readers that accept only the legacy character set. A series that is
// then equal to another series of the target is dropped; names that need no escaping win. Series of
// other targets differ in identity.
func (s *Shape) escaped(scheme model.EscapingScheme) *Shape {
	var b shapeBuilder
	seen := s.legacySeries()
	for i := range s.families {
		f := s.families[i]
		f.selector = f.Name
		if !model.LegacyValidation.IsValidMetricName(f.Name) {
			f.Name = model.EscapeName(f.Name, scheme)
		}
		b.families = append(b.families, f)
		seg := s.segment(i)
		for n, prefix := range seg.prefixes() {
			line := series{
				family: i,
				prefix: string(prefix),
				value:  int(seg.indexes[n]),
			}
			if needsUTF8(line.prefix) {
				lset, distinct := escapeLabels(parsePrefix(prefix), f.selector, f.Name, scheme)
				line.prefix = string(appendPrefix(nil, lset))
				equal := seen[line.prefix]
				seen[line.prefix] = true
				if equal || !distinct {
					continue
				}
			}
			b.series = append(b.series, line)
		}
	}
	return b.build()
}

// legacySeries returns the prefixes of the series that need no escaping.
func (s *Shape) legacySeries() map[string]bool {
	all := make(map[string]bool)
	for i := range s.families {
		seg := s.segment(i)
		for _, prefix := range seg.prefixes() {
			if !needsUTF8(string(prefix)) {
				all[string(prefix)] = true
			}
		}
	}
	return all
}

// needsUTF8 reports whether a prefix has a quoted name, which readers of the legacy character set do
// not accept.
func needsUTF8(prefix string) (found bool) {
	if prefix[0] == '{' {
		return true
	}
	if !strings.Contains(prefix, `{"`) && !strings.Contains(prefix, `,"`) {
		return false
	}
	// A label value may contain these bytes too.
	parsePrefix([]byte(prefix)).Range(func(l labels.Label) {
		found = found || l.Name != model.MetricNameLabel && !model.LegacyValidation.IsValidLabelName(l.Name)
	})
	return found
}

// escapeLabels escapes the names of one series. It reports false if two label names become equal.
// Colons are replaced first, because EscapeName allows them as in metric names.
func escapeLabels(
	lset labels.Labels,
	family, escapedFamily string,
	scheme model.EscapingScheme,
) (_ labels.Labels, distinct bool) {
	b := labels.NewScratchBuilder(lset.Len())
	seen := make(map[string]bool, lset.Len())
	distinct = true
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
