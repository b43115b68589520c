package exposition

import (
	"encoding/binary"
	"math/bits"
)

const (
	// farthest is how far back a copy may begin, and longest and shortest how long
	// one may be.
	farthest = 32768
	longest  = 258
	shortest = 3
	// overread is how many bytes behind a text may be read.
	overread = 8
)

// tokens are a text as literals and copies of what is before, which is what
// deflate encodes. Texts with the same tokens and literals are the same.
type tokens struct {
	text []byte
	// done is up to where the text has tokens.
	done int
	// list are the copies, eight bytes each: how many literals are before it, its
	// length and its distance less one. The length of the last may be 0.
	list []byte
	// literals are those of the whole text.
	literals []byte
	// before, length and distance are of the copy that may still get longer.
	before, length, distance int
}

// reset makes it an empty text.
func (t *tokens) reset() {
	t.text, t.list, t.literals = t.text[:0], t.list[:0], t.literals[:0]
	t.done, t.before, t.length, t.distance = 0, 0, 0, 0
}

// copy says that the text up to a place is the same as so far before it.
func (t *tokens) copy(distance, to int) {
	if t.distance != distance && t.length > 0 {
		t.end()
	}
	t.distance = distance
	t.length += to - t.done
	t.done = to
}

// literal says that the text up to a place is like nothing before it.
func (t *tokens) literal(to int) {
	if t.length > 0 {
		t.end()
	}
	t.before += to - t.done
	t.literals = append(t.literals, t.text[t.done:to]...)
	t.done = to
}

// end ends the copy that may still get longer, and divides it into as many as it
// takes.
func (t *tokens) end() {
	for t.length > longest {
		n := min(longest, t.length-shortest)
		t.put(n)
		t.length -= n
	}
	if t.length < shortest {
		t.before += t.length
		t.literals = append(t.literals, t.text[t.done-t.length:t.done]...)
	} else {
		t.put(t.length)
	}
	t.length = 0
}

// put adds one copy.
func (t *tokens) put(length int) {
	t.list = binary.LittleEndian.AppendUint64(t.list, uint64(t.before)<<32|uint64(length)<<16|uint64(t.distance-1))
	t.before = 0
}

// close ends the text.
func (t *tokens) close() {
	if t.length > 0 {
		t.end()
	}
	if t.before > 0 {
		t.distance = 1
		t.put(0)
	}
}

// alike is how many of so many bytes of a text at two places are the same.
func alike(text []byte, a, b, most int) int {
	for n := 0; n < most; n += 8 {
		if x := binary.LittleEndian.Uint64(text[a+n:a+n+8]) ^ binary.LittleEndian.Uint64(text[b+n:b+n+8]); x != 0 {
			return min(n+bits.TrailingZeros64(x)>>3, most)
		}
	}
	return most
}
