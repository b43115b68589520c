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
// more than is free wait, first come, first served. While any of them waits, leases that
// are overdue are reclaimed, the oldest first. Safe for concurrent use.
type budget struct {
	limit   int64
	free    *semaphore.Weighted
	used    atomic.Int64
	waiting atomic.Int64
	waits   atomic.Uint64

	mu        sync.Mutex
	leases    map[*lease]struct{}
	checked   time.Time
	reclaimed uint64
}

// lease is what one request has of a budget, or of several.
type lease struct {
	// since is when the request got it, or last made progress; nil while it must not
	// be reclaimed.
	since atomic.Pointer[time.Time]
	// grace is how long after that the request keeps it in any case.
	grace     time.Duration
	reclaimed atomic.Bool
	cancel    context.CancelCauseFunc
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

func newBudget(limit int64) *budget {
	return &budget{limit: limit, free: semaphore.NewWeighted(limit), leases: make(map[*lease]struct{})}
}

// usage returns what is in use at the moment.
func (b *budget) usage() Usage {
	b.mu.Lock()
	defer b.mu.Unlock()
	return Usage{Used: b.used.Load(), Limit: b.limit, Waits: b.waits.Load(), Reclaimed: b.reclaimed}
}

// try takes n and reports whether that was free.
func (b *budget) try(n int64) bool {
	if !b.free.TryAcquire(n) {
		b.waits.Add(1)
		return false
	}
	b.used.Add(n)
	return true
}

// wait takes n, waiting for it until ctx ends, and reports whether it did. Meanwhile
// overdue requests end with failure, and closeIdle frees what is unused.
func (b *budget) wait(ctx context.Context, n int64, failure *Error, closeIdle func()) bool {
	b.waiting.Add(1)
	defer b.waiting.Add(-1)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go b.reclaimUntil(ctx, failure, closeIdle)
	if b.free.Acquire(ctx, n) != nil {
		return false
	}
	b.used.Add(n)
	return true
}

// release gives n back.
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

// reclaimUntil frees what is idle or overdue until ctx ends.
func (b *budget) reclaimUntil(ctx context.Context, failure *Error, closeIdle func()) {
	ticker := time.NewTicker(reclaimInterval)
	defer ticker.Stop()
	closeIdle()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if b.reclaim(failure) {
				closeIdle()
			}
		}
	}
}

// reclaim ends as many overdue requests as there are waiting ones. It reports whether it
// looked, which it does once for all that wait.
func (b *budget) reclaim(failure *Error) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if now.Sub(b.checked) < reclaimInterval/2 {
		return false
	}
	b.checked = now
	wanted := b.waiting.Load()
	overdue := make(map[*lease]time.Time)
	for l := range b.leases {
		since := l.since.Load()
		switch {
		case l.reclaimed.Load():
			wanted-- // It has not ended yet.
		case since != nil && now.Sub(*since) >= l.grace:
			overdue[l] = *since
		}
	}
	oldest := slices.SortedFunc(maps.Keys(overdue), func(a, b *lease) int { return overdue[a].Compare(overdue[b]) })
	for _, l := range oldest[:max(0, min(len(oldest), int(wanted)))] {
		l.reclaimed.Store(true)
		b.reclaimed++
		l.cancel(failure)
	}
	return true
}
