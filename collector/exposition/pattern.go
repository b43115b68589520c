package exposition

import (
	"bytes"
	"slices"
	"unique"
)

// table is what the last good body looked like between its values: the
// constant text before each value, and that after the last one. Targets whose
// pages differ in nothing but values and GPUs have it in common.
type table struct {
	shape *Shape
	// usable is false when the constant pieces do not say where values begin.
	usable bool
	kind   kind
	consts *[]constant
	// end is the text after the last value.
	end string
	// own are the target's own texts.
	own []string
}

// between is text that pages have before a value, without the target's own text,
// which is cut out there.
type between struct {
	text string
	cut  uint32
}

// constant is what a page has before one value.
type constant struct {
	// before is kept once for all tables: replicas that show the same series in
	// different orders have all of them in common.
	before unique.Handle[between]
	// value is the number of the value in blocks.
	value uint32
	// own is the number of the target's own text in it, from 1 on, 0 for none.
	own uint16
	// count says that the value is a number of observations, of which a negative
	// one is the slow path's to judge.
	count bool
}

// table keeps the constant bytes of the body just read.
func (r *pageReader) table(shape *Shape) table {
	t := table{shape: shape, usable: !r.valueDrops, kind: r.kind}
	consts, pos := make([]constant, len(r.samples)), uint32(0)
	for i := range r.samples {
		s := &r.samples[i]
		before := r.body[pos:s.value.start]
		one, text := constant{value: s.place, count: s.count}, between{string(before), uint32(len(before))}
		if own, at := ownIn(before); len(own) > 0 {
			if one.own = uint16(numberOf(&t.own, own)); one.own > 0 {
				text = between{text.text[:at] + text.text[at+len(own):], uint32(at)}
			}
		}
		one.before = unique.Make(text)
		consts[i] = one
		// "up+1" is a value to textparse, but in "up1" a digit in the same
		// place belongs to the name.
		last := r.body[s.value.start-1]
		t.usable = t.usable && (isSpace(last) || last == '}')
		pos = s.value.end
	}
	t.end, t.own = unique.Make(string(r.body[pos:])).Value(), slices.Clip(t.own)
	t.consts = keptConstants.once(consts)
	return t
}

// ownIn finds a text of the target's own, the name of a GPU; empty for none.
func ownIn(text []byte) (own []byte, at int) {
	const before = LabelGPU + `="`
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
	consts := *t.consts
	b.room(len(consts))
	pos, odd := 0, false
	for i := range consts {
		one := &consts[i]
		n := t.before(one, body[pos:])
		if n == 0 {
			return false
		}
		pos += n
		end, v := scan(body, pos)
		if end < 0 || end-pos > longestValue || v < 0 && one.count {
			return false
		}
		odd = odd || body[end-1] > '9'
		b.take(one.value, body[pos:end], v)
		pos = end
	}
	if string(body[pos:]) != t.end {
		return false
	}
	if odd {
		canonicalise(b)
	}
	return true
}

// before says how much of a body the text before a value is; 0 when the body begins
// with another.
func (t *table) before(one *constant, body []byte) int {
	if one.own > 0 {
		return t.beforeOwn(one, body)
	}
	text := one.before.Value().text
	if n := len(text); len(body) >= n && string(body[:n]) == text {
		return n
	}
	return 0
}

// beforeOwn is before for a text that has one of the target's own in it. It is
// seldom called, and would take registers from the loop.
//
//go:noinline
func (t *table) beforeOwn(one *constant, body []byte) int {
	own, before := t.own[one.own-1], one.before.Value()
	text, cut := before.text, int(before.cut)
	n := len(text) + len(own)
	if len(body) < n || string(body[:cut]) != text[:cut] || string(body[cut:cut+len(own)]) != own || string(body[cut+len(own):n]) != text[cut:] {
		return 0
	}
	return n
}

// piece is the whole text before a value.
func (t *table) piece(one *constant) string {
	before := one.before.Value()
	if one.own == 0 {
		return before.text
	}
	return before.text[:before.cut] + t.own[one.own-1] + before.text[before.cut:]
}
