package exposition

import (
	"hash/maphash"
	"runtime"
	"slices"
	"sync"
	"weak"
)

// keeper keeps equal ones of something once, for as long as any shape or table has
// one: replicas of one kind have most of theirs in common. What is kept never
// changes. It is safe for concurrent use.
type keeper[T any] struct {
	seed maphash.Seed

	mu sync.Mutex
	of map[uint64]weak.Pointer[T]
}

func newKeeper[T any]() keeper[T] {
	return keeper[T]{seed: maphash.MakeSeed(), of: make(map[uint64]weak.Pointer[T])}
}

// once gives the one with that sum that is the same and kept already, or keeps what
// is built.
func (k *keeper[T]) once(sum uint64, same func(*T) bool, build func() *T) *T {
	k.mu.Lock()
	defer k.mu.Unlock()
	if before := k.of[sum].Value(); before != nil && same(before) {
		return before
	}
	mine := build()
	pointer := weak.Make(mine)
	k.of[sum] = pointer
	runtime.AddCleanup(mine, k.forget, gone[T]{sum, pointer})
	return mine
}

// gone is one that nobody has any more.
type gone[T any] struct {
	sum     uint64
	pointer weak.Pointer[T]
}

// forget takes one out, unless another has taken its place.
func (k *keeper[T]) forget(g gone[T]) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.of[g.sum] == g.pointer {
		delete(k.of, g.sum)
	}
}

// kept keeps equal lists once.
type kept[T comparable] struct{ keeper[[]T] }

// keptLines and the others are those of all shapes.
//
//nolint:gochecknoglobals // memory only; it says nothing of any replica.
var (
	keptLines     = newKept[line]()
	keptNumbers   = newKept[uint32]()
	keptFamilies  = newKept[Family]()
	keptConstants = newKept[constant]()
	keptWatched   = newKept[watched]()
)

func newKept[T comparable]() *kept[T] { return &kept[T]{newKeeper[[]T]()} }

// once gives the list that is equal and kept already, or keeps this one, which must
// not change any more.
func (k *kept[T]) once(list []T) *[]T {
	var h maphash.Hash
	h.SetSeed(k.seed)
	for _, one := range list {
		maphash.WriteComparable(&h, one)
	}
	return k.keeper.once(h.Sum64(), func(before *[]T) bool { return slices.Equal(*before, list) }, func() *[]T { return &list })
}
