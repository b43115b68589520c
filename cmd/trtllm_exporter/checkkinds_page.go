package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/draft"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// onPage is a page that a file of kinds is compared with: its series that have a meaning, and the families that have
// none.
type onPage struct {
	kind    *engine.Kind
	block   *exposition.Block
	sources []engine.Source
	unread  []string
}

// matches says how many lines of the page have a meaning, of which models, and what may be wrong with that.
func (o *onPage) matches(m *engine.Meaning) string {
	var lines []engine.Source
	var models []string
	for _, s := range o.sources {
		if !s.Meaning.SameAs(m) {
			continue
		}
		lines = append(lines, s)
		if s.Model != "" && !slices.Contains(models, s.Model) {
			models = append(models, s.Model)
		}
	}
	if len(lines) == 0 {
		return o.missing(m) + o.mistyped(m)
	}
	of := "no model"
	if len(models) > 0 {
		of = strings.Join(models, ", ")
	}
	unit := cmp.Or(o.tooLarge(m, lines), unitDoubt(m))
	return joined(
		count(len(lines), "line")+" on the page, of "+of,
		unlabeled(m, lines), classesOf(m, lines), o.addedUp(m, lines), unit, releaseDoubt(o.kind, m),
	) + o.mistyped(m)
}

// missing explains why no line of the page has a meaning.
func (o *onPage) missing(m *engine.Meaning) string {
	const nothing = "nothing on the page"
	there := o.labelsOf(m.Name)
	if len(there) == 0 {
		if near := o.near(m.Name); near != "" {
			return nothing + didYouMean(near)
		}
		return nothing
	}
	for _, e := range m.Unless {
		switch shown := len(o.labelsOf(e.Name)) > 0; {
		case e.Lacking && !shown:
			return nothing + " means this, as it lacks " + e.Name
		case !e.Lacking && shown:
			return e.Name + " takes its place on the page"
		}
	}
	for i, w := range m.Where {
		left := slices.DeleteFunc(slices.Clone(there), func(lset labels.Labels) bool { return !w.Selects(lset) })
		if len(left) > 0 {
			there = left
			continue
		}
		among := "where "
		if i > 0 { // What the conditions before it select.
			among = "where of " + selectorOf(&engine.Meaning{Name: m.Name, Where: m.Where[:i]}) + " "
		}
		if values := valuesOf(w.Label, there); len(values) > 0 {
			return nothing + ", " + among + w.Label + " is " + strings.Join(values, ", ")
		}
		return nothing + ", where it has no label " + w.Label
	}
	return nothing
}

// near returns the name that nothing reads of which another is most likely a misspelling: it has other letters, or
// begins or ends otherwise.
func (o *onPage) near(name string) string {
	longer := func(other string) bool {
		return strings.HasPrefix(other, name+"_") || strings.HasPrefix(name, other+"_")
	}
	if at := slices.IndexFunc(o.unread, longer); at >= 0 {
		return o.unread[at]
	}
	return config.Nearest(name, o.unread)
}

// labelsOf returns the labels of the series of a family or a name on the page.
func (o *onPage) labelsOf(name string) (all []labels.Labels) {
	shape := o.block.Shape()
	for _, f := range shape.Families() {
		first, end := f.Lines()
		for i := first; i < end; i++ {
			if lset := shape.Labels(i); f.Name == name || lset.Get(model.MetricNameLabel) == name {
				all = append(all, lset)
			}
		}
	}
	return all
}

// valuesOf returns the values of a label.
func valuesOf(label string, all []labels.Labels) (values []string) {
	for _, lset := range all {
		if value := lset.Get(label); value != "" {
			values = append(values, value)
		}
	}
	slices.Sort(values)
	return slices.Compact(values)
}

// unlabeled names labels that a file keeps and no line has.
func unlabeled(m *engine.Meaning, lines []engine.Source) string {
	for _, dim := range m.Dims {
		if !slices.ContainsFunc(lines, func(s engine.Source) bool { return s.Labels.Has(dim.Theirs) }) {
			return "but none has the label " + dim.Theirs
		}
	}
	return ""
}

// classesOf lists the values of the label that says why requests ended, by class. It is empty for series that say
// nothing of ends, or have no such label.
func classesOf(m *engine.Meaning, lines []engine.Source) string {
	if m.Outcome == nil || len(m.Dims) == 0 {
		return ""
	}
	by := make(map[engine.Class][]string)
	for _, s := range lines {
		reason := s.Labels.Get(m.Dims[0].Theirs)
		if class := m.Outcome.Class(strings.ToLower(reason)); reason != "" && !slices.Contains(by[class], reason) {
			by[class] = append(by[class], reason)
		}
	}
	var parts []string
	for _, class := range append(engine.Classes(), engine.ClassUnknown) {
		if len(by[class]) > 0 {
			parts = append(parts, fmt.Sprintf("class %s: %s", class, strings.Join(by[class], ", ")))
		}
	}
	if len(by[engine.ClassUnknown]) > 0 {
		parts[len(parts)-1] += "; say in classes which it is"
	}
	return strings.Join(parts, ", ")
}

// addedUp names labels over which the series of one model are combined into one value.
func (o *onPage) addedUp(m *engine.Meaning, lines []engine.Source) string {
	kept := append(o.kind.ModelLabels(), m.Rank, model.MetricNameLabel, model.BucketLabel, model.QuantileLabel)
	for _, dim := range m.Dims {
		kept = append(kept, dim.Theirs)
	}
	var over []string
	for i := range lines {
		lines[i].Labels.Range(func(l labels.Label) {
			differs := func(s engine.Source) bool { return s.Model == lines[i].Model && s.Labels.Get(l.Name) != l.Value }
			if !slices.Contains(append(kept, over...), l.Name) && slices.ContainsFunc(lines, differs) {
				over = append(over, l.Name)
			}
		})
	}
	switch {
	case len(over) == 0:
		return ""
	case m.Combine == engine.Sum:
		return "added up over " + strings.Join(over, ", ")
	}
	return "one value over " + strings.Join(over, ", ")
}

// tooLarge says that a share is more than all.
func (o *onPage) tooLarge(m *engine.Meaning, lines []engine.Source) string {
	for _, s := range lines {
		v := o.block.Number(s.Place) / math.Pow10(m.Shift)
		if m.Signal.IsShare() && v > 1 {
			return fmt.Sprintf("but it is %g, and a share is at most 1: factor: 0.01 if these are percent", v)
		}
	}
	return ""
}

// unitDoubt says that the end of a name is another unit than its values are read in, empty if it is not.
func unitDoubt(m *engine.Meaning) string {
	isRate := func(end string) bool { return strings.HasSuffix(m.Name, end) }
	if m.Signal.Type().Counter && slices.ContainsFunc([]string{"_per_s", "_per_sec", "_per_second"}, isRate) {
		return "its name ends like that of a rate: a signal that counts needs a counter"
	}
	if factor := draft.Factor(m.Name, m); m.Shift == 0 && factor != 0 {
		return fmt.Sprintf("its name ends in another unit: factor: %g?", factor)
	}
	return ""
}

// mistyped says that the page declares the type of a name otherwise than a file, empty if it does not.
func (o *onPage) mistyped(m *engine.Meaning) string {
	for _, f := range o.block.Shape().Families() {
		declared := slices.Contains([]string{"counter", "gauge", "histogram", "summary"}, string(f.Type))
		switch {
		case f.Name != m.Name || !declared || string(f.Type) == typeOf(m):
		case f.Type == model.MetricTypeSummary && typeOf(m) == string(model.MetricTypeHistogram):
			return "; the page declares a summary, of which only means are read"
		default:
			return "; but the page declares a " + string(f.Type)
		}
	}
	return ""
}
