package exposition

import (
	"strings"

	"github.com/prometheus/common/model"
)

// metadata gathers HELP, TYPE and UNIT of one body by the name they speak of.
type metadata struct {
	byName map[string]*familyMeta
	// conflicts are the families with more than one TYPE.
	conflicts int
	// longest is the most bytes of a HELP, 0 for any.
	longest int
}

// familyMeta is what a body says about one family. The first HELP and the
// first TYPE win; a later TYPE that says otherwise puts the samples that
// follow in conflict until the first is said again.
type familyMeta struct {
	help, unit    string
	typ           model.MetricType
	helped, typed bool
	// now is the TYPE that counts for the samples that follow.
	now model.MetricType
	// typeConflict and helpConflict say that the family is counted already.
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
		// What is said of no name, as # TYPE "" histogram, is said of nothing.
		m.byName[name] = f
	}
	return f
}

// help notes a HELP and returns 1 when the family's HELP is contradicted for
// the first time.
func (m *metadata) help(name, text string) uint32 {
	f := m.get(name)
	// The text format has no blanks at the front of a help text, and textparse
	// takes a NUL there for the end of the text.
	text = clipped(strings.TrimLeft(text, " \t\x00"), m.longest)
	if !f.helped {
		f.help, f.helped = text, true
		return 0
	}
	if f.help == text || f.helpConflict {
		return 0
	}
	f.helpConflict = true
	return 1
}

func (m *metadata) unit(name, unit string) {
	m.get(name).unit = unit
}

// typ notes a TYPE and returns 1 when it contradicts an earlier one.
func (m *metadata) typ(name string, typ model.MetricType) uint32 {
	f := m.get(name)
	if !f.typed {
		f.typ, f.now, f.typed = typ, typ, true
		return 0
	}
	f.now = typ
	if !f.conflict() || f.typeConflict {
		return 0
	}
	f.typeConflict = true
	m.conflicts++
	return 1
}

// conflict reports whether the last TYPE contradicts the first.
func (f *familyMeta) conflict() bool { return f.now != f.typ }

// conflicting reports whether a sample of that name is under a TYPE that
// contradicts the family's first.
func (m *metadata) conflicting(k kind, name string) bool {
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
			return k == kindOpenMetrics
		}
		return !scalar(f.typ) || !scalar(f.now)
	}
	return false
}

// place returns the index in b of the family that a sample of that name
// belongs to, as the text format would group it.
func (m *metadata) place(b *shapeBuilder, k kind, name string) int {
	family, meta, typ := m.resolve(k, name)
	i, seen := b.index[family]
	if seen {
		return i
	}
	i = b.family(family)
	b.families[i].Type = typ
	if meta != nil {
		b.families[i].Help, b.families[i].Unit = meta.help, meta.unit
	}
	return i
}

// resolve finds the family of a sample name. Names are judged by TYPE, never
// by their looks: nv_inference_count is a counter, not a part of a histogram.
func (m *metadata) resolve(k kind, name string) (string, *familyMeta, model.MetricType) {
	if f, ok := m.byName[name]; ok && (k == kindText || f.typ != model.MetricTypeCounter || strings.HasSuffix(name, "_total")) {
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
	if k == kindOpenMetrics {
		return m.resolveOpenMetrics(name)
	}
	return name, nil, model.MetricTypeUnknown
}

// resolveOpenMetrics maps the suffixes that only OpenMetrics knows to the
// families of the text format: a counter's family is its sample name, and
// info, created and gauge histogram samples become plain families.
func (m *metadata) resolveOpenMetrics(name string) (string, *familyMeta, model.MetricType) {
	for _, s := range []struct {
		suffix string
		of     model.MetricType
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
		if f, ok := m.byName[base]; ok && (s.of == "" || f.typ == s.of) {
			return name, f, s.typ
		}
	}
	return name, nil, model.MetricTypeUnknown
}

// textType is the type that a family has in the text format.
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
