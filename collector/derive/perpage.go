package derive

// perPage is what several rules need of a page. It is computed once a page, for
// each window apart: the rules of one program serve the windows of many targets.
type perPage[T any] struct {
	number  int
	compute func(w *Window, into *T) bool
}

// result is what was computed of the page at that time.
type result[T any] struct {
	at    int64
	ok    bool
	value T
}

// newPerPage gives what is computed a number of its own in the windows of the
// program. Into is what was computed of the page before.
func newPerPage[T any](p *Plan, compute func(w *Window, into *T) bool) perPage[T] {
	p.program.results++
	return perPage[T]{p.program.results - 1, compute}
}

// of is what is computed of the newest page of a window, false when it has no
// value; it is the window's, and is only read.
func (e *perPage[T]) of(w *Window) (*T, bool) {
	for len(w.results) <= e.number {
		w.results = append(w.results, nil)
	}
	r, _ := w.results[e.number].(*result[T])
	if r == nil {
		r = &result[T]{at: -1}
		w.results[e.number] = r
	}
	if r.at != w.now {
		r.at = w.now
		r.ok = e.compute(w, &r.value)
	}
	return &r.value, r.ok
}
