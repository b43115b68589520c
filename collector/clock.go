package collector

import (
	"container/heap"
	"context"
	"hash/fnv"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/replica"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
)

// slotLength is the longest time between two moments of the clock at which work
// of the same interval is begun: what is due within it is begun together.
const slotLength = 100 * time.Millisecond

// leastAtOnce is how much work of one moment goes to a goroutine of its own: to
// wake another processor costs as much as some tens of pages.
const leastAtOnce = 64

// idleWorkers is how many goroutines wait for the next slot. One that has worked
// has the stack that this takes, which a new one has to grow, copy by copy.
const idleWorkers = 4

// clock knows when work is due that comes again and again, and has it begun:
// one goroutine and one timer for the work of all replicas. Moments are spread
// over an interval by the hash of a key, in slots, and all that is due in one slot
// is begun together and given one batch for what it asks servers. What is done
// then is not the clock's business.
type clock struct {
	origin time.Time
	// changed wakes the goroutine when another moment may be the next.
	changed chan struct{}
	// work is for goroutines that wait for some, at most as many as idle has room
	// for; over ends them.
	work chan []beginning
	idle chan struct{}
	over chan struct{}

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
	due   func(missed uint64, b *scrape.Batch)
}

// newClock returns a clock that does not run.
func newClock(origin time.Time) *clock {
	return &clock{
		origin: origin, changed: make(chan struct{}, 1),
		work: make(chan []beginning), idle: make(chan struct{}, idleWorkers), over: make(chan struct{}),
	}
}

// add has work begun at fixed moments from now on, as its key spreads it over
// its interval, and for the first time soon.
func (c *clock) add(ctx context.Context, s *replica.Schedule) *alarm {
	a := &alarm{
		every: s.Every, phase: slotted(offset(s.Key, s.Every), s.Every),
		next: slotted(time.Since(c.origin)+offset(s.Key, min(s.Every, s.Soon)), s.Every),
		due:  func(missed uint64, b *scrape.Batch) { s.Due(ctx, missed, b) },
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

// run begins what is due until ctx ends. It is called once.
func (c *clock) run(ctx context.Context) {
	defer close(c.over)
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
	var now []beginning
	defer func() { c.begin(now) }()
	for len(c.queue) > 0 {
		a, at := c.queue[0], time.Since(c.origin)
		if a.next > at {
			return a.next - at, true
		}
		missed := a.advance(at)
		heap.Fix(&c.queue, 0)
		now = append(now, beginning{a, missed})
	}
	return 0, false
}

// beginning is work that is due, and how many moments of it have passed.
type beginning struct {
	*alarm

	missed uint64
}

// begin has work begun by as many goroutines as can run.
func (c *clock) begin(all []beginning) {
	most := max(leastAtOnce, (len(all)+runtime.GOMAXPROCS(0)-1)/runtime.GOMAXPROCS(0))
	for part := range slices.Chunk(all, most) {
		select {
		case c.work <- part:
		default:
			go c.serve(part)
		}
	}
}

// serve begins work, and then what comes, unless enough others wait for that.
func (c *clock) serve(part []beginning) {
	for {
		var b scrape.Batch
		for _, now := range part {
			now.due(now.missed, &b)
		}
		b.Run()
		select {
		case c.idle <- struct{}{}:
		default:
			return
		}
		select {
		case part = <-c.work:
			<-c.idle
		case <-c.over:
			return
		}
	}
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

// slotted is the beginning of the slot that a moment is in.
func slotted(at, every time.Duration) time.Duration {
	slot := slotOf(every)
	return at - at%slot
}

// slotOf is the length of the slots of an interval: a part of it, and of ten at
// least.
func slotOf(every time.Duration) time.Duration {
	const leastSlots = 10
	slots := max(leastSlots, (every+slotLength-1)/slotLength)
	return max(every/slots, 1)
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
