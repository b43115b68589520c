package exposition

import (
	"iter"
	"strings"

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
	for suffix, f := range m.parents(name, "_bucket", "_sum", "_count", "_total") {
		if f.conflict() {
			return suffix == "_total" && format == formatOpenMetrics || suffix != "_total" && (!scalar(f.typ) || !scalar(f.current))
		}
	}
	return false
}

// parents returns the families that a sample of that name may belong to, by suffix.
func (m *metadata) parents(name string, suffixes ...string) iter.Seq2[string, *familyMeta] {
	return func(yield func(string, *familyMeta) bool) {
		for _, suffix := range suffixes {
			if base, ok := strings.CutSuffix(name, suffix); ok {
				if f, ok := m.byName[base]; ok && !yield(suffix, f) {
					return
				}
			}
		}
	}
}

func (m *metadata) familyIndex(b *shapeBuilder, format bodyFormat, name string) int {
	family, meta, typ := m.resolve(format, name)
	i, ok := b.index[family]
	if ok {
		return i
	}
	f := Family{Name: family, Type: typ}
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

// resolve returns the family of a sample name as the text format groups it. It relies
// on TYPE, never on the name alone: nv_inference_count is a counter, not part of a
// histogram. In OpenMetrics, the family of a counter is its sample name, and info and
// created samples become families of their own.
func (m *metadata) resolve(format bodyFormat, name string) (string, *familyMeta, model.MetricType) {
	if f, ok := m.byName[name]; ok && (format == formatText || f.typ != model.MetricTypeCounter || strings.HasSuffix(name, "_total")) {
		return name, f, textType(f.typ)
	}
	for suffix, f := range m.parents(name, "_bucket", "_count", "_sum") {
		if f.typ == model.MetricTypeHistogram || f.typ == model.MetricTypeSummary && suffix != "_bucket" {
			return strings.TrimSuffix(name, suffix), f, f.typ
		}
	}
	if format == formatOpenMetrics {
		for suffix, f := range m.parents(name, "_total", "_info", "_created") {
			switch {
			case suffix == "_total" && f.typ == model.MetricTypeCounter:
				return name, f, f.typ
			case suffix == "_info" && f.typ == model.MetricTypeInfo, suffix == "_created":
				return name, f, model.MetricTypeGauge
			}
		}
	}
	return name, nil, model.MetricTypeUnknown
}

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
