package exposition

import (
	"bytes"
	"slices"
	"unique"
)

// table is what the last good body looked like between its values: the
// constant text before each value, and that after the last one. Targets of which
// the pages differ in nothing but values and GPUs have it in common.
type table struct {
	shape *Shape
	// usable is false when the constant pieces do not say where values begin.
	usable bool
	kind   kind
	consts *[]constant
	// text is all constant text without the target's own, which is in own.
	text prefixes
	own  []string
}

// constant is the text before one value: how much of the table's text it is, and
// where in it a text of the target's own belongs.
type constant struct {
	size, cut uint32
	// own is the number of that text, from 1 on, 0 for none.
	own uint16
	// count says that the value is a number of observations, of which a negative
	// one is the slow path's to judge.
	count bool
}

// table keeps the constant bytes of the body just read.
func (r *pageReader) table(shape *Shape) table {
	t := table{shape: shape, usable: !r.valueDrops, kind: r.kind}
	consts, pos := make([]constant, len(r.samples)), uint32(0)
	text := make([]byte, 0, len(r.body))
	for i := range r.samples {
		s := &r.samples[i]
		before := r.body[pos:s.value.start]
		one := constant{size: uint32(len(before)), count: s.count}
		if own, at := ownIn(before); len(own) > 0 {
			if one.own = t.number(own); one.own > 0 {
				one.cut, one.size = uint32(at), one.size-uint32(len(own))
				text, before = append(text, before[:at]...), before[at+len(own):]
			}
		}
		text = append(text, before...)
		consts[i] = one
		// "up+1" is a value to textparse, but in "up1" a digit in the same
		// place belongs to the name.
		last := r.body[s.value.start-1]
		t.usable = t.usable && (isSpace(last) || last == '}')
		pos = s.value.end
	}
	text = append(text, r.body[pos:]...)
	t.keep(consts, text)
	return t
}

// keep keeps what other targets may have too once, unless it is huge.
func (t *table) keep(consts []constant, text []byte) {
	t.own = slices.Clip(t.own)
	if len(text) > ordinary {
		t.consts, t.text = &consts, prefixes{huge: string(text)}
		return
	}
	t.consts, t.text = keptConstants.once(consts), prefixes{shared: unique.Make(string(text))}
}

// number is that of a text of the target's own, 0 for one too many.
func (t *table) number(own []byte) uint16 {
	for i := range t.own {
		if t.own[i] == string(own) {
			return uint16(i + 1)
		}
	}
	if len(t.own) == mostOwn {
		return 0
	}
	t.own = append(t.own, unique.Make(string(own)).Value())
	return uint16(len(t.own))
}

// ownIn finds a text of the target's own, the name of a GPU; empty for none.
func ownIn(text []byte) (own []byte, at int) {
	const before = labelGPU + `="`
	found := bytes.LastIndex(text, []byte(before))
	if found < 0 {
		return nil, 0
	}
	at = found + len(before)
	return text[at : at+max(bytes.IndexByte(text[at:], '"'), 0)], at
}

// match is the fast path: it compares the text between values with the last
// body's and takes the values, and what numbers they are, into the block. False
// leaves the body to the slow path.
func (t *table) match(b *Block, body []byte) bool {
	consts, text := *t.consts, t.text.Value()
	b.room(len(consts))
	spans, numbers, values := b.spans[:len(consts)], b.numbers[:len(consts)], b.data
	pos, plain, odd := 0, true, false
	for i := range consts {
		one := &consts[i]
		n := t.before(one, body[pos:], text)
		if n == 0 {
			return false
		}
		text = text[one.size:]
		pos += n
		size, number, start := 0, 0.0, len(values)
		if len(body)-pos >= scanned && cap(values)-start >= scanned {
			value := (*[scanned]byte)(body[pos:])
			if size, number = quick(value); size != 0 {
				// A copy of one size is a few instructions; what is too much of
				// it is written over by the next.
				*(*[scanned]byte)(values[start : start+scanned]) = *value
				values = values[:start+size]
			}
		}
		if size == 0 {
			if size, number = scanValue(one, body, pos); size == 0 {
				return false
			}
			plain, odd = plain && body[pos]-'0' <= 9, odd || body[pos+size-1] > '9'
			values = append(values, body[pos:pos+size]...)
		}
		spans[i], numbers[i] = Span{uint32(start), uint32(start + size)}, number
		pos += size
	}
	if string(body[pos:]) != text {
		return false
	}
	b.spans, b.numbers, b.data, b.plain = spans, numbers, values, plain
	if odd {
		canonicalise(b)
	}
	return true
}

// before says how much of a body the text before a value is, given the rest of the
// table's text; 0 when the body begins with another.
func (t *table) before(one *constant, body []byte, text string) int {
	if one.own > 0 {
		return t.beforeOwn(one, body, text)
	}
	if n := int(one.size); len(body) >= n && string(body[:n]) == text[:n] {
		return n
	}
	return 0
}

// beforeOwn is before for a text that has one of the target's own in it. It is
// seldom called, and would take registers from the loop.
//
//go:noinline
func (t *table) beforeOwn(one *constant, body []byte, text string) int {
	own := t.own[one.own-1]
	n, cut := int(one.size)+len(own), int(one.cut)
	if len(body) < n || string(body[:cut]) != text[:cut] || string(body[cut:cut+len(own)]) != own || string(body[cut+len(own):n]) != text[cut:one.size] {
		return 0
	}
	return n
}

// scanValue finds the size of a value and reads its number; the size is 0 when the
// value is the slow path's to judge.
func scanValue(one *constant, body []byte, pos int) (size int, number float64) {
	end, number := scan(body, pos)
	if end-pos > longestValue || end < 0 || body[pos] == '-' && one.count {
		return 0, 0
	}
	return end - pos, number
}

// piece is the whole text before a value, given the rest of the table's text.
func (t *table) piece(one *constant, text string) string {
	if one.own == 0 {
		return text[:one.size]
	}
	return text[:one.cut] + t.own[one.own-1] + text[one.cut:one.size]
}
