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
}

// lessen is the column of what became of requests of a front, made when a rule first
// reads it. Its key is the same on pages of all shapes.
func (p *Plan) lessen(id string, at front, what string, of, less []int) int {
	key := columnKey{of: unique.Make("less\x00" + id + "\x00" + at.model + "\x00" + at.version + "\x00" + what)}
	out := &p.program.intake
	if i := slices.IndexFunc(out.lessened, func(l lessened) bool { return l.key == key }); i >= 0 {
		return out.lessened[i].column
	}
	c := len(out.places)
	out.places = append(out.places, out.places[of[0]]) // Of any number, which is replaced.
	out.counter, out.appears, out.keys = append(out.counter, false), append(out.appears, false), append(out.keys, key)
	out.lessened = append(out.lessened, lessened{key, c, of, less})
	return c
}

// lessen gives a row of the next page its columns that are on no page.
func (w *Window) lessen(all []lessened, row []float64) {
	for i := range all {
		l := &all[i]
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
	return max(sumOf(row, l.of)-sumOf(row, l.less), 0)
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
