package snapshot

import (
	"sync/atomic"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Snapshot is what one replica contributes to the page. It does not change once published.
type Snapshot struct {
	// Raw holds the replica's own series and Derived the exporter's; both are nil if the
	// last scrape failed.
	Raw, Derived *exposition.Block
	// About holds the exporter's series about the replica, which stay when a scrape fails,
	// and Health those about its scrapes; both are nil before the first scrape.
	About, Health *exposition.Block
	Status        target.Status
	// Expires is when the page is too old to be served, by the monotonic clock plus
	// [Slot.Suspended]; the zero time means never. The next scrape replaces the page long before,
	// unless the process was stopped or the machine was suspended.
	Expires time.Time
}

func (s *Snapshot) expired(suspended time.Duration) bool {
	return !s.Expires.IsZero() && time.Now().Add(suspended).After(s.Expires)
}

// Slot holds the snapshot of one replica in a [Store]. It is safe for concurrent use by
// many readers and one publisher.
type Slot struct {
	store   *Store
	key     string
	target  atomic.Pointer[target.Target]
	current atomic.Pointer[Snapshot]
	// withheld is true while nobody knows whose name the slot has.
	withheld atomic.Bool
}

// Target returns the replica of the slot.
func (s *Slot) Target() *target.Target { return s.target.Load() }

// SetTarget replaces the description of the replica. Its snapshot stays.
func (s *Slot) SetTarget(t *target.Target) { s.target.Store(t) }

// Withhold hides what the replica publishes, or shows it again: as long as it is hidden, the replica counts
// as one that was never scraped.
func (s *Slot) Withhold(hide bool) {
	if s.withheld.Swap(hide) != hide {
		s.store.changes.Add(1)
	}
}

// Suspended returns how long the machine was suspended since boot. It is added to times
// of the monotonic clock, which does not count it.
func (s *Slot) Suspended() time.Duration { return s.store.suspended() }

// Publish replaces the replica's snapshot.
func (s *Slot) Publish(next Snapshot) {
	if previous := s.current.Swap(&next); next.Status.Changed(&previous.Status) {
		s.store.changes.Add(1)
	}
}

// Status returns the status of the replica. With an expired page it counts as down.
func (s *Slot) Status() target.Status {
	if s.withheld.Load() {
		return target.Status{}
	}
	current := s.current.Load()
	status := current.Status
	if current.expired(s.Suspended()) {
		status.Health, status.LastReason = target.HealthDown, "timeout"
		status.LastError = "timeout: the last page is too old: the exporter was stopped or had no CPU time"
	}
	return status
}

// Derived returns the derived series of the replica, nil if there are none.
func (s *Slot) Derived() *exposition.Block { return s.valid(s.Suspended()).Derived }

// Latest returns the snapshot that was published last, also an expired one. It must not be modified.
func (s *Slot) Latest() *Snapshot { return s.current.Load() }

// valid returns the current snapshot, or an empty one if it expired or is withheld.
func (s *Slot) valid(suspended time.Duration) *Snapshot {
	current := s.current.Load()
	if s.withheld.Load() || current.expired(suspended) {
		return &Snapshot{}
	}
	return current
}
