package exposition

import (
	"strings"

	"github.com/prometheus/common/model"
)

// metadata gathers HELP, TYPE and UNIT of one body by the name they speak of.
type metadata struct {
	byName    map[string]*familyMeta
	conflicts int
}

// familyMeta is what a body says about one family. The first HELP and the
// first TYPE win; a later TYPE that says otherwise puts the family in
// conflict until the first is said again.
type familyMeta struct {
	help, unit    string
	typ           model.MetricType
	helped, typed bool
	conflict      bool
}

func (m *metadata) get(name string) *familyMeta {
	if f, ok := m.byName[name]; ok {
		return f
	}
	if m.byName == nil {
		m.byName = make(map[string]*familyMeta)
	}
	f := &familyMeta{typ: model.MetricTypeUnknown}
	m.byName[name] = f
	return f
}

func (m *metadata) help(name, text string) {
	if f := m.get(name); !f.helped {
		f.help, f.helped = text, true
	}
}

func (m *metadata) unit(name, unit string) {
	m.get(name).unit = unit
}

// typ notes a TYPE and returns 1 when it contradicts an earlier one.
func (m *metadata) typ(name string, typ model.MetricType) uint32 {
	f := m.get(name)
	if !f.typed {
		f.typ, f.typed = typ, true
		return 0
	}
	was := f.conflict
	f.conflict = f.typ != typ
	if f.conflict && !was {
		m.conflicts++
		return 1
	}
	return 0
}

// conflicting says whether a sample of that name stands under a TYPE that
// contradicts the family's first.
func (m *metadata) conflicting(name string) bool {
	if m.conflicts == 0 {
		return false
	}
	if f, ok := m.byName[name]; ok {
		return f.conflict
	}
	for _, suffix := range []string{"_bucket", "_sum", "_count", "_total"} {
		if base, ok := strings.CutSuffix(name, suffix); ok {
			if f, ok := m.byName[base]; ok {
				return f.conflict
			}
		}
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
	if f, ok := m.byName[name]; ok && !(k == kindOpenMetrics && f.typ == model.MetricTypeCounter && !strings.HasSuffix(name, "_total")) {
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

// textType is the type under which a family stands in the text format.
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
