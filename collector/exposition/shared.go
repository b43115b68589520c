package exposition

import (
	"slices"
	"strings"
	"sync"
	"unique"
)

// apart are the labels by which the replicas of one pool differ. The text around
// their values in the lines of a family is the same for most of them, and is kept
// once: at a thousand replicas their own texts would be most of the memory, and
// pages would be written from memory that no cache holds.
//
//nolint:gochecknoglobals // constant data.
var apart = [...]string{"replica_id", LabelGPU}

// LabelGPU is the label that tells GPUs apart, in what servers show too.
const LabelGPU = "gpu_uuid"

// mostOwn is how many texts of its own a replica has at most; lines with further
// ones keep them.
const mostOwn = 64

// numberOf is the number from 1 of one of a replica's own texts in a list, which it
// joins; 0 for one too many.
func numberOf[T string | []byte](list *[]string, own T) int {
	for i, known := range *list {
		if known == string(own) {
			return i + 1
		}
	}
	if len(*list) == mostOwn {
		return 0
	}
	*list = append(*list, unique.Make(string(own)).Value())
	return len(*list)
}

// sharer makes the texts of families, which hold the prefixes of their lines
// one after the other without the replica's own values of [apart].
type sharer struct {
	own     []string
	numbers map[string]uint16
	text    []byte
	huge    bool
}

// newSharer takes the values of [apart] that the series have for the replica's
// own. They are numbered in their order, as the lines of a family are sorted.
func newSharer(all []series) *sharer {
	s, ok := sharers.Get().(*sharer)
	if !ok {
		s = &sharer{numbers: make(map[string]uint16)}
	}
	size := 0
	for i := range all {
		size += len(all[i].prefix)
	}
	s.huge = size > hugePage
	for _, label := range apart {
		before := len(s.own)
		for i := range all {
			if value, _ := valueOf(all[i].prefix, label); value != "" {
				s.take(value)
			}
		}
		slices.Sort(s.own[before:])
	}
	for i, own := range s.own {
		s.numbers[own] = uint16(i)
	}
	s.own = slices.Clip(s.own)
	return s
}

// sharers are those that are done.
//
//nolint:gochecknoglobals // memory only.
var sharers sync.Pool

// done gives the sharer's memory to another one.
func (s *sharer) done() {
	if cap(s.text) <= hugePage {
		s.own, s.text = nil, s.text[:0]
		clear(s.numbers)
		sharers.Put(s)
	}
}

// take notes a text of the replica's own.
func (s *sharer) take(own string) {
	if _, known := s.numbers[own]; known || len(s.own) == mostOwn {
		return
	}
	own = unique.Make(own).Value()
	s.own, s.numbers[own] = append(s.own, own), 0
}

// valueOf is the escaped value of a label of a prefix, and its place; empty for
// none.
func valueOf(prefix, label string) (value string, at int) {
	at = -1
	for from := 0; at < 0; {
		found := strings.Index(prefix[from:], label)
		if found < 1 {
			return "", 0
		}
		from += found + len(label)
		if before := prefix[from-len(label)-1]; (before == '{' || before == ',') && strings.HasPrefix(prefix[from:], `="`) {
			at = from + len(`="`)
		}
	}
	return upToQuote(prefix[at:]), at
}

// upToQuote is an escaped value up to the quote that ends it.
func upToQuote[T string | []byte](text T) T {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return text[:i]
		}
	}
	return text
}

// add appends the prefix of a line to the text of its family.
func (s *sharer) add(prefix string) (l line) {
	from, cuts := 0, [...]*uint32{&l.cut, &l.more}
	numbers, found := [...]*uint16{&l.first, &l.second}, 0
	for i := len(apart) - 1; i >= 0; i-- {
		// Labels are sorted, and so must the cuts be: that of a GPU comes first.
		own, at := valueOf(prefix, apart[i])
		number, known := s.numbers[own]
		if own == "" || !known || at < from {
			continue
		}
		s.text = append(s.text, prefix[from:at]...)
		*cuts[found], *numbers[found] = uint32(len(s.text)), number
		found++
		from = at + len(own)
	}
	s.text = append(s.text, prefix[from:]...)
	l.end = uint32(len(s.text))
	for ; found < len(cuts); found++ {
		*cuts[found] = l.end
	}
	return l
}

// owns is how long the replica's own texts of a line are.
func (l *line) owns(own []string) (size uint32) {
	if l.cut < l.end {
		size = uint32(len(own[l.first]))
		if l.more < l.end {
			size += uint32(len(own[l.second]))
		}
	}
	return size
}

// prefixes is the text of one family, which is kept once for all shapes that
// have it. That of a huge page is no other's, and is gone with its shape at once.
type prefixes struct {
	shared unique.Handle[string]
	huge   string
}

// hugePage is how much text a page has that is kept for itself.
const hugePage = 1 << 20

// Value is the text.
func (p prefixes) Value() string {
	if p.huge != "" {
		return p.huge
	}
	return p.shared.Value()
}

// family ends the text of one family.
func (s *sharer) family() prefixes {
	text := string(s.text)
	s.text = s.text[:0]
	if s.huge {
		return prefixes{huge: text}
	}
	return prefixes{shared: unique.Make(text)}
}

// appendPrefix appends what is before the value of a line of the segment,
// whose text begins at start; the replica's own comes where it was cut out.
func (s *segment) appendPrefix(dst []byte, start uint32, l *line) []byte {
	dst = append(dst, s.text[start:l.cut]...)
	if l.cut < l.end {
		dst = append(append(dst, s.own[l.first]...), s.text[l.cut:l.more]...)
		if l.more < l.end {
			dst = append(append(dst, s.own[l.second]...), s.text[l.more:l.end]...)
		}
	}
	return dst
}
