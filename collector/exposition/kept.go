package exposition

import (
	"hash/maphash"
	"runtime"
	"slices"
	"sync"
	"weak"
)

// Interner keeps equal values once, for as long as anybody has one: replicas of one
// kind have most of theirs in common. What is kept never changes. The zero value is
// ready for use, and safe for concurrent use.
type Interner[K comparable, V any] struct {
	mu sync.Mutex
	of map[K]weak.Pointer[V]
}

// Intern returns the value that is kept for the key, or keeps the one that is built. Same
// reports whether a value is the one that is meant, where keys are hashes; nil is for
// keys that say it.
func (k *Interner[K, V]) Intern(key K, same func(*V) bool, build func() *V) *V {
	k.mu.Lock()
	defer k.mu.Unlock()
	if before := k.of[key].Value(); before != nil && (same == nil || same(before)) {
		return before
	}
	mine := build()
	pointer := weak.Make(mine)
	if k.of == nil {
		k.of = make(map[K]weak.Pointer[V])
	}
	k.of[key] = pointer
	runtime.AddCleanup(mine, k.forget, gone[K, V]{key, pointer})
	return mine
}

// gone is a value that nobody has any more.
type gone[K comparable, V any] struct {
	key     K
	pointer weak.Pointer[V]
}

// forget takes a value out, unless another has taken its place.
func (k *Interner[K, V]) forget(g gone[K, V]) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.of[g.key] == g.pointer {
		delete(k.of, g.key)
	}
}

// kept keeps equal lists once.
type kept[T comparable] struct{ Interner[uint64, []T] }

// keptLines and the others are those of all shapes.
//
//nolint:gochecknoglobals // memory only; it says nothing of any replica.
var (
	keptSeed = maphash.MakeSeed()

	keptLines     kept[line]
	keptNumbers   kept[uint32]
	keptFamilies  kept[Family]
	keptConstants kept[constant]
	keptWatched   kept[watched]
)

// once gives the list that is equal and kept already, or keeps this one, which must
// not change any more.
func (k *kept[T]) once(list []T) *[]T {
	var h maphash.Hash
	h.SetSeed(keptSeed)
	for _, one := range list {
		maphash.WriteComparable(&h, one)
	}
	return k.Intern(h.Sum64(), func(before *[]T) bool { return slices.Equal(*before, list) }, func() *[]T { return &list })
}
