// Package clock knows when work is due that comes again and again, and has it
// begun. What is done then is not its business: it knows neither replicas nor
// pages.
package clock

import (
	"container/heap"
	"context"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape/lane"
)

// leastAtOnce is how much work of one moment goes to a goroutine of its own: to
// wake another processor costs as much as some tens of pages.
const leastAtOnce = 64

// idleWorkers is how many goroutines wait for the next slot. One that has worked
// has the stack that this takes, which a new one has to grow, copy by copy.
const idleWorkers = 4

// Clock is one goroutine and one timer for all work. Moments are spread
// over an interval by the hash of a key, in slots, and all that is due in one slot
// is begun together and given one batch for what it asks servers. Safe for
// concurrent use.
type Clock struct {
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

// New returns a clock that does not run; its moments are counted from origin.
func New(origin time.Time) *Clock {
	return &Clock{
		origin: origin, changed: make(chan struct{}, 1),
		work: make(chan []beginning), idle: make(chan struct{}, idleWorkers), over: make(chan struct{}),
	}
}

// Due is work that is due. Missed is how many moments have passed since the last
// without a call. It waits for nothing; what it asks servers it may put into the
// batch, which is run when all of the slot was begun.
type Due func(missed uint64, b *lane.Batch)

// Add has work begun every so often from now on, at fixed moments that its key
// spreads over the interval, and for the first time soon.
func (c *Clock) Add(key string, every, soon time.Duration, due Due) *Alarm {
	a := &Alarm{
		every: every, phase: slotted(offset(key, every), every),
		next: slotted(time.Since(c.origin)+offset(key, min(every, soon)), every),
		due:  due,
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

// Remove takes work out. What was begun goes on.
func (c *Clock) Remove(a *Alarm) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a.place >= 0 {
		heap.Remove(&c.queue, a.place)
	}
}

// Run begins what is due until ctx ends. It is called once.
func (c *Clock) Run(ctx context.Context) {
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
func (c *Clock) tick() (wait time.Duration, waits bool) {
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
	*Alarm

	missed uint64
}

// begin has work begun by as many goroutines as can run.
func (c *Clock) begin(all []beginning) {
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
func (c *Clock) serve(part []beginning) {
	var b lane.Batch
	for {
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
