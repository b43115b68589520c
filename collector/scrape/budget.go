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

// budget limits how much of a resource all pools together use at once. Requests that need
// more than is free wait in the order of their arrival. While any waits, idle connections are
// closed and overdue leases reclaimed, the oldest first. It is safe for concurrent use.
type budget struct {
	limit int64
	// closeIdle frees what no request uses. A request that loses its lease fails with reclaimed.
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

// lease is the share that one request holds of one or more budgets.
type lease struct {
	// lastProgress is when the request got the lease or last made progress, nil while the lease
	// must not be reclaimed.
	lastProgress atomic.Pointer[time.Time]
	// grace is how long after lastProgress the lease cannot be reclaimed.
	grace  time.Duration
	cancel context.CancelCauseFunc
}

// renew notes that the request made progress; it does nothing on nil.
func (l *lease) renew() {
	if l != nil {
		now := time.Now()
		l.lastProgress.Store(&now)
	}
}

// suspend exempts the lease until it is renewed; it does nothing on nil.
func (l *lease) suspend() {
	if l != nil {
		l.lastProgress.Store(nil)
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

// wait acquires n, blocking until ctx is done, and reports whether it succeeded.
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

// join registers a lease to be reclaimed when overdue, until leave is called.
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
	for waiting := true; waiting; waiting = b.reclaim() {
		b.closeIdle()
		<-ticker.C
	}
}

// reclaim cancels as many overdue requests as requests wait. It reports whether any wait.
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
		if since := l.lastProgress.Load(); since != nil && time.Since(*since) >= l.grace {
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
