package exposition

import (
	"slices"
	"strings"

	"github.com/prometheus/common/model"
)

// openMetrics gives the families of a shape the form that OpenMetrics wants:
// counters, histograms and summaries have the times of their creation among
// their samples, and those that are not whole are untyped by sample name.
func openMetrics(parts []part) []part {
	index, named := make(map[string]int, len(parts)), make(map[string]int, len(parts))
	for i := range parts {
		index[parts[i].Name] = i
		named[parts[i].Name]++
	}
	d := dialect{openMetrics: true}
	inside := make(map[int]bool)
	// It is not nil where escaping left nothing of the shape, which then shows nothing.
	out := make([]part, 0, len(parts))
	for i := range parts {
		p := &parts[i]
		if !d.compound(p.Name, p.Type) {
			continue
		}
		names := d.sampleNames(p.Name, p.Type)
		created, ok := index[names[len(names)-1]]
		// Of two that got one name by escaping neither has all lines of a group.
		if ok = ok && scalar(parts[created].Type) && !inside[created] && named[p.Name] == 1; !ok {
			created = -1
		}
		arranged, whole := d.withCreated(p, parts, created)
		if !whole && created >= 0 {
			created = -1
			arranged, whole = d.withCreated(p, parts, created)
		}
		inside[i] = true
		if created >= 0 {
			inside[created] = true
		}
		if whole {
			out = append(out, arranged)
		} else {
			out = append(out, split(&p.Family, &p.segment, p.asked)...)
		}
	}
	for i := range parts {
		if !inside[i] {
			out = append(out, parts[i])
		}
	}
	return out
}

// withCreated arranges the lines of a family with those of another, which has
// the times of creation; -1 is none. Lines that stay as they are stay where
// they are.
func (d dialect) withCreated(p *part, parts []part, created int) (part, bool) {
	if p.Type == model.MetricTypeCounter && created < 0 {
		kept := *p
		kept.judge = judgeOpenMetrics
		return kept, true
	}
	entries := p.entries()
	if created >= 0 {
		entries = append(entries, parts[created].entries()...)
	}
	arranged, whole := d.arrange(p.Family, entries, p.asked)
	if whole && arranged.equals(&p.segment) {
		arranged.segment = p.segment
	}
	return arranged, whole
}

// equals says whether two segments have the same lines.
func (s *segment) equals(other *segment) bool {
	return s.text == other.text && slices.Equal(s.at, other.at) && slices.EqualFunc(s.lines, other.lines, func(a, b line) bool {
		return a.end == b.end && a.cut == b.cut && a.more == b.more &&
			(a.cut == a.end || s.own[a.first] == other.own[b.first]) && (a.more == a.end || s.own[a.second] == other.own[b.second])
	})
}

// headName is the name that HELP, TYPE and UNIT have, and typ the TYPE.
func (d dialect) headName(f *Family) (name, typ string) {
	switch {
	case !d.openMetrics && f.Type == model.MetricTypeUnknown:
		return f.Name, "untyped"
	case !d.openMetrics || f.Type != model.MetricTypeCounter:
		return f.Name, string(f.Type)
	}
	base, total := strings.CutSuffix(f.Name, "_total")
	if !total || base == "" {
		return f.Name, string(model.MetricTypeUnknown)
	}
	return base, string(f.Type)
}

// appendHead renders HELP, TYPE and UNIT. A family without help has no HELP
// line, and UNIT is OpenMetrics', which wants it to be the end of the name.
func (d dialect) appendHead(dst []byte, f *Family) []byte {
	plain, typ := d.headName(f)
	name := plain
	if !model.LegacyValidation.IsValidMetricName(name) {
		name = string(appendQuoted(nil, name))
	}
	if f.Help != "" {
		help := helpEscaper
		if d.openMetrics {
			help = labelEscaper
		}
		dst = append(append(append(dst, "# HELP "...), name...), ' ')
		dst = append(append(dst, help.Replace(f.Help)...), '\n')
	}
	dst = append(append(append(dst, "# TYPE "...), name...), ' ')
	dst = append(append(dst, typ...), '\n')
	if d.openMetrics && f.Unit != "" && strings.HasSuffix(plain, "_"+f.Unit) {
		dst = append(append(append(dst, "# UNIT "...), name...), ' ')
		dst = append(append(dst, f.Unit...), '\n')
	}
	return dst
}
