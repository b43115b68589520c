package snapshot

import (
	"sync"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Snapshot is what one replica adds to the page at one moment. It never
// changes once published.
type Snapshot struct {
	// Raw are the replica's own series, Derived ours about it; both are nil
	// when its last scrape failed.
	Raw, Derived *exposition.Block
	// About are our series about the replica that stay when its scrape fails,
	// Health those about its scrapes; nil only before the first one.
	About, Health *exposition.Block
	// Status is how the last scrape went.
	Status target.Status
	// Until is when the page is too old to be shown, by the monotonic clock and
	// with [Slot.Asleep] added; the zero time is never. Scrapes replace a page
	// long before; a process that was stopped, or a machine that slept, shows none
	// that is older.
	Until time.Time
}

// retain adds a reference to every block for a further holder.
func (s *Snapshot) retain() {
	for _, b := range s.blocks() {
		if b != nil {
			b.Retain()
		}
	}
}

// release gives the references back.
func (s *Snapshot) release() {
	for _, b := range s.blocks() {
		if b != nil {
			b.Release()
		}
	}
}

// blocks are the snapshot's blocks, nil ones too.
func (s *Snapshot) blocks() [4]*exposition.Block {
	return [4]*exposition.Block{s.Raw, s.Derived, s.About, s.Health}
}

// Slot is the place of one replica in a [Store].
type Slot struct {
	store *Store
	key   string

	mu      sync.Mutex
	target  *target.Target
	current Snapshot
	gone    bool
}

// Target is the replica the slot belongs to.
func (s *Slot) Target() *target.Target {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.target
}

// Asleep is how long the machine slept since it was started, which the monotonic
// clock does not count: what is added to its times to compare them.
func (s *Slot) Asleep() time.Duration { return s.store.asleep() }

// overdue says whether the page is too old.
func (s *Slot) overdue() bool {
	until := s.current.Until
	return !until.IsZero() && time.Now().Add(s.Asleep()).After(until)
}

// Retarget says that the replica of that pool_id and replica_id has a new
// description; what it published stays until it publishes again.
func (s *Slot) Retarget(t *target.Target) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.target = t
}

// Publish replaces the replica's snapshot. The slot takes over the caller's
// references to the blocks and gives back those of the snapshot before. After
// the slot was removed, publishing only gives the references back.
func (s *Slot) Publish(next Snapshot) { s.Update(func() Snapshot { return next }) }

// Update publishes what next returns, and has readers wait until it is there:
// a derived block is filled when it is first read, see
// [exposition.Block.Settle], so that what it is filled from may change in next
// alone. Next must neither wait for anything nor use the slot.
func (s *Slot) Update(next func() Snapshot) {
	before, news, ok := s.replace(next)
	if !ok {
		return
	}
	before.release()
	if news {
		s.store.news.Add(1)
	}
}

// replace puts the next snapshot in place of the one that is returned; false
// when the slot is gone. News says whether it is news, see [Store.News].
func (s *Slot) replace(next func() Snapshot) (before Snapshot, news, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	after := next()
	if s.gone {
		after.release()
		return before, false, false
	}
	before, s.current = s.current, after
	return before, s.current.Status.News(&before.Status), true
}

// Status is how the replica's last scrape went; one whose page is too old is down.
func (s *Slot) Status() target.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	status := s.current.Status
	if s.overdue() {
		status.Health, status.LastReason = target.HealthDown, "timeout"
		status.LastError = "timeout: the last page is too old: the exporter was stopped, or had no processor"
	}
	return status
}

// Glance has see read single numbers of our series about the replica, see
// [exposition.Block.Glance]; not while its page fails or its pool does not have
// them. See must neither keep the block nor wait for anything.
func (s *Slot) Glance(see func(b *exposition.Block)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.current.Derived; b != nil && !s.overdue() {
		see(b)
	}
}

// Derived lends our series about the replica with their values; nil while its
// page fails or its pool does not have them. The caller releases the block.
func (s *Slot) Derived() *exposition.Block {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.current.Derived
	if b == nil || s.overdue() {
		return nil
	}
	b.Settle()
	b.Retain()
	return b
}

// pin returns the current snapshot with a reference for the caller; its blocks
// have their values. It is empty when the page is too old.
func (s *Slot) pin() Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.overdue() {
		return Snapshot{}
	}
	if s.current.Derived != nil {
		s.current.Derived.Settle()
	}
	s.current.retain()
	return s.current
}

// drop empties the slot for good.
func (s *Slot) drop() {
	s.mu.Lock()
	before := s.current
	s.current, s.gone = Snapshot{}, true
	s.mu.Unlock()
	before.release()
}
