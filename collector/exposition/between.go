package exposition

import (
	"hash/maphash"
	"runtime"
	"sync"
	"weak"
)

// between is text that pages have before a value, without the target's own text,
// which is cut out there. It never changes.
type between struct {
	text string
	cut  uint32
}

// keptBetween keeps equal ones once for as long as any table has one: replicas
// that show the same series in different orders have all of them in common. It is
// safe for concurrent use.
//
//nolint:gochecknoglobals // memory only; it says nothing of any replica.
var keptBetween = struct {
	seed maphash.Seed

	mu sync.Mutex
	of map[uint64]weak.Pointer[between]
}{seed: maphash.MakeSeed(), of: make(map[uint64]weak.Pointer[between])}

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
	k := &keptBetween
	sum := maphash.Bytes(k.seed, text) + uint64(cut)
	k.mu.Lock()
	defer k.mu.Unlock()
	if same := k.of[sum].Value(); same != nil && same.cut == cut && same.text == string(text) {
		return same
	}
	mine := &between{string(text), cut}
	pointer := weak.Make(mine)
	k.of[sum] = pointer
	runtime.AddCleanup(mine, forgetBetween, goneBetween{sum, pointer})
	return mine
}

// goneBetween is one that no table has any more.
type goneBetween struct {
	sum     uint64
	pointer weak.Pointer[between]
}

// forgetBetween takes one out, unless another has taken its place.
func forgetBetween(g goneBetween) {
	k := &keptBetween
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.of[g.sum] == g.pointer {
		delete(k.of, g.sum)
	}
}
