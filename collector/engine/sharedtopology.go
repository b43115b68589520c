package engine

import (
	"hash/maphash"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// topologies holds each topology once, while any replica has it.
//
//nolint:gochecknoglobals // a cache without state of any replica.
var (
	topologies   exposition.Interner[uint64, Topology]
	topologySeed = maphash.MakeSeed()
)

// Shared returns a topology that equals t, the same one for all replicas that have it.
func (t *Topology) Shared() *Topology {
	// Everything counts: of two topologies with one hash, each would push the other out.
	sum := hashEntries(t.known) + hashEntries(t.served) + hashEntries(t.ids) + hashEntries(t.roles) +
		hashEntries(t.models) + hashEntries(t.places) + hashEntries(t.workers) +
		maphash.Comparable(topologySeed, [2]string{t.fallback, t.first})
	return topologies.Intern(sum, t.Equal, func() *Topology { return t })
}

// hashEntries returns a hash of a map, whatever its order.
func hashEntries[K, V comparable](m map[K]V) (sum uint64) {
	type entry struct {
		key   K
		value V
	}
	for key, value := range m {
		sum += maphash.Comparable(topologySeed, entry{key, value})
	}
	return sum
}
