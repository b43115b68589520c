// Package snapshot holds the latest state of every replica: the blocks of its last good scrape
// and its status. Replicas publish immutable snapshots, each behind an atomic pointer, so neither
// replicas nor readers of the page wait. The package knows neither how a block is made nor how a
// page is encoded. Begin reading at [Store.Blocks].
package snapshot

import (
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Store holds the slots of all replicas sorted by key. It is safe for concurrent use.
type Store struct {
	changes   atomic.Uint64
	suspended func() time.Duration
	fleet     atomic.Pointer[exposition.Block]

	mu    sync.Mutex
	slots map[string]*Slot
	// sorted holds the slots sorted by key, nil after a change. Its elements do not change.
	sorted []*Slot
}

// NewStore returns an empty store.
func NewStore() *Store { return NewStoreWithSuspend(suspended) }

// NewStoreWithSuspend is NewStore with a function that returns how long the machine was suspended.
func NewStoreWithSuspend(suspended func() time.Duration) *Store {
	return &Store{suspended: suspended, slots: make(map[string]*Slot)}
}

// Changes returns a number that changes when a replica is added or removed, fails, or gets
// another verdict or other facts. While it is the same, only numbers have changed.
func (s *Store) Changes() uint64 { return s.changes.Load() }

// minReplicaBytes is a lower bound of the memory that a replica takes.
const minReplicaBytes = 32 << 10

// Add adds a slot for the target. It returns an error if there already is a slot with its pool_id
// and replica_id, or if the memory limit does not allow another replica.
func (s *Store) Add(t *target.Target) (*Slot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if other := s.slots[t.Key()]; other != nil {
		return nil, fmt.Errorf(
			"replica %s already exists at %s: give one of the two another replica_id", t.Key(),
			target.Public(other.Target().MetricsURL),
		)
	}
	if limit := debug.SetMemoryLimit(-1) / minReplicaBytes; int64(len(s.slots)) >= limit {
		return nil, fmt.Errorf(
			"the memory limit allows no more than %d replicas: raise it, or shard the targets over several exporters",
			limit,
		)
	}
	slot := &Slot{store: s, key: t.Key()}
	slot.target.Store(t)
	slot.current.Store(&Snapshot{})
	s.slots[slot.key], s.sorted = slot, nil
	s.changes.Add(1)
	return slot, nil
}

// Remove removes the slot. Snapshots published later are ignored.
func (s *Store) Remove(slot *Slot) {
	s.mu.Lock()
	if s.slots[slot.key] == slot {
		delete(s.slots, slot.key)
		s.sorted = nil
	}
	s.mu.Unlock()
	slot.current.Store(&Snapshot{})
	s.changes.Add(1)
}

// PublishFleet replaces the series about pools; nil removes them.
func (s *Store) PublishFleet(b *exposition.Block) { s.fleet.Store(b) }

// Slots returns the current slots sorted by key.
func (s *Store) Slots() []*Slot { return slices.Clone(s.inOrder()) }

// Slot returns the slot of the replica with the given key, nil if there is none.
func (s *Store) Slot(key string) *Slot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.slots[key]
}

// inOrder returns the slots sorted by key. They are sorted once after any number of changes, so that many
// replicas that come or go cost no more each than few.
func (s *Store) inOrder() []*Slot {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sorted == nil {
		s.sorted = slices.SortedFunc(maps.Values(s.slots), func(a, b *Slot) int { return strings.Compare(a.key, b.key) })
	}
	return s.sorted
}

// Blocks returns the blocks of the page, sorted by the keys of the replicas. A filter
// selects replicas; without one, the series about pools come first.
func (s *Store) Blocks(filter func(*target.Target) bool) []*exposition.Block {
	suspended, slots := s.suspended(), s.inOrder()
	all := make([]*exposition.Block, 0, 4*len(slots)+1)
	if fleet := s.fleet.Load(); fleet != nil && filter == nil {
		all = append(all, fleet)
	}
	for _, slot := range slots {
		if filter != nil && !filter(slot.Target()) {
			continue
		}
		current := slot.valid(suspended)
		for _, b := range []*exposition.Block{current.Raw, current.Derived, current.About, current.Health} {
			if b != nil {
				all = append(all, b)
			}
		}
	}
	return all
}
