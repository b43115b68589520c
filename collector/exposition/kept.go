package exposition

import (
	"hash/maphash"
	"runtime"
	"slices"
	"sync"
	"weak"
)

// kept keeps equal lists once, for as long as any shape has one: replicas of one
// kind have most of theirs in common. It is safe for concurrent use.
type kept[T comparable] struct {
	seed maphash.Seed

	mu sync.Mutex
	of map[uint64]weak.Pointer[[]T]
}

// keptLines and keptFamilies are those of all shapes.
//
//nolint:gochecknoglobals // memory only; it says nothing of any replica.
var (
	keptLines     = newKept[line]()
	keptNumbers   = newKept[uint32]()
	keptFamilies  = newKept[Family]()
	keptConstants = newKept[constant]()
	keptWatched   = newKept[watched]()
)

func newKept[T comparable]() *kept[T] {
	return &kept[T]{seed: maphash.MakeSeed(), of: make(map[uint64]weak.Pointer[[]T])}
}

// once gives the list that is equal and kept already, or keeps this one, which must
// not change any more.
func (k *kept[T]) once(list []T) *[]T {
	var h maphash.Hash
	h.SetSeed(k.seed)
	for _, one := range list {
		maphash.WriteComparable(&h, one)
	}
	sum := h.Sum64()
	k.mu.Lock()
	defer k.mu.Unlock()
	if same := k.of[sum].Value(); same != nil && slices.Equal(*same, list) {
		return same
	}
	mine := &list
	pointer := weak.Make(mine)
	k.of[sum] = pointer
	runtime.AddCleanup(mine, k.forget, gone[T]{sum, pointer})
	return mine
}

// gone is a list that no shape has any more.
type gone[T comparable] struct {
	sum     uint64
	pointer weak.Pointer[[]T]
}

// forget takes a list out, unless another has taken its place.
func (k *kept[T]) forget(g gone[T]) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.of[g.sum] == g.pointer {
		delete(k.of, g.sum)
	}
}
