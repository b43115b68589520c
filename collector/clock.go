package collector

import (
	"container/heap"
	"context"
	"hash/fnv"
	"sync"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/replica"
)

// clock knows when work is due that comes again and again, and has it begun:
// one goroutine and one timer for the work of all replicas. What is done then
// is not its business.
type clock struct {
	origin time.Time
	// changed wakes the goroutine when another moment may be the next.
	changed chan struct{}

	mu    sync.Mutex
	queue alarms
}

// alarm is work with its next moment. Its fields belong to the clock.
type alarm struct {
	every, phase time.Duration
	// next is the next moment, since the clock's origin; place is the alarm's in
	// the queue, -1 when it is taken out.
	next  time.Duration
	place int
	// begun is true when the work was begun once.
	begun bool
	due   func(missed uint64)
}

// newClock returns a clock that does not run.
func newClock(origin time.Time) *clock {
	return &clock{origin: origin, changed: make(chan struct{}, 1)}
}

// add has work begun at fixed moments from now on, as its key spreads it over
// its interval, and for the first time soon.
func (c *clock) add(ctx context.Context, s *replica.Schedule) *alarm {
	a := &alarm{
		every: s.Every, phase: offset(s.Key, s.Every),
		next: time.Since(c.origin) + offset(s.Key, min(s.Every, s.Soon)),
		due:  func(missed uint64) { s.Due(ctx, missed) },
	}
	c.mu.Lock()
	heap.Push(&c.queue, a)
	first := a.place == 0
	c.mu.Unlock()
	if first {
		select {
		case c.changed <- struct{}{}:
		default:
		}
	}
	return a
}

// remove takes work out. What was begun goes on.
func (c *clock) remove(a *alarm) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a.place >= 0 {
		heap.Remove(&c.queue, a.place)
	}
}

// run begins what is due until ctx ends.
func (c *clock) run(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		if wait, waits := c.tick(); waits {
			timer.Reset(wait)
		} else {
			timer.Stop()
		}
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-c.changed:
		}
	}
}

// tick begins everything that is due and says how long it is to the next
// moment; false when there is none.
func (c *clock) tick() (wait time.Duration, waits bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.queue) > 0 {
		a, now := c.queue[0], time.Since(c.origin)
		if a.next > now {
			return a.next - now, true
		}
		missed := a.advance(now)
		heap.Fix(&c.queue, 0)
		go a.due(missed)
	}
	return 0, false
}

// advance sets the next moment and says how many have passed without a call.
func (a *alarm) advance(now time.Duration) (missed uint64) {
	if a.begun {
		missed = uint64((now - a.next) / a.every)
	}
	a.begun = true
	a.next = now + a.every - (now-a.phase+a.every)%a.every
	return missed
}

// offset spreads keys over a period by their hash.
func offset(key string, period time.Duration) time.Duration {
	if period <= 0 {
		return 0
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(key))
	return time.Duration(h.Sum64() % uint64(period))
}

// alarms are a heap by their next moment.
type alarms []*alarm

// Len implements heap.Interface.
func (q alarms) Len() int { return len(q) }

// Less implements heap.Interface.
func (q alarms) Less(i, j int) bool { return q[i].next < q[j].next }

// Swap implements heap.Interface.
func (q alarms) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].place, q[j].place = i, j
}

// Push implements heap.Interface.
func (q *alarms) Push(x any) {
	a, _ := x.(*alarm)
	a.place = len(*q)
	*q = append(*q, a)
}

// Pop implements heap.Interface.
func (q *alarms) Pop() any {
	last := len(*q) - 1
	a := (*q)[last]
	(*q)[last], *q = nil, (*q)[:last]
	a.place = -1
	return a
}
