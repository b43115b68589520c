package scrape

import (
	"context"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
)

// budget bounds how much of something all pools use at one time. Whoever needs
// more than is left waits, first come, first served. Safe for concurrent use.
type budget struct {
	bound   int64
	free    *semaphore.Weighted
	used    atomic.Int64
	waiting atomic.Int64
	waits   atomic.Uint64
}

func newBudget(bound int64) *budget {
	return &budget{bound: bound, free: semaphore.NewWeighted(bound)}
}

// try takes n and reports whether so much was left.
func (b *budget) try(n int64) bool {
	if !b.free.TryAcquire(n) {
		b.waits.Add(1)
		return false
	}
	b.used.Add(n)
	return true
}

// acquire takes n, waiting for it until ctx ends, and reports whether it did.
func (b *budget) acquire(ctx context.Context, n int64) bool {
	if b.try(n) {
		return true
	}
	b.waiting.Add(1)
	defer b.waiting.Add(-1)
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
