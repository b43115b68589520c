package exposition

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
)

type role uint8

const (
	roleValue role = iota
	roleBucket
	roleCount
	roleSum
	roleCreated

	// firstOfGroup marks the first line of a group, that is, of one histogram, summary or counter.
	firstOfGroup role = 1 << 7
)

func roleOf(f *Family, sample string) role {
	for r, suffix := range map[role]string{roleBucket: "_bucket", roleCount: "_count", roleSum: "_sum", roleCreated: "_created"} {
		base, ok := strings.CutSuffix(sample, suffix)
		if ok && (base == f.Name && !scalar(f.Type) || r == roleCreated && base+"_total" == f.Name) {
			return r
		}
	}
	return roleValue
}

// openMetrics converts the families of a shape to OpenMetrics: _created samples join their
// family, and the bounds of well-formed families are rewritten in canonical form.
func openMetrics(all []rewritten) []rewritten {
	index, count := make(map[string]*rewritten, len(all)), make(map[string]int, len(all))
	for i := range all {
		index[all[i].Name] = &all[i]
		count[all[i].Name]++
	}
	d := dialect{openMetrics: true}
	for i := range all {
		f := &all[i]
		if !d.compound(f.Name, f.Type) || len(f.entries) == 0 {
			continue
		}
		names := d.extraNames(f.Name, f.Type)
		created := index[names[len(names)-1]]
		if created != nil && (!scalar(created.Type) || count[f.Name] > 1) {
			created = nil
		}
		f.group(created)
		// Families that share a name after escaping would split groups between them.
		f.malformed = f.malformed || count[f.Name] > 1 && !scalar(f.Type)
	}
	return all
}

// member is a line of a histogram, a summary, or a counter with _created.
type member struct {
	entry

	role  role
	bound float64
	// canonical is the prefix with the bound in canonical form.
	canonical string
	// group holds the labels that the lines of a group have in common.
	group labels.Labels
}

func (f *Family) members(entries []entry) []member {
	all := make([]member, 0, len(entries))
	for _, e := range entries {
		lset := parsePrefix([]byte(e.prefix))
		m := member{entry: e, canonical: e.prefix, role: roleOf(f, lset.Get(model.MetricNameLabel))}
		b := labels.NewBuilder(lset)
		if label := boundLabel(f.Type, m.role); label != "" {
			var err error
			if m.bound, err = strconv.ParseFloat(lset.Get(label), 64); err == nil {
				m.canonical = withBound(e.prefix, lset, label, m.bound)
			}
			b.Del(label)
		}
		m.group = b.Del(model.MetricNameLabel).Labels()
		all = append(all, m)
	}
	return all
}

// boundLabel returns the label with the bound or quantile of a line; empty if there is none.
func boundLabel(typ model.MetricType, r role) string {
	switch {
	case r == roleBucket:
		return model.BucketLabel
	case r == roleValue && typ == model.MetricTypeSummary:
		return model.QuantileLabel
	}
	return ""
}

// group sorts the lines of the family into groups. The lines of its _created family,
// which may be nil, join them if each belongs to one.
func (f *rewritten) group(created *rewritten) {
	members, joined := f.members(f.entries), false
	if created != nil && len(created.entries) > 0 {
		times := f.members(created.entries)
		if joined = haveGroups(times, members); joined {
			members, created.entries = append(members, times...), nil
		}
	}
	if !joined && scalar(f.Type) {
		return
	}
	byGroup := func(a, b member) int { return labels.Compare(a.group, b.group) }
	slices.SortStableFunc(members, byGroup)
	roles, first := make([]role, len(members)), 0
	for i := range members {
		roles[i] = members[i].role
		if i == 0 || byGroup(members[i-1], members[i]) != 0 {
			roles[i] |= firstOfGroup
			f.malformed = f.malformed || !wellFormed(&f.Family, members[first:i])
			first = i
		}
	}
	f.malformed = f.malformed || !wellFormed(&f.Family, members[first:])
	f.roles, f.entries = intern(&internedRoles, roles), make([]entry, len(members))
	for i := range members {
		if f.entries[i] = members[i].entry; !f.malformed {
			f.entries[i].prefix = members[i].canonical
		}
	}
}

// haveGroups reports whether every group of the members also occurs in the reference.
func haveGroups(members, reference []member) bool {
	groups := make(map[string]bool, len(reference))
	for i := range reference {
		groups[reference[i].group.String()] = true
	}
	return !slices.ContainsFunc(members, func(m member) bool { return !groups[m.group.String()] })
}

// wellFormed reports whether OpenMetrics allows a group under the type of its family, apart from
// values: sorted buckets up to infinity, a count if there is a sum, no sum with negative bounds,
// and quantiles from 0 to 1.
func wellFormed(f *Family, group []member) bool {
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

// allows reports whether OpenMetrics allows the values of a block under a type.
func (r *familyRef) allows(typ model.MetricType, b *Block) bool {
	var g groupValues
	f := r.source()
	for i, index := range r.shape.indexes[f.first:f.end] {
		r := roleValue
		if f.roles != nil {
			if r = (*f.roles)[i] &^ firstOfGroup; (*f.roles)[i]&firstOfGroup != 0 {
				if !g.consistent(typ) {
					return false
				}
				g = groupValues{}
			}
		}
		text := b.TextAt(ValueIndex(index))
		if r == roleBucket {
			g.missing = len(text) == 0
		}
		if len(text) > 0 && !g.add(typ, r, text) {
			return false
		}
	}
	return g.consistent(typ)
}

// groupValues accumulates the values of one group.
type groupValues struct {
	has         [roleCreated + 1]bool
	last, count float64
	// missing is true if the last added bucket, finally +Inf, is absent.
	missing bool
}

// add adds one value. It reports false if the type does not allow it.
func (g *groupValues) add(typ model.MetricType, r role, text []byte) bool {
	if r == roleValue && text[0]-'0' <= 9 {
		return true
	}
	v, _ := number(text)
	g.has[r] = true
	switch {
	case r == roleCreated:
		return v == v
	case r == roleBucket:
		decreases := v < g.last
		g.last = v
		return !decreases && integer(v)
	case r == roleCount:
		g.count = v
		return v >= 0 && integer(v)
	case r == roleValue && typ == model.MetricTypeSummary:
		return !(v < 0)
	default:
		return v >= 0
	}
}

// consistent reports whether the values of a histogram add up; other types always do.
func (g *groupValues) consistent(typ model.MetricType) bool {
	if typ != model.MetricTypeHistogram || g.has == (groupValues{}).has {
		return true
	}
	return g.has[roleBucket] && !g.missing && g.has[roleCount] == g.has[roleSum] && (!g.has[roleCount] || g.count == g.last)
}

func integer(v float64) bool { return v == math.Trunc(v) && !math.IsInf(v, 0) }

func (d dialect) headName(f *Family) (name, typ string) {
	switch {
	case !d.openMetrics && f.Type == model.MetricTypeUnknown:
		return f.Name, "untyped"
	case !d.openMetrics || f.Type != model.MetricTypeCounter:
		return f.Name, string(f.Type)
	}
	base, ok := strings.CutSuffix(f.Name, "_total")
	if !ok || base == "" {
		return f.Name, string(model.MetricTypeUnknown)
	}
	return base, string(f.Type)
}

// appendHead appends HELP, TYPE and UNIT. OpenMetrics allows a UNIT only if the name
// ends with it; the text format has none.
func (d dialect) appendHead(dst []byte, f *Family) []byte {
	unquoted, typ := d.headName(f)
	name := unquoted
	if !model.LegacyValidation.IsValidMetricName(name) {
		name = string(appendQuoted(nil, name))
	}
	line := func(keyword, text string) { dst = append(dst, "# "+keyword+" "+name+" "+text+"\n"...) }
	if f.Help != "" {
		help := helpEscaper
		if d.openMetrics {
			help = labelEscaper
		}
		line("HELP", help.Replace(f.Help))
	}
	line("TYPE", typ)
	if d.openMetrics && f.Unit != "" && strings.HasSuffix(unquoted, "_"+f.Unit) {
		line("UNIT", f.Unit)
	}
	return dst
}
