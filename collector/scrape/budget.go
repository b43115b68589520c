package scrape

import (
	"context"
	"errors"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape/lane"
)

const (
	// reclaimInterval is the time between two attempts to reclaim leases while requests wait,
	// startInterval the same for first scrapes.
	reclaimInterval = 100 * time.Millisecond
	startInterval   = 10 * time.Millisecond
	// maxStart limits how long a first scrape keeps others waiting.
	maxStart = 200 * time.Millisecond
)

// Budget limits how much of a resource all pools together use at once: connections, memory, or first scrapes. Requests
// that need more than is free wait in lines, which take turns, in the order of their arrival. While any waits, idle
// connections are closed and overdue leases reclaimed, the oldest first. It is safe for concurrent use.
type Budget struct {
	limit int64
	// interval is the time between two attempts to reclaim leases. A request that loses its
	// lease fails with reclaimed.
	interval  time.Duration
	reclaimed *Error
	// holders is the set of [lane.IdleCloser] whose idle connections the budget counts.
	holders sync.Map

	free    *semaphore.Weighted
	lines   [lines]*semaphore.Weighted
	used    atomic.Int64
	waiting atomic.Int64
	waits   atomic.Uint64

	mu     sync.Mutex
	leases map[*lease]struct{}
	losses uint64
	// relieving is true while relieve is scheduled.
	relieving bool
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

// Line is where a request waits while not all can be sent at once. Lines take turns, so that however many wait in one,
// the others go on.
type Line int

// Lines by the last scrape of the server.
const (
	LineAnswers Line = iota // It answered with its page.
	LineUnknown             // It was not asked, or answered otherwise.
	LineHangs               // It was asked, and did not answer.
	lines       = iota
)

// LineOf returns the line of a server whose last scrape succeeded, or failed for a reason if there was one.
func LineOf(up bool, failed error) Line {
	failure, ok := errors.AsType[*Error](failed)
	switch {
	case up:
		return LineAnswers
	case ok && (failure.Unanswered() || failure.Class == ClassSlow):
		return LineHangs
	}
	return LineUnknown
}

type lineKey struct{}

// Of returns a context for requests that wait in the line.
func (l Line) Of(ctx context.Context) context.Context { return context.WithValue(ctx, lineKey{}, l) }

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

func newBudget(limit int64, reclaimed *Error) *Budget {
	b := &Budget{
		limit:     limit,
		interval:  reclaimInterval,
		reclaimed: reclaimed,
		free:      semaphore.NewWeighted(limit),
		leases:    make(map[*lease]struct{}),
	}
	for line := range b.lines {
		b.lines[line] = semaphore.NewWeighted(1)
	}
	return b
}

// NewStarts returns a budget of first scrapes.
func NewStarts(limit int64) *Budget {
	b := newBudget(limit, nil)
	b.interval = startInterval
	return b
}

// Start waits until a first scrape may start, and returns nil if ctx is done. The caller calls
// end when it has ended. While others wait and none makes progress, those that hang count as ended
// after maxStart, or sooner so that all that wait can start within two intervals. As long as one makes
// progress, none hangs: the machine is busy, and more at once would only take more memory.
func (b *Budget) Start(ctx context.Context, interval time.Duration) (end func()) {
	if !b.acquire(ctx, 1, nil) {
		return nil
	}
	share := interval / 6 * time.Duration(b.limit) / time.Duration(1+b.waiting.Load())
	l := &lease{grace: min(maxStart, share), cancel: func(error) { b.Release(1) }}
	l.renew()
	b.join(l)
	return func() {
		if b.leave(l) {
			b.Progress()
			b.Release(1)
		}
	}
}

// Progress notes that one that started got an answer, so that none hangs that started at the same time.
func (b *Budget) Progress() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for l := range b.leases {
		l.renew()
	}
}

func (b *Budget) usage() Usage {
	b.mu.Lock()
	defer b.mu.Unlock()
	return Usage{
		Used:      b.used.Load(),
		Limit:     b.limit,
		Waits:     b.waits.Load(),
		Reclaimed: b.losses,
	}
}

// TryAcquire acquires n without waiting, and reports whether it succeeded. A Budget implements
// lane.Connections.
func (b *Budget) TryAcquire(n int64) bool {
	if !b.free.TryAcquire(n) {
		b.waits.Add(1)
		return false
	}
	b.used.Add(n)
	return true
}

// Release returns what was acquired.
func (b *Budget) Release(n int64) {
	b.used.Add(-n)
	b.free.Release(n)
}

// Add registers a holder of connections that may be idle, until Remove is called.
func (b *Budget) Add(holder lane.IdleCloser) { b.holders.Store(holder, nil) }

// Remove undoes Add.
func (b *Budget) Remove(holder lane.IdleCloser) { b.holders.Delete(holder) }

// acquire acquires n, blocking until ctx is done, and reports whether it succeeded. The lease is
// exempt while it waits, and if it does not succeed.
func (b *Budget) acquire(ctx context.Context, n int64, l *lease) bool {
	if b.TryAcquire(n) {
		return true
	}
	l.suspend()
	b.waiting.Add(1)
	defer b.waiting.Add(-1)
	b.mu.Lock()
	first := !b.relieving
	b.relieving = true
	b.mu.Unlock()
	if first {
		b.relieve()
	}
	line, _ := ctx.Value(lineKey{}).(Line)
	if !b.wait(ctx, line, n) {
		return false
	}
	b.used.Add(n)
	l.renew()
	return true
}

// wait acquires n once nobody is before it in its line: the first of each line wait for what is free, in turn.
func (b *Budget) wait(ctx context.Context, line Line, n int64) bool {
	if b.lines[line].Acquire(ctx, 1) != nil {
		return false
	}
	defer b.lines[line].Release(1)
	return b.free.Acquire(ctx, n) == nil
}

// join registers a lease to be reclaimed when overdue, until leave is called.
func (b *Budget) join(l *lease) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.leases[l] = struct{}{}
}

// leave reports whether the lease was not reclaimed.
func (b *Budget) leave(l *lease) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, holds := b.leases[l]
	delete(b.leases, l)
	return holds
}

// relieve frees what is idle and, an interval later, what is overdue, until no request waits. Nothing is
// overdue while the processors are: those that started are then not late by themselves, and more at once
// would make all of them later.
func (b *Budget) relieve() {
	b.closeIdle()
	time.AfterFunc(b.interval, func() {
		yielded := time.Now()
		runtime.Gosched()
		if time.Since(yielded) > b.interval || b.reclaim() {
			b.relieve()
		}
	})
}

func (b *Budget) closeIdle() {
	b.holders.Range(func(holder, _ any) bool {
		holder.(lane.IdleCloser).CloseIdle() // Add accepts nothing else.
		return true
	})
}

// reclaim cancels as many overdue requests as requests wait. It reports whether any wait.
func (b *Budget) reclaim() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	waiting := int(b.waiting.Load())
	if b.relieving = waiting > 0; !b.relieving {
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
