package derive

import (
	"math"
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// Out takes the values that a rule sets: the k-th of a rule is that of its k-th series. Labels are
// read once a shape, when the index is built. So the order in which a rule sets its series, and
// their number, depend on the shape alone: a series without a value now is set with ok == false.
type Out struct {
	view *View
	// Page is copied from, block is written to.
	page, block *exposition.Block
	// next is the next series of the rule, end the first that is not its own.
	next, end int

	// series takes the labels of the series, of family, while the index is built; then nothing has a
	// value. It is nil on pages.
	series *[]exposition.ComputedSeries
	family *Family
}

// Set sets the next series, which is about a model and has additional pairs of labels.
func (o *Out) Set(m *Model, value float64, ok bool, pairs ...string) {
	if o.series != nil {
		o.add("", withLabels(m.labels, slices.Clone(pairs)...))
		return
	}
	o.set(value, ok)
}

// SetLabels sets the next series, which has these labels.
func (o *Out) SetLabels(lset labels.Labels, value float64, ok bool) {
	if o.series != nil {
		o.add("", lset)
		return
	}
	o.set(value, ok)
}

// Copy sets the next series, with the labels of a group, to its value as the page writes it.
func (o *Out) Copy(g *group) {
	if o.series != nil {
		o.add("", g.labels)
	}
	o.copy(g, &g.value, g.shift)
}

// CopyAs is [Out.Copy] for a series about the model of the group with pairs of labels.
func (o *Out) CopyAs(g *group, pairs ...string) {
	if o.series != nil {
		o.add("", withLabels(g.model.labels, slices.Clone(pairs)...))
	}
	o.copy(g, &g.value, g.shift)
}

func (o *Out) add(suffix string, lset labels.Labels) {
	ix := o.view.index
	*o.series = append(*o.series, exposition.ComputedSeries{
		Family: o.family.Family,
		Suffix: suffix,
		Labels: lset,
		Hidden: ix.hides(o.family, suffix, lset),
	})
}

// repeats notes, while the index is built, that the series that was added last has the value of a single
// number of the page.
func (o *Out) repeats(numbers *numbers) {
	if ix := o.view.index; ix.building != nil && len(numbers.sources) == 1 {
		place := ix.building.sources[numbers.sources[0]].place
		ix.repeated = append(ix.repeated, repeatedValue{len(*o.series) - 1, place})
	}
}

// number returns the number of the next series, -1 if the rule has no more.
func (o *Out) number() int {
	if o.next >= o.end {
		return -1
	}
	o.next++
	return o.next - 1
}

func (o *Out) set(value float64, ok bool) {
	if n := o.number(); n >= 0 && ok && finite(value) {
		o.block.SetShort(n, value)
	}
}

// copy sets the next series to the text of a single number, or to the combined value of several.
func (o *Out) copy(g *group, numbers *numbers, shift int) {
	trusted := o.view.trusts(g)
	if len(numbers.sources) > 1 {
		value, ok := o.view.combined(numbers, g.combine)
		if o.series == nil {
			o.set(value, ok && trusted)
		}
		return
	}
	if o.series != nil {
		o.repeats(numbers)
		o.view.index.check(numbers.sources[0])
		return
	}
	if n := o.number(); n >= 0 && trusted {
		numbers.first.copy(n, shift, o.page, o.block)
	}
}

func (c *copiedNumber) copy(n, shift int, page, block *exposition.Block) {
	switch v := page.Number(c.place); {
	case !possible(v) || v == 0 && c.notZero || c.share && v/math.Pow10(shift) > 1:
	case shift == 0:
		block.CopyText(n, page, c.place)
	default:
		block.Set(n, v/math.Pow10(shift))
	}
}
