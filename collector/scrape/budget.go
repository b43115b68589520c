package scrape

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
)

// lookAgain is how often what others do not need is looked for while somebody waits.
const lookAgain = 100 * time.Millisecond

// budget bounds how much of something all pools use at one time. Whoever needs
// more than is left waits, first come, first served. While somebody waits, uses that
// are long give back what they have, the longest first. Safe for concurrent use.
type budget struct {
	bound   int64
	free    *semaphore.Weighted
	used    atomic.Int64
	waiting atomic.Int64
	waits   atomic.Uint64

	mu    sync.Mutex
	uses  map[*use]struct{}
	swept time.Time
	taken uint64
}

// use is one request, from its begin to the end of its answer. Its fields are
// guarded by the budget.
type use struct {
	// since is when it got what it has, or moved last; zero while nothing is to be
	// taken from it.
	since time.Time
	// long is how long it keeps that in any case.
	long   time.Duration
	taken  bool
	cancel context.CancelCauseFunc
}

func newBudget(bound int64) *budget {
	return &budget{bound: bound, free: semaphore.NewWeighted(bound), uses: make(map[*use]struct{})}
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

// wait takes n, waiting for it until ctx ends, and reports whether it did. Meanwhile long
// uses end with failure to give back what they have, and idle frees what nobody uses.
func (b *budget) wait(ctx context.Context, n int64, failure *Error, idle func()) bool {
	b.waiting.Add(1)
	defer b.waiting.Add(-1)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go b.relieve(ctx, failure, idle)
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

// join notes a use, leave forgets it.
func (b *budget) join(u *use) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.uses[u] = struct{}{}
}

func (b *budget) leave(u *use) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.uses, u)
}

// since notes when a use got what it has, or that it waits.
func (b *budget) since(u *use, at time.Time) {
	if u != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		u.since = at
	}
}

// relieve has long uses give back what they have until ctx ends; idle frees what nobody
// uses.
func (b *budget) relieve(ctx context.Context, failure *Error, idle func()) {
	again := time.NewTicker(lookAgain)
	defer again.Stop()
	idle()
	for {
		select {
		case <-ctx.Done():
			return
		case <-again.C:
			if b.takeBack(failure) {
				idle()
			}
		}
	}
}

// takeBack ends as many long uses as there are waiting ones; it reports whether it
// looked, which it does once for all that wait.
func (b *budget) takeBack(failure *Error) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if now.Sub(b.swept) < lookAgain/2 {
		return false
	}
	b.swept = now
	wanted := b.waiting.Load()
	var long []*use
	for u := range b.uses {
		switch {
		case u.taken:
			wanted-- // It has not ended yet.
		case !u.since.IsZero() && now.Sub(u.since) >= u.long:
			long = append(long, u)
		}
	}
	slices.SortFunc(long, func(a, b *use) int { return a.since.Compare(b.since) })
	for _, u := range long[:max(0, min(len(long), int(wanted)))] {
		u.taken = true
		b.taken++
		u.cancel(failure)
	}
	return true
}
