package exposition

import "hash/maphash"

// between is text that pages have before a value, without the target's own text,
// which is cut out there. It never changes.
type between struct {
	text string
	cut  uint32
}

// keptBetween has those of all tables: replicas that show the same series in
// different orders have all of them in common.
//
//nolint:gochecknoglobals // memory only; it says nothing of any replica.
var keptBetween Keeper[uint64, between]

// betweens makes the texts between the values of one page. Those of a huge page
// are no other's.
type betweens struct {
	all  []between
	text []byte
}

// newBetweens begins with a page of so many bytes and values.
func newBetweens(size, values int) *betweens {
	if size <= ordinary {
		return &betweens{}
	}
	return &betweens{all: make([]between, 0, values+1)}
}

// huge says whether the page is kept for itself.
func (p *betweens) huge() bool { return p.all != nil }

// of is the text between values, in which the target's own is cut out between
// the two parts.
func (p *betweens) of(before, after []byte) *between {
	if p.huge() {
		p.all = append(p.all, between{string(before) + string(after), uint32(len(before))})
		return &p.all[len(p.all)-1]
	}
	p.text = append(append(p.text[:0], before...), after...)
	return oneBetween(p.text, uint32(len(before)))
}

// oneBetween gives the one that is equal and kept already, or keeps a new one.
func oneBetween(text []byte, cut uint32) *between {
	return keptBetween.Once(maphash.Bytes(keptSeed, text)+uint64(cut),
		func(before *between) bool { return before.cut == cut && before.text == string(text) },
		func() *between { return &between{string(text), cut} })
}
