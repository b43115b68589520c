package snapshot

import (
	"sync/atomic"
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
	// Expires is when the page is too old to be shown, by the monotonic clock and
	// with [Slot.Suspended] added; the zero time is never. Scrapes replace a page
	// long before; a process that was stopped, or a machine that slept, shows none
	// that is older.
	Expires time.Time
}

// blocks are the snapshot's blocks, nil ones too.
func (s *Snapshot) blocks() [4]*exposition.Block {
	return [4]*exposition.Block{s.Raw, s.Derived, s.About, s.Health}
}

// overdue reports whether the page is too old, given how long the machine slept.
func (s *Snapshot) overdue(asleep time.Duration) bool {
	return !s.Expires.IsZero() && time.Now().Add(asleep).After(s.Expires)
}

// Slot is the place of one replica in a [Store]. All its methods may be called
// concurrently; one caller at a time publishes.
type Slot struct {
	store   *Store
	key     string
	target  atomic.Pointer[target.Target]
	current atomic.Pointer[Snapshot]
}

// Target is the replica the slot belongs to.
func (s *Slot) Target() *target.Target { return s.target.Load() }

// Suspended is how long the machine slept since it was started, which the monotonic
// clock does not count: what is added to its times to compare them.
func (s *Slot) Suspended() time.Duration { return s.store.asleep() }

// SetTarget says that the replica of that pool_id and replica_id has a new
// description; what it published stays until it publishes again.
func (s *Slot) SetTarget(t *target.Target) { s.target.Store(t) }

// Publish replaces the replica's snapshot.
func (s *Slot) Publish(next Snapshot) {
	if before := s.current.Swap(&next); next.Status.Changed(&before.Status) {
		s.store.news.Add(1)
	}
}

// Status is how the replica's last scrape went; one whose page is too old is down.
func (s *Slot) Status() target.Status {
	now := s.current.Load()
	status := now.Status
	if now.overdue(s.Suspended()) {
		status.Health, status.LastReason = target.HealthDown, "timeout"
		status.LastError = "timeout: the last page is too old: the exporter was stopped, or had no processor"
	}
	return status
}

// Derived returns our series about the replica; nil while its page fails or its
// pool does not have them.
func (s *Slot) Derived() *exposition.Block { return s.shown().Derived }

// shown is the current snapshot, an empty one when the page is too old.
func (s *Slot) shown() *Snapshot {
	now := s.current.Load()
	if now.overdue(s.Suspended()) {
		return &Snapshot{}
	}
	return now
}
