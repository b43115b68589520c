package derive

import (
	"slices"
	"unique"
)

// lessened is a column that is on no page: what some counters count, less what
// others count of the same requests. The others may count a request earlier than
// those, or one that those never count, as the vLLM that refuses a stream within an
// answer of 200. A counter that fell for it would be taken for one that began
// again, and all that it ever counted for new: it stays as high as it was.
type lessened struct {
	key      columnKey
	column   int
	of, less []int
	// least and most are bounds: counters of requests all of which are of these, and
	// those of which all are.
	least, most []int
}

// lessen gives the requests of a front that have a name their column, which is made
// when a rule first reads it. Its key is the same on pages of all shapes.
func (p *Plan) lessen(id string, at front, name string, l *lessened) *lessened {
	l.key = columnKey{of: unique.Make("less\x00" + id + "\x00" + at.model + "\x00" + at.version + "\x00" + name)}
	out := &p.program.intake
	if i := slices.IndexFunc(out.lessened, func(o *lessened) bool { return o.key == l.key }); i >= 0 {
		return out.lessened[i]
	}
	l.column = len(out.places)
	out.places = append(out.places, out.places[l.of[0]]) // Of any number, which is replaced.
	out.counter, out.appears, out.keys = append(out.counter, false), append(out.appears, false), append(out.keys, l.key)
	out.lessened = append(out.lessened, l)
	return l
}

// lessen gives a row of the next page its columns that are on no page.
func (w *Window) lessen(all []*lessened, row []float64) {
	for _, l := range all {
		v, before := l.in(row), w.current[l.column]
		if before != before {
			before = l.in(w.current)
		}
		if before > v && !w.falls(row) {
			v = before
		}
		row[l.column] = v
	}
}

// in is the difference in a row, NaN where any counter is not there.
func (l *lessened) in(row []float64) float64 {
	return l.from(func(columns []int) float64 { return sumOf(row, columns) })
}

// from is the difference, within its bounds, of sums of columns.
func (l *lessened) from(sum func(columns []int) float64) float64 {
	v := max(sum(l.of)-sum(l.less), sum(l.least))
	if len(l.most) > 0 {
		v = min(v, sum(l.most))
	}
	return v
}

// falls says whether any counter is lower than on the page before: its process began
// again, and may show the requests of a path that was not asked for until then.
func (w *Window) falls(row []float64) bool {
	for c, v := range row {
		if w.counter[c] && v < w.current[c] {
			return true
		}
	}
	return false
}
