package snapshot

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Store holds the slots of all replicas in the order of their keys. All its
// methods may be called concurrently.
type Store struct {
	// news counts the changes that [Store.Changes] speaks of.
	news atomic.Uint64

	mu    sync.RWMutex
	slots []*Slot
	// occupied is closed while there are slots.
	occupied chan struct{}
	fleet    atomic.Pointer[exposition.Block]
	asleep   func() time.Duration
}

// NewStore returns a store without replicas.
func NewStore() *Store { return NewStoreWithSuspend(newSleepClock().asleep) }

// NewStoreWithSuspend is NewStore on a machine of which a function says how long it slept.
func NewStoreWithSuspend(asleep func() time.Duration) *Store {
	return &Store{occupied: make(chan struct{}), asleep: asleep}
}

// NonEmpty is closed as long as there are replicas; ask for it each time.
func (s *Store) NonEmpty() <-chan struct{} {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.occupied
}

// Changes changes whenever a replica comes or goes, fails, or is judged or known to
// be other than before: equal ones mean that only numbers have changed, and the
// times of failures that go on.
func (s *Store) Changes() uint64 { return s.news.Load() }

// leastReplica is less memory than any replica takes.
const leastReplica = 32 << 10

// Add makes a slot for the target. A second target of the same pool_id and
// replica_id is refused, and so is one for which the memory limit has no room.
func (s *Store) Add(t *target.Target) (*Slot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, taken := s.find(t.Key())
	if taken {
		return nil, fmt.Errorf("replica %s is known already at %s: give one of them another replica_id", t.Key(), target.Public(s.slots[at].Target().MetricsURL))
	}
	if most := debug.SetMemoryLimit(-1) / leastReplica; int64(len(s.slots)) >= most {
		return nil, fmt.Errorf("there are %d replicas, and the memory limit has no room for more: raise it, or share the targets between several exporters", most)
	}
	slot := &Slot{store: s, key: t.Key()}
	slot.target.Store(t)
	slot.current.Store(&Snapshot{})
	s.slots = slices.Insert(s.slots, at, slot)
	if len(s.slots) == 1 {
		close(s.occupied)
	}
	s.news.Add(1)
	return slot, nil
}

// Remove takes the slot off the page; what it publishes afterwards nobody sees.
func (s *Store) Remove(slot *Slot) {
	s.mu.Lock()
	if at, ok := s.find(slot.key); ok && s.slots[at] == slot {
		s.slots = slices.Delete(s.slots, at, at+1)
		if len(s.slots) == 0 {
			s.occupied = make(chan struct{})
		}
	}
	s.mu.Unlock()
	slot.current.Store(&Snapshot{})
	s.news.Add(1)
}

// PublishFleet replaces the series that speak of pools, not of one replica; nil
// takes them off the page.
func (s *Store) PublishFleet(b *exposition.Block) { s.fleet.Store(b) }

// Slots are the slots at this moment in the order of their keys.
func (s *Store) Slots() []*Slot {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Clone(s.slots)
}

// find returns the place of a key and whether a slot is there.
func (s *Store) find(key string) (int, bool) {
	return slices.BinarySearchFunc(s.slots, key, func(slot *Slot, key string) int {
		return strings.Compare(slot.key, key)
	})
}

// Blocks are the page's blocks at this moment, in the order of the replicas' keys:
// those of all replicas that the filter takes; a nil filter takes all, and the
// fleet's series, which come first.
func (s *Store) Blocks(filter func(*target.Target) bool) []*exposition.Block {
	s.mu.RLock()
	defer s.mu.RUnlock()
	all := make([]*exposition.Block, 0, 4*len(s.slots)+1)
	if fleet := s.fleet.Load(); fleet != nil && filter == nil {
		all = append(all, fleet)
	}
	for _, slot := range s.slots {
		if filter != nil && !filter(slot.Target()) {
			continue
		}
		for _, b := range slot.shown().blocks() {
			if b != nil {
				all = append(all, b)
			}
		}
	}
	return all
}
