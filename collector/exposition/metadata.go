package exposition

import (
	"strings"

	"github.com/prometheus/common/model"
)

// metadata holds HELP, TYPE and UNIT of one body by family name.
type metadata struct {
	byName map[string]*familyMeta
	// conflicts is the number of families with more than one TYPE.
	conflicts int
	// maxHelp limits the bytes of a HELP; 0 is no limit.
	maxHelp int
}

// familyMeta is the metadata of one family. The first HELP and the first TYPE win. A
// later TYPE that differs puts the samples that follow in conflict until the first is
// repeated.
type familyMeta struct {
	help, unit       string
	typ              model.MetricType
	hasHelp, hasType bool
	// current is the TYPE of the samples that follow.
	current model.MetricType
	// typeConflict and helpConflict mark a family that is counted already.
	typeConflict, helpConflict bool
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

// setHelp sets the HELP of a family and returns 1 for its first contradiction.
func (m *metadata) setHelp(name, text string) uint32 {
	f := m.get(name)
	// The text format allows no blanks before a help text, and textparse ends the text
	// at a NUL.
	text = truncate(strings.TrimLeft(text, " \t\x00"), m.maxHelp)
	if !f.hasHelp {
		f.help, f.hasHelp = text, true
		return 0
	}
	if f.help == text || f.helpConflict {
		return 0
	}
	f.helpConflict = true
	return 1
}

// setType sets the TYPE of a family and returns 1 for its first contradiction.
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

// conflict reports whether the last TYPE contradicts the first.
func (f *familyMeta) conflict() bool { return f.current != f.typ }

// conflicting reports whether a sample of that name is under a TYPE that contradicts
// the first one of its family.
func (m *metadata) conflicting(format bodyFormat, name string) bool {
	if f, ok := m.byName[name]; ok {
		return f.conflict()
	}
	for _, suffix := range []string{"_bucket", "_sum", "_count", "_total"} {
		base, ok := strings.CutSuffix(name, suffix)
		if !ok {
			continue
		}
		f, ok := m.byName[base]
		if !ok || !f.conflict() {
			continue
		}
		if suffix == "_total" {
			return format == formatOpenMetrics
		}
		return !scalar(f.typ) || !scalar(f.current)
	}
	return false
}

// familyIndex returns the index in b of the family of a sample name, adding it if needed.
func (m *metadata) familyIndex(b *shapeBuilder, format bodyFormat, name string) int {
	family, meta, typ := m.resolve(format, name)
	i, ok := b.index[family]
	if ok {
		return i
	}
	i = b.family(family)
	b.families[i].Type = typ
	if meta != nil {
		b.families[i].Help, b.families[i].Unit = meta.help, meta.unit
	}
	return i
}

// resolve returns the family of a sample name as the text format groups it. It relies
// on TYPE, never on the name alone: nv_inference_count is a counter, not part of a
// histogram.
func (m *metadata) resolve(format bodyFormat, name string) (string, *familyMeta, model.MetricType) {
	if f, ok := m.byName[name]; ok && (format == formatText || f.typ != model.MetricTypeCounter || strings.HasSuffix(name, "_total")) {
		return name, f, textType(f.typ)
	}
	for _, suffix := range []string{"_bucket", "_count", "_sum"} {
		base, ok := strings.CutSuffix(name, suffix)
		if !ok {
			continue
		}
		f, ok := m.byName[base]
		if ok && (f.typ == model.MetricTypeHistogram || f.typ == model.MetricTypeSummary && suffix != "_bucket") {
			return base, f, f.typ
		}
	}
	if format == formatOpenMetrics {
		return m.resolveOpenMetrics(name)
	}
	return name, nil, model.MetricTypeUnknown
}

// resolveOpenMetrics maps the suffixes of OpenMetrics to families of the text format:
// the family of a counter is its sample name, and info, created and gauge histogram
// samples become families of their own.
func (m *metadata) resolveOpenMetrics(name string) (string, *familyMeta, model.MetricType) {
	for _, s := range []struct {
		suffix string
		from   model.MetricType
		typ    model.MetricType
	}{
		{"_total", model.MetricTypeCounter, model.MetricTypeCounter},
		{"_info", model.MetricTypeInfo, model.MetricTypeGauge},
		{"_created", "", model.MetricTypeGauge},
	} {
		base, ok := strings.CutSuffix(name, s.suffix)
		if !ok {
			continue
		}
		if f, ok := m.byName[base]; ok && (s.from == "" || f.typ == s.from) {
			return name, f, s.typ
		}
	}
	return name, nil, model.MetricTypeUnknown
}

// textType returns the type of a family in the text format.
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
