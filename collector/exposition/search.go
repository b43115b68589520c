package exposition

import "encoding/binary"

const (
	searchBits = 12
	// searchMin is how long what is found is at least.
	searchMin = 6
)

// searcher finds what repeats in text of which nothing is known.
type searcher struct {
	// at are places in the text by what is there, plus one.
	at [1 << searchBits]int32
	// searched is how many bytes were looked at.
	searched int
}

// reset begins another text.
func (s *searcher) reset() {
	if s.searched > 0 {
		clear(s.at[:])
	}
	s.searched = 0
}

// search makes the tokens of a text up to a place.
func (s *searcher) search(t *tokens, to int) {
	text := t.text
	s.searched += to - t.done
	for i := t.done; i+searchMin <= to; i++ {
		eight := binary.LittleEndian.Uint64(text[i : i+8])
		slot := &s.at[eight<<16*0x9e3779b97f4a7c15>>(64-searchBits)]
		found := int(*slot) - 1
		*slot = int32(i) + 1
		if found < 0 || i-found > farthest {
			continue
		}
		n := alike(text, i, found, to-i)
		if n < searchMin {
			continue
		}
		if t.done < i {
			t.literal(i)
		}
		t.copy(i-found, i+n)
		i += n - 1
	}
	if t.done < to {
		t.literal(to)
	}
}
