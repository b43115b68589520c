package collector

import (
	"context"
	"hash/fnv"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape/lane"
)

// leastAtOnce is how much work of one moment goes to a goroutine of its own: to
// wake another processor costs as much as some tens of pages.
const leastAtOnce = 64

// clock is one goroutine and one timer for all work. Moments are spread
// over an interval by the hash of a key, in slots, and all that is due in one slot
// is begun together and given one batch for what it asks servers. Safe for
// concurrent use.
type clock struct {
	origin time.Time
	// changed wakes the goroutine when another moment may be the next.
	changed chan struct{}
	// running is the work that was begun, batches what it asks servers with.
	running sync.WaitGroup
	batches sync.Pool

	mu  sync.Mutex
	all []*alarm
	// next is the moment that the goroutine waits for.
	next time.Duration
}

// newClock returns a clock that does not run; its moments are counted from origin.
func newClock(origin time.Time) *clock {
	return &clock{origin: origin, changed: make(chan struct{}, 1), batches: sync.Pool{New: func() any { return new(lane.Batch) }}}
}

// due begins work that is due. Missed is how many moments have passed since the last
// without a call. It waits for nothing; what it asks servers it may put into the
// batch, which is run when all of the slot was begun.
type due func(missed uint64, b *lane.Batch)

// add has work begun every so often from now on, at fixed moments that its key
// spreads over the interval, and for the first time soon.
func (c *clock) add(key string, every, soon time.Duration, due due) *alarm {
	a := &alarm{
		every: every, phase: slotted(offset(key, every), every),
		next: slotted(time.Since(c.origin)+offset(key, min(every, soon)), every),
		due:  due,
	}
	c.mu.Lock()
	c.all = append(c.all, a)
	earlier := a.next < c.next
	c.mu.Unlock()
	if earlier {
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
	if i := slices.Index(c.all, a); i >= 0 {
		last := len(c.all) - 1
		c.all[i], c.all[last] = c.all[last], nil
		c.all = c.all[:last]
	}
}

// run begins what is due until ctx ends, and waits for what was begun.
func (c *clock) run(ctx context.Context) {
	defer c.running.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		timer.Reset(c.tick())
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-c.changed:
		}
	}
}

// tick begins everything that is due and says how long it is to the next moment.
// It looks at all work, which is a few times a second, for moments are in slots.
func (c *clock) tick() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	var now []beginning
	at := time.Since(c.origin)
	c.next = at + time.Hour
	for _, a := range c.all {
		if a.next <= at {
			now = append(now, beginning{a, a.advance(at)})
		}
		c.next = min(c.next, a.next)
	}
	c.begin(now)
	return c.next - at
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
		c.running.Go(func() {
			b, _ := c.batches.Get().(*lane.Batch)
			defer c.batches.Put(b)
			for _, now := range part {
				now.due(now.missed, b)
			}
			b.Run()
		})
	}
}

// slotLength is the longest time between two moments of the clock at which work
// of the same interval is begun: what is due within it is begun together. A slot
// costs some 0.4 ms of processor time that has nothing to do with how many targets
// are in it; half as long ones make scraping 1000 targets every 5 s a sixth dearer.
const slotLength = 200 * time.Millisecond

// alarm is work with its next moment. Its fields belong to the clock.
type alarm struct {
	every, phase time.Duration
	// next is the next moment, since the clock's origin.
	next time.Duration
	// begun is true when the work was begun once.
	begun bool
	due   due
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

// slotOf is the length of the slots of an interval: a part of it, and of five at
// least.
func slotOf(every time.Duration) time.Duration {
	const leastSlots = 5
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
