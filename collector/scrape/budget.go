package scrape

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
)

// reclaimInterval is the time between two attempts to reclaim leases while requests wait.
const reclaimInterval = 100 * time.Millisecond

// budget limits how much of a resource all pools use at one time. Requests that need
// more than is free wait, first come, first served. While any of them waits, what is idle
// is closed and leases that are overdue are reclaimed, the oldest first. Safe for
// concurrent use.
type budget struct {
	limit int64
	// closeIdle frees what no request uses, reclaimed is the failure of a request that
	// loses its lease.
	closeIdle func()
	reclaimed *Error

	free    *semaphore.Weighted
	used    atomic.Int64
	waiting atomic.Int64
	waits   atomic.Uint64

	mu     sync.Mutex
	leases map[*lease]struct{}
	losses uint64
	// reclaiming is true while relieve runs.
	reclaiming bool
}

// lease is what one request has of a budget, or of several.
type lease struct {
	// since is when the request got it, or last made progress; nil while it must not
	// be reclaimed.
	since atomic.Pointer[time.Time]
	// grace is how long after that the request keeps it in any case.
	grace  time.Duration
	cancel context.CancelCauseFunc
}

// renew notes that the request made progress; it does nothing on nil.
func (l *lease) renew() {
	if l != nil {
		now := time.Now()
		l.since.Store(&now)
	}
}

// suspend exempts the lease until it is renewed; it does nothing on nil.
func (l *lease) suspend() {
	if l != nil {
		l.since.Store(nil)
	}
}

func newBudget(limit int64, reclaimed *Error, closeIdle func()) *budget {
	return &budget{
		limit: limit, closeIdle: closeIdle, reclaimed: reclaimed, free: semaphore.NewWeighted(limit), leases: make(map[*lease]struct{}),
	}
}

func (b *budget) usage() Usage {
	b.mu.Lock()
	defer b.mu.Unlock()
	return Usage{Used: b.used.Load(), Limit: b.limit, Waits: b.waits.Load(), Reclaimed: b.losses}
}

func (b *budget) try(n int64) bool {
	if !b.free.TryAcquire(n) {
		b.waits.Add(1)
		return false
	}
	b.used.Add(n)
	return true
}

// wait takes n, waiting for it until ctx ends, and reports whether it did.
func (b *budget) wait(ctx context.Context, n int64) bool {
	b.waiting.Add(1)
	defer b.waiting.Add(-1)
	b.mu.Lock()
	if !b.reclaiming {
		b.reclaiming = true
		go b.relieve()
	}
	b.mu.Unlock()
	if b.free.Acquire(ctx, n) != nil {
		return false
	}
	b.used.Add(n)
	return true
}

func (b *budget) release(n int64) {
	b.used.Add(-n)
	b.free.Release(n)
}

// join makes a lease one that can be reclaimed, until it leaves.
func (b *budget) join(l *lease) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.leases[l] = struct{}{}
}

func (b *budget) leave(l *lease) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.leases, l)
}

// relieve frees what is idle or overdue while requests wait.
func (b *budget) relieve() {
	ticker := time.NewTicker(reclaimInterval)
	defer ticker.Stop()
	for again := true; again; again = b.reclaim() {
		b.closeIdle()
		<-ticker.C
	}
}

// reclaim ends as many overdue requests as there are waiting ones; it reports whether
// there are any.
func (b *budget) reclaim() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	waiting := int(b.waiting.Load())
	if waiting == 0 {
		b.reclaiming = false
		return false
	}
	overdue := make(map[*lease]time.Time)
	for l := range b.leases {
		if since := l.since.Load(); since != nil && time.Since(*since) >= l.grace {
			overdue[l] = *since
		}
	}
	oldest := slices.SortedFunc(maps.Keys(overdue), func(a, b *lease) int { return overdue[a].Compare(overdue[b]) })
	for _, l := range oldest[:min(len(oldest), waiting)] {
		delete(b.leases, l)
		b.losses++
		l.cancel(b.reclaimed)
	}
	return true
}
