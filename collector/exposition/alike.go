package exposition

import "slices"

// Likeness is equal for shapes that have the same watched series, but for the GPUs
// that they are of. It keeps what such shapes have in common.
type Likeness struct {
	watched *[]watched
	// gpus are how many GPUs the watched series are of.
	gpus int
}

// Likeness is that of the shape; false for pages that are kept for themselves,
// and for those of more GPUs than have numbers.
func (s *Shape) Likeness() (Likeness, bool) {
	return Likeness{s.watched, len(s.shows)}, s.list.families != nil && len(s.shows) < mostOwn
}

// GPUs are the names of the GPUs that watched series are of, in their order. The
// slice is shared and only read.
func (s *Shape) GPUs() []string { return s.shows }

// For makes blocks of the same series for another replica, given its own text for
// each of those of this one: as [NewComputed] would of series with these labels.
// False where they would not be the same in everything else.
func (c *Computed) For(texts map[string]string) (*Computed, bool) {
	if c.fixed != nil || c.places != nil {
		return nil, false
	}
	shape, ok := c.shape.with(texts)
	if !ok {
		return nil, false
	}
	if c.shape.aside != nil {
		if shape.aside, ok = c.shape.aside.with(texts); !ok {
			return nil, false
		}
	}
	return &Computed{shape: shape}, true
}

// with is the shape with other texts of a replica's own. They have to be as plain
// as those of the shape and in the same order, so that lines that have them are
// the same in all else.
func (s *Shape) with(texts map[string]string) (*Shape, bool) {
	if s.list.families == nil {
		return nil, false
	}
	own := make([]string, len(s.own))
	for i, text := range s.own {
		other, known := texts[text]
		if !known || !plainOwn(text) || !plainOwn(other) || slices.Contains(own[:i], other) {
			return nil, false
		}
		own[i] = other
	}
	for i := range own {
		if i > 0 && (s.own[i-1] < s.own[i]) != (own[i-1] < own[i]) {
			return nil, false
		}
	}
	return &Shape{
		families: s.families, lines: s.lines, at: s.at, list: s.list, values: s.values, own: own,
		drops: s.drops, left: s.left, cost: s.cost, utf8: s.utf8, watched: s.watched, shows: s.shows,
	}, true
}

// plainOwn says whether a text is written in labels as it is, and cannot be part
// of what is around them.
func plainOwn(text string) bool {
	for i := range len(text) {
		switch c := text[i]; {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '-', c == '_', c == '.', c == ':', c == '/':
		default:
			return false
		}
	}
	return text != ""
}
