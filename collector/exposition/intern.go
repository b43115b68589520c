package exposition

import (
	"hash/maphash"
	"runtime"
	"slices"
	"sync"
	"weak"

	"github.com/prometheus/prometheus/model/labels"
)

// Interner stores equal values once, as long as they are referenced: replicas of one kind have
// most values in common. Interned values must not change. The zero value is ready to use. It is
// safe for concurrent use.
type Interner[K comparable, V any] struct {
	mu     sync.Mutex
	values map[K]weak.Pointer[V]
}

// Intern returns the interned value for the key, or builds and interns it. If keys are hashes,
// equal must report whether a value is the right one; otherwise it may be nil.
func (i *Interner[K, V]) Intern(key K, equal func(*V) bool, build func() *V) *V {
	i.mu.Lock()
	defer i.mu.Unlock()
	if v := i.values[key].Value(); v != nil && (equal == nil || equal(v)) {
		return v
	}
	v := build()
	pointer := weak.Make(v)
	if i.values == nil {
		i.values = make(map[K]weak.Pointer[V])
	}
	i.values[key] = pointer
	runtime.AddCleanup(v, func(key K) {
		i.mu.Lock()
		defer i.mu.Unlock()
		if i.values[key] == pointer {
			delete(i.values, key)
		}
	}, key)
	return v
}

// Interned lists of all shapes, patterns and values.
//
//nolint:gochecknoglobals // a cache without state of any replica.
var (
	listSeed = maphash.MakeSeed()

	internedLines    Interner[uint64, []line]
	internedIndexes  Interner[uint64, []uint32]
	internedFamilies Interner[uint64, []Family]
	internedPieces   Interner[uint64, []piece]
	internedWatched  Interner[uint64, []watchedSeries]
	internedLabels   Interner[uint64, []labels.Label]
)

// intern returns the interned list that equals list, which must not be changed afterwards.
func intern[T comparable](lists *Interner[uint64, []T], list []T) *[]T {
	var h maphash.Hash
	h.SetSeed(listSeed)
	for _, v := range list {
		maphash.WriteComparable(&h, v)
	}
	return lists.Intern(h.Sum64(), func(v *[]T) bool { return slices.Equal(*v, list) }, func() *[]T { return &list })
}
