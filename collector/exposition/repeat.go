package exposition

import "slices"

// mostTexts is how many texts of a family are remembered at a time: replicas of
// several kinds and releases may alternate on a page.
const mostTexts = 4

// place is where a line was last written: its prefix, what is behind the
// replica's first and second own text, and its value. Without own texts middle and
// tail are those of the start. It is nowhere when value is 0.
type place struct{ start, middle, tail, value int32 }

// repeated are the lines of a family with one text, and where they were last.
type repeated struct {
	text   string
	lines  []line
	places []place
}

// repeater writes text and makes the tokens of it. It knows of each line where
// the same line of another replica is, for they have the same text.
type repeater struct {
	tokens
	searcher

	// texts are those of the family, the last one first.
	texts [mostTexts]repeated
	known int
}

// reset begins another text.
func (r *repeater) reset() {
	r.tokens.reset()
	r.searcher.reset()
	r.known = 0
}

// family begins another family.
func (r *repeater) family() { r.known = 0 }

// close ends the text.
func (r *repeater) close() {
	r.room(0)
	r.rest(len(r.text))
	r.tokens.close()
}

// rest makes the tokens of what has none, up to a place.
func (r *repeater) rest(to int) {
	if r.done < to {
		r.search(&r.tokens, to)
	}
}

// room makes room for so much more text.
func (r *repeater) room(size int) { r.text = slices.Grow(r.text, size+overread) }

// remembered are the lines of a segment as they were last written.
func (r *repeater) remembered(s *segment) *repeated {
	for i := range r.known {
		if is := &r.texts[i]; is.text == s.text && sameCuts(is.lines, s.lines) {
			if i > 0 {
				r.texts[0], r.texts[i] = r.texts[i], r.texts[0]
			}
			return &r.texts[0]
		}
	}
	if r.known < mostTexts {
		r.known++
	}
	last := r.known - 1
	r.texts[0], r.texts[last] = r.texts[last], r.texts[0]
	is := &r.texts[0]
	is.text, is.lines = s.text, s.lines
	is.places = slices.Grow(is.places[:0], len(s.lines))[:len(s.lines)]
	clear(is.places)
	return is
}

// sameCuts says whether two families with the same text are cut in the same
// places.
func sameCuts(a, b []line) bool {
	if len(a) != len(b) || len(a) == 0 {
		return false
	}
	if &a[0] == &b[0] {
		return true
	}
	for i := range a {
		if a[i].end != b[i].end || a[i].cut != b[i].cut || a[i].more != b[i].more {
			return false
		}
	}
	return true
}

// append writes the lines of the segment with the values at their places in the data.
func (r *repeater) append(s *segment, data []byte, spans []Span) {
	if len(s.lines) == 0 {
		return
	}
	is := r.remembered(s)
	places := is.places[:len(s.lines)]
	at := s.at[:len(s.lines)]
	r.room(s.around())
	start := uint32(0)
	for i := range s.lines {
		l := &s.lines[i]
		if v := spans[at[i]]; v.end > v.start {
			r.line(s, l, start, &places[i], data[v.start:v.end])
		}
		start = l.end
	}
}

// line writes one line, whose prefix begins at a place of the segment's text.
func (r *repeater) line(s *segment, l *line, from uint32, was *place, value []byte) {
	text := r.text
	is := place{start: int32(len(text))}
	text = append(text, s.text[from:l.cut]...)
	first, second := "", ""
	if l.cut < l.end {
		first = s.own[l.first]
		text = append(text, first...)
		is.middle = int32(len(text))
		text = append(text, s.text[l.cut:l.more]...)
		if l.more < l.end {
			second = s.own[l.second]
			text = append(text, second...)
			is.tail = int32(len(text))
			text = append(text, s.text[l.more:l.end]...)
		}
	}
	is.value = int32(len(text))
	text = append(append(text, value...), '\n')
	r.text = text
	r.room(0)
	if was.value > 0 && was.start > 0 && is.value-was.start <= farthest {
		r.again(&is, was, len(first), len(second), len(value))
	}
	*was = is
}

// again makes the tokens of the line that was written last, of which the same
// line was written before.
func (r *repeater) again(is, was *place, first, second, value int) {
	r.rest(int(is.start) - 1)
	distance, to := int(is.start-was.start), int(is.value)
	if first > 0 {
		r.own(distance, int(is.middle)-first, first)
		distance = int(is.middle - was.middle)
		if second > 0 {
			r.own(distance, int(is.tail)-second, second)
			distance = int(is.tail - was.tail)
		}
	}
	end := to + value + 1
	to += alike(r.text, to, to-distance, value+1)
	r.copy(distance, to)
	if to < end-1 {
		r.literal(end - 1)
	}
}

// own makes the tokens up to the end of an own text.
func (r *repeater) own(distance, at, size int) {
	same := alike(r.text, at, at-distance, size)
	r.copy(distance, at+same)
	if same < size {
		r.literal(at + size)
	}
}

// pays says whether little of the text had to be searched for what repeats: less
// than half of it, once there is enough to say so.
func (r *repeater) pays() bool {
	return r.searched < farthest || 2*r.searched < len(r.text)
}
