package exposition

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/prometheus/common/model"
)

// metadata holds HELP and TYPE of a body by family name.
type metadata struct {
	byName map[string]*familyMeta
	// conflicts is the number of families with more than one TYPE.
	conflicts int
	// maxHelp limits the bytes of a HELP; 0 means no limit.
	maxHelp int
}

// familyMeta is the metadata of one family. The first HELP and the first TYPE win. Samples after
// a different TYPE are in conflict, until the first TYPE is repeated.
type familyMeta struct {
	help             string
	typ              model.MetricType
	hasHelp, hasType bool
	// current is the TYPE of the samples that follow.
	current model.MetricType
	// typeConflict is true once the conflict of the family was counted.
	typeConflict bool
}

func (m *metadata) get(name string) *familyMeta {
	if f, ok := m.byName[name]; ok {
		return f
	}
	if m.byName == nil {
		m.byName = make(map[string]*familyMeta)
	}
	f := &familyMeta{typ: model.MetricTypeUnknown}
	if name != "" {
		// textparse accepts # TYPE "" histogram.
		m.byName[name] = f
	}
	return f
}

func (m *metadata) setHelp(name, text string) {
	if f := m.get(name); !f.hasHelp {
		// The text format allows no spaces before a help text, and textparse ends the text at a
		// NUL.
		f.help, f.hasHelp = truncate(strings.TrimLeft(text, " \t\x00"), m.maxHelp), true
	}
}

// setType sets the TYPE of a family. It returns 1 if that is its first contradiction, else 0.
func (m *metadata) setType(name string, typ model.MetricType) uint32 {
	f := m.get(name)
	if !f.hasType {
		f.typ, f.current, f.hasType = typ, typ, true
		return 0
	}
	f.current = typ
	if !f.conflict() || f.typeConflict {
		return 0
	}
	f.typeConflict = true
	m.conflicts++
	return 1
}

func (f *familyMeta) conflict() bool { return f.current != f.typ }

// conflicting reports whether a sample of that name follows a TYPE that contradicts the first
// TYPE of its family.
func (m *metadata) conflicting(format bodyFormat, name string) bool {
	if f, ok := m.byName[name]; ok {
		return f.conflict()
	}
	if f, _ := m.parent(name, sampleSuffixes(model.MetricTypeHistogram)...); f != nil {
		return f.conflict() && (!scalar(f.typ) || !scalar(f.current))
	}
	f, _ := m.parent(name, "_total")
	return format == formatOpenMetrics && f != nil && f.conflict()
}

// parent returns the family that a sample with one of the suffixes may belong to, and the suffix.
func (m *metadata) parent(name string, suffixes ...string) (f *familyMeta, suffix string) {
	for _, suffix := range suffixes {
		if base, ok := strings.CutSuffix(name, suffix); ok {
			return m.byName[base], suffix
		}
	}
	return nil, ""
}

func (m *metadata) familyIndex(b *shapeBuilder, format bodyFormat, name string) int {
	family, meta, typ := m.resolve(format, name)
	i, ok := b.index[family]
	if ok {
		return i
	}
	f := Family{
		Name: family,
		Type: typ,
	}
	if meta != nil {
		f.Help = meta.help
	}
	if b.index == nil {
		b.index = make(map[string]int)
	}
	i = len(b.families)
	b.index[family], b.families = i, append(b.families, f)
	return i
}

// resolve returns the family of a sample name as the text format groups it. It relies on TYPE, never
// on the name alone: x_count may be a counter and no part of a histogram. In OpenMetrics, the family
// of a counter is its sample name, and info and created samples become families of their own.
func (m *metadata) resolve(format bodyFormat, name string) (string, *familyMeta, model.MetricType) {
	total := strings.HasSuffix(name, "_total")
	if f, ok := m.byName[name]; ok && (format == formatText || f.typ != model.MetricTypeCounter || total) {
		return name, f, textType(f.typ)
	}
	if f, suffix := m.parent(name, sampleSuffixes(model.MetricTypeHistogram)...); f != nil {
		if slices.Contains(sampleSuffixes(f.typ), suffix) {
			return strings.TrimSuffix(name, suffix), f, f.typ
		}
	}
	if format == formatOpenMetrics {
		switch f, suffix := m.parent(name, "_total", "_info", "_created"); {
		case f == nil:
		case suffix == "_total" && f.typ == model.MetricTypeCounter:
			return name, f, f.typ
		case suffix == "_info" && f.typ == model.MetricTypeInfo, suffix == "_created":
			return name, f, model.MetricTypeGauge
		}
	}
	return name, nil, model.MetricTypeUnknown
}

// textType returns the type in the text format.
func textType(t model.MetricType) model.MetricType {
	switch t {
	case model.MetricTypeCounter, model.MetricTypeGauge, model.MetricTypeHistogram, model.MetricTypeSummary:
		return t
	case model.MetricTypeInfo, model.MetricTypeStateset:
		return model.MetricTypeGauge
	default:
		return model.MetricTypeUnknown
	}
}

// sampleSuffixes returns the suffixes of the sample names of a histogram or summary. A family of
// another type is scalar: its samples have its name.
func sampleSuffixes(typ model.MetricType) []string {
	switch typ {
	case model.MetricTypeHistogram:
		return []string{"_bucket", "_count", "_sum"}
	case model.MetricTypeSummary:
		return []string{"_count", "_sum"}
	default:
		return nil
	}
}

func scalar(t model.MetricType) bool {
	return t != model.MetricTypeHistogram && t != model.MetricTypeSummary
}

// sampleNames returns the sample names of a family, and its own name.
func sampleNames(name string, typ model.MetricType) []string {
	names := []string{name}
	for _, suffix := range sampleSuffixes(typ) {
		names = append(names, name+suffix)
	}
	return names
}

// truncate shortens text to at most limit bytes, ending with an ellipsis; 0 means no limit.
func truncate(text string, limit int) string {
	const ellipsis = "..."
	if limit == 0 || len(text) <= limit {
		return text
	}
	end := max(limit-len(ellipsis), 0)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + ellipsis[:min(len(ellipsis), limit)]
}
