package exposition

import (
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/model"
)

// escaping decides what a reader gets of names beyond the legacy character
// set that takes them escaped only. The escaping itself is expfmt's; here is
// prevented that an escaped name takes the place of an ordinary one, or makes
// a page that its reader refuses as a whole.
type escaping struct {
	scheme model.EscapingScheme
	// taken are the sample names of the families on the page as the reader
	// will see them.
	taken map[string]bool
}

// escaping returns the rules for one page, nil when nothing on it is escaped.
func (l *Layout) escaping(scheme model.EscapingScheme) *escaping {
	if !l.utf8 || scheme == model.NoEscaping {
		return nil
	}
	e := &escaping{scheme: scheme, taken: make(map[string]bool, len(l.families))}
	for i := range l.families {
		if f := &l.families[i].Family; model.LegacyValidation.IsValidMetricName(f.Name) {
			for _, name := range e.samples(f) {
				e.taken[name] = true
			}
		}
	}
	return e
}

// samples are the escaped names that samples of a family may have.
func (e *escaping) samples(f *Family) []string {
	name := model.EscapeName(f.Name, e.scheme)
	switch f.Type {
	case model.MetricTypeHistogram:
		return []string{name, name + "_bucket", name + "_count", name + "_sum"}
	case model.MetricTypeSummary:
		return []string{name, name + "_count", name + "_sum"}
	default:
		return []string{name}
	}
}

// admits says whether the family has names of its own once they are escaped;
// ordinary names come first, then the order of the page.
func (e *escaping) admits(f *Family) bool {
	if e == nil || model.LegacyValidation.IsValidMetricName(f.Name) {
		return true
	}
	names := e.samples(f)
	if slices.ContainsFunc(names, func(name string) bool { return e.taken[name] }) {
		return false
	}
	for _, name := range names {
		e.taken[name] = true
	}
	return true
}

// prune leaves out the metrics whose escaped label names no reader takes.
func (e *escaping) prune(mf *dto.MetricFamily) {
	if e != nil {
		mf.Metric = slices.DeleteFunc(mf.Metric, func(m *dto.Metric) bool { return !e.distinct(m) })
	}
}

// distinct says whether the label names of a metric differ once they are
// escaped. A colon is replaced before, for expfmt takes label names for
// metric names, in which colons may stay.
func (e *escaping) distinct(m *dto.Metric) bool {
	seen := map[string]bool{model.MetricNameLabel: true}
	for _, l := range m.Label {
		l.Name = new(strings.ReplaceAll(l.GetName(), ":", "_"))
		escaped := model.EscapeName(l.GetName(), e.scheme)
		if seen[escaped] {
			return false
		}
		seen[escaped] = true
	}
	return true
}
