package snapshot

import (
	"fmt"
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
	// news counts the changes that [Store.News] speaks of.
	news atomic.Uint64

	mu    sync.RWMutex
	slots []*Slot
	// occupied is closed while there are slots.
	occupied chan struct{}
	fleet    *exposition.Block
	asleep   func() time.Duration
}

// NewStore returns a store without replicas.
func NewStore() *Store { return NewStoreOf(newMachine().asleep) }

// NewStoreOf is NewStore on a machine of which a function says how long it slept.
func NewStoreOf(asleep func() time.Duration) *Store {
	return &Store{occupied: make(chan struct{}), asleep: asleep}
}

// Occupied is closed as long as there are replicas; ask for it each time.
func (s *Store) Occupied() <-chan struct{} {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.occupied
}

// News changes whenever a replica comes or goes, fails, or is judged or known to
// be other than before: equal ones mean that only numbers have changed, and the
// times of failures that go on.
func (s *Store) News() uint64 { return s.news.Load() }

// Add makes a slot for the target. A second target of the same pool_id and
// replica_id is refused.
func (s *Store) Add(t *target.Target) (*Slot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, taken := s.find(t.Key())
	if taken {
		return nil, fmt.Errorf("replica %s is known already at %s: give one of them another replica_id", t.Key(), target.Public(s.slots[at].Target().MetricsURL))
	}
	slot := &Slot{store: s, key: t.Key(), target: t}
	s.slots = slices.Insert(s.slots, at, slot)
	if len(s.slots) == 1 {
		close(s.occupied)
	}
	s.news.Add(1)
	return slot, nil
}

// Remove takes the slot off the page; its blocks are given back.
func (s *Store) Remove(slot *Slot) {
	s.mu.Lock()
	if at, ok := s.find(slot.key); ok && s.slots[at] == slot {
		s.slots = slices.Delete(s.slots, at, at+1)
		if len(s.slots) == 0 {
			s.occupied = make(chan struct{})
		}
	}
	s.mu.Unlock()
	slot.drop()
	s.news.Add(1)
}

// PublishFleet replaces the series that speak of pools, not of one replica;
// the store takes over the caller's reference, nil takes them off the page.
func (s *Store) PublishFleet(b *exposition.Block) {
	s.mu.Lock()
	before := s.fleet
	s.fleet = b
	s.mu.Unlock()
	if before != nil {
		before.Release()
	}
}

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

// View is the page's blocks at one moment, pinned until it is released.
type View struct {
	// Blocks are in the order of the replicas' keys.
	Blocks []*exposition.Block
}

// View pins the blocks of all replicas that the filter takes; a nil filter
// takes all, and the fleet's series with them.
func (s *Store) View(filter func(*target.Target) bool) *View {
	s.mu.RLock()
	defer s.mu.RUnlock()
	v := &View{Blocks: make([]*exposition.Block, 0, 4*len(s.slots)+1)}
	if s.fleet != nil && filter == nil {
		s.fleet.Retain()
		v.Blocks = append(v.Blocks, s.fleet)
	}
	for _, slot := range s.slots {
		if filter != nil && !filter(slot.Target()) {
			continue
		}
		pinned := slot.pin()
		for _, b := range pinned.blocks() {
			if b != nil {
				v.Blocks = append(v.Blocks, b)
			}
		}
	}
	return v
}

// Release gives the blocks back; the view must not be used afterwards.
func (v *View) Release() {
	for _, b := range v.Blocks {
		b.Release()
	}
	v.Blocks = nil
}
