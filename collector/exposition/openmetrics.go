package exposition

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
)

// role is what a line is in its family.
type role uint8

const (
	roleValue role = iota
	roleBucket
	roleCount
	roleSum
	roleCreated

	// begins marks the first line of those with one set of labels.
	begins role = 1 << 7
)

// roleOf is the role of a sample name in a family.
func roleOf(f *Family, sample string) role {
	for r, suffix := range map[role]string{roleBucket: "_bucket", roleCount: "_count", roleSum: "_sum", roleCreated: "_created"} {
		base, ok := strings.CutSuffix(sample, suffix)
		if ok && (base == f.Name && !scalar(f.Type) || r == roleCreated && base+"_total" == f.Name) {
			return r
		}
	}
	return roleValue
}

// openMetrics gives the families of a shape the form that OpenMetrics wants: times
// of creation are next to what was created, and bounds of what is whole are spelled
// in its way.
func openMetrics(parts []part) []part {
	index, named := make(map[string]int, len(parts)), make(map[string]int, len(parts))
	for i := range parts {
		index[parts[i].Name] = i
		named[parts[i].Name]++
	}
	d := dialect{openMetrics: true}
	inside := make(map[int]bool)
	for i := range parts {
		p := &parts[i]
		if !d.compound(p.Name, p.Type) {
			continue
		}
		var created *part
		own := d.ownNames(p.Name, p.Type)
		at, ok := index[own[len(own)-1]]
		if ok && scalar(parts[at].Type) && named[p.Name] == 1 && !inside[at] {
			created = &parts[at]
		}
		inside[at] = p.arrange(created) || inside[at]
		// Where two got one name by escaping, neither has all lines of a group.
		p.broken = p.broken || named[p.Name] > 1 && !scalar(p.Type)
	}
	out := make([]part, 0, len(parts))
	for i := range parts {
		if !inside[i] {
			out = append(out, parts[i])
		}
	}
	// It is not nil where escaping left nothing of the shape, which then shows nothing.
	return out
}

// member is a line of a histogram or summary, or of a counter with the time of its
// creation.
type member struct {
	entry

	role  role
	bound float64
	// spelled are the labels with the bound as OpenMetrics spells it.
	spelled labels.Labels
	// group are the labels that the lines of one group have in common.
	group labels.Labels
}

// newMember reads a line of a family.
func newMember(f *Family, one entry) member {
	m := member{entry: one, spelled: one.labels, role: roleOf(f, one.labels.Get(model.MetricNameLabel))}
	b := labels.NewBuilder(one.labels)
	if label := boundLabel(f.Type, m.role); label != "" {
		var err error
		if m.bound, err = strconv.ParseFloat(one.labels.Get(label), 64); err == nil {
			m.spelled = b.Set(label, labels.FormatOpenMetricsFloat(m.bound)).Labels()
		}
		b.Del(label)
	}
	m.group = b.Del(model.MetricNameLabel).Labels()
	return m
}

// boundLabel is the label of a line's bound or quantile; empty for none.
func boundLabel(typ model.MetricType, r role) string {
	switch {
	case r == roleBucket:
		return model.BucketLabel
	case r == roleValue && typ == model.MetricTypeSummary:
		return model.QuantileLabel
	}
	return ""
}

// arrange groups the lines of a histogram or summary, and of a counter with times
// of creation, which are another family of the shape or nil; it reports whether
// they fit into the groups.
func (p *part) arrange(created *part) (joined bool) {
	members := p.members(&p.segment)
	if created != nil {
		times := p.members(&created.segment)
		if joined = within(times, members); joined {
			members = append(members, times...)
		}
	}
	if !joined && scalar(p.Type) {
		return false
	}
	byGroup := func(a, b member) int { return labels.Compare(a.group, b.group) }
	changed := joined || !slices.IsSortedFunc(members, byGroup)
	slices.SortStableFunc(members, byGroup)
	p.roles = make([]role, len(members))
	first := 0
	for i := range members {
		p.roles[i] = members[i].role
		if i == 0 || byGroup(members[i-1], members[i]) != 0 {
			p.roles[i] |= begins
			p.broken = p.broken || !whole(&p.Family, members[first:i])
			first = i
		}
	}
	p.broken = p.broken || !whole(&p.Family, members[first:])
	entries := make([]entry, len(members))
	for i := range members {
		if entries[i] = members[i].entry; !p.broken {
			entries[i].labels = members[i].spelled
		}
	}
	if lines := render(entries); changed || lines.text != p.segment.text {
		p.segment = lines
	}
	return joined
}

// members are the lines of a segment as those of the family.
func (p *part) members(s *segment) []member {
	all := make([]member, 0, len(s.lines))
	for _, one := range s.entries() {
		all = append(all, newMember(&p.Family, one))
	}
	return all
}

// within reports whether all lines are of groups that others have.
func within(members, others []member) bool {
	groups := make(map[string]bool, len(others))
	for i := range others {
		groups[others[i].group.String()] = true
	}
	return !slices.ContainsFunc(members, func(m member) bool { return !groups[m.group.String()] })
}

// whole reports whether OpenMetrics takes a group for one of a family of the type,
// as far as that does not depend on values: buckets in their order up to infinity, a
// count where there is a sum and no sum below zero, quantiles from 0 to 1.
func whole(f *Family, group []member) bool {
	var has [roleCreated + 1]bool
	lowest, last := math.Inf(1), math.Inf(-1)
	seen := make(map[float64]bool)
	for i := range group {
		m := &group[i]
		has[m.role] = true
		if boundLabel(f.Type, m.role) == "" {
			continue
		}
		if m.bound != m.bound || seen[m.bound] || m.role == roleBucket && m.bound < last {
			return false
		}
		seen[m.bound] = true
		lowest, last = min(lowest, m.bound), max(last, m.bound)
	}
	switch f.Type {
	case model.MetricTypeHistogram:
		return len(group) == 0 || math.IsInf(last, 1) && has[roleCount] == has[roleSum] && (lowest >= 0 || !has[roleSum])
	case model.MetricTypeSummary:
		return !has[roleValue] || lowest >= 0 && last <= 1
	default:
		return true
	}
}

// carries reports whether OpenMetrics can have the values of a block under the type
// of the family that the part is in.
func (p *part) carries(typ model.MetricType, b *Block) bool {
	var g group
	for i, at := range p.at {
		r := roleValue
		if p.roles != nil {
			if r = p.roles[i] &^ begins; p.roles[i]&begins != 0 {
				if !g.adds(typ) {
					return false
				}
				g = group{}
			}
		}
		text := b.TextAt(ValueIndex(at))
		if r == roleBucket {
			g.cut = len(text) == 0
		}
		if len(text) > 0 && !g.takes(typ, r, text) {
			return false
		}
	}
	return g.adds(typ)
}

// group are the values of one histogram, as they are read.
type group struct {
	has         [roleCreated + 1]bool
	last, count float64
	// cut says that the bucket that came last, which is that of infinity at the
	// end, is absent.
	cut bool
}

// takes reads one value; false for one that the type does not have.
func (g *group) takes(typ model.MetricType, r role, text []byte) bool {
	if r == roleValue && text[0]-'0' <= 9 {
		return true
	}
	v, _ := number(text)
	g.has[r] = true
	switch {
	case r == roleCreated:
		return v == v
	case r == roleBucket:
		falls := v < g.last
		g.last = v
		return !falls && wholeNumber(v)
	case r == roleCount:
		g.count = v
		return v >= 0 && wholeNumber(v)
	case r == roleValue && typ == model.MetricTypeSummary:
		return !(v < 0)
	default:
		return v >= 0
	}
}

// adds reports whether the values, if they are of a histogram, add up.
func (g *group) adds(typ model.MetricType) bool {
	if typ != model.MetricTypeHistogram || g.has == (group{}).has {
		return true
	}
	return g.has[roleBucket] && !g.cut && g.has[roleCount] == g.has[roleSum] && (!g.has[roleCount] || g.count == g.last)
}

// wholeNumber reports whether a value can be a number of observations.
func wholeNumber(v float64) bool { return v == math.Trunc(v) && !math.IsInf(v, 0) }

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
