package exposition

import (
	"strings"
	"unique"
)

// apart is the label by which the replicas of one pool differ. The text around
// its value in the lines of a family is the same for most of them, and is kept
// once: at a thousand replicas their own texts would be most of the memory, and
// pages would be written from memory that no cache holds.
const apart = "replica_id"

// sharer makes the texts of families, which hold the prefixes of their lines
// one after the other without the replica's own value of [apart].
type sharer struct {
	own    string
	marked string
	text   []byte
	huge   bool
}

// newSharer takes the value of [apart] that the first of the series has for the
// replica's own.
func newSharer(all []series) *sharer {
	s := &sharer{}
	size := 0
	for i := range all {
		size += len(all[i].prefix)
	}
	s.huge = size > hugePage
	for i := range all {
		if at := place(all[i].prefix, apart+`="`); at >= 0 {
			s.own = upToQuote(all[i].prefix[at:])
			s.marked = apart + `="` + s.own + `"`
			break
		}
	}
	return s
}

// place is where the first label of a prefix that begins with the text goes on
// after it, -1 for none.
func place(prefix, label string) int {
	for _, before := range []string{"{", ","} {
		if at := strings.Index(prefix, before+label); at >= 0 {
			return at + len(before) + len(label)
		}
	}
	return -1
}

// upToQuote is an escaped value up to the quote that ends it.
func upToQuote(text string) string {
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
	at := -1
	if s.own != "" {
		at = place(prefix, s.marked)
	}
	if at < 0 {
		s.text = append(s.text, prefix...)
		l.cut = uint32(len(s.text))
	} else {
		at -= len(s.own) + 1
		l.cut = uint32(len(s.text) + at)
		s.text = append(append(s.text, prefix[:at]...), prefix[at+len(s.own):]...)
	}
	l.end = uint32(len(s.text))
	return l
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
// whose text begins at start; own comes where it was cut out.
func (s *segment) appendPrefix(dst []byte, start uint32, l *line) []byte {
	dst = append(dst, s.text[start:l.cut]...)
	if l.cut < l.end {
		dst = append(append(dst, s.own...), s.text[l.cut:l.end]...)
	}
	return dst
}
