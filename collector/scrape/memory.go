package scrape

import (
	"context"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
)

const (
	// freeBody is how much of a body is read without a permit, which is more
	// than most pages have.
	freeBody = 256 << 10
	// memoryShare is the part of the memory limit that larger bodies may have,
	// usualMemory what they may have without a limit, leastMemory with any.
	memoryShare = 5
	// parseShare is the part of that which may be parsed at one time: what is
	// made of a body takes some times its size until it is known what of it is
	// shown.
	parseShare  = 4
	usualMemory = 256 << 20
	leastMemory = 4 << 20
	// aloneShare is the part of the memory limit, without what the process has
	// anyway, that one body may have at most, whatever its pool allows, and
	// leastAlone what it may have in any case: what is made of a page of ever new
	// series takes some times its size, also where nobody else has any.
	anyway     = 24 << 20
	aloneShare = 6
	leastAlone = 1 << 20
)

// memory bounds the bytes of all large bodies that are read or parsed at one
// time. A body that needs more waits until another is done with, but not when
// all that hold some would wait: then the last to ask is refused, so that the
// others go on. Safe for concurrent use.
type memory struct {
	// bound is the limit, looked up when it is first needed: the process may
	// set its own from the control group when it starts.
	bound func() int64

	mu   sync.Mutex
	used int64
	// holders are claims with bytes, stuck those of them that wait.
	holders, stuck int
	queue          []*request
	waits          uint64
}

// claim is what one body holds.
type claim struct {
	memory *memory
	bytes  int64
}

// request is a claim that waits for more; decided is closed when it has it, or
// was refused.
type request struct {
	claim   *claim
	need    int64
	decided chan struct{}
	refused bool
}

func newMemory() *memory { return &memory{bound: sync.OnceValue(memoryBound)} }

// newParsing bounds the large bodies that are parsed at one time.
func newParsing() *memory {
	return &memory{bound: sync.OnceValue(func() int64 { return memoryBound() / parseShare })}
}

// memoryBound is what large bodies may have under the memory limit of the
// process.
func memoryBound() int64 {
	limit := debug.SetMemoryLimit(-1)
	if limit == math.MaxInt64 {
		return usualMemory
	}
	return max(limit/memoryShare, leastMemory)
}

// aloneBound is what one body may have under the memory limit of the process; 0
// for any size.
func aloneBound() int64 {
	limit := debug.SetMemoryLimit(-1)
	if limit == math.MaxInt64 {
		return 0
	}
	return max((limit-anyway)/aloneShare, leastAlone)
}

// extend gives a claim more bytes, and waits for them until ctx ends.
func (m *memory) extend(ctx context.Context, c *claim, need int64) *Error {
	wait := m.ask(c, need)
	if wait == nil {
		return nil
	}
	select {
	case <-wait.decided:
	case <-ctx.Done():
		m.leave(wait)
	}
	if wait.refused {
		return failf(ReasonMemory, "", "bodies over %s have all of the %s that they may have at one time, being read or parsed; raise the memory limit of the exporter, or look for targets with huge pages by trtllm_exporter_target_body_bytes",
			Size(freeBody), Size(m.bound()))
	}
	return nil
}

// ask grants a claim more at once, or queues the request that it returns.
func (m *memory) ask(c *claim, need int64) *request {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fits(c, need) {
		m.give(c, need)
		return nil
	}
	m.waits++
	wait := &request{claim: c, need: need, decided: make(chan struct{})}
	if c.bytes == 0 {
		m.queue = append(m.queue, wait)
		return wait
	}
	m.stuck++
	// What is begun is ended before more is begun.
	m.queue = slices.Insert(m.queue, 0, wait)
	m.serve()
	return wait
}

// leave refuses a request that was not decided in time.
func (m *memory) leave(wait *request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if slices.Contains(m.queue, wait) {
		m.decide(wait, true)
		m.serve()
	}
}

// serve gives those that wait what fits, in their order. When all that hold some
// wait and none fits, the last of them is refused, so that the others go on.
func (m *memory) serve() {
	for _, wait := range slices.Clone(m.queue) {
		if m.fits(wait.claim, wait.need) {
			m.decide(wait, false)
		}
	}
	if m.holders > 0 && m.stuck == m.holders {
		m.decide(m.queue[0], true)
	}
}

// decide ends the wait of a request that is in the queue.
func (m *memory) decide(wait *request, refused bool) {
	i := slices.Index(m.queue, wait)
	m.queue = slices.Delete(m.queue, i, i+1)
	if wait.claim.bytes > 0 {
		m.stuck--
	}
	wait.refused = refused
	if !refused {
		m.give(wait.claim, wait.need)
	}
	close(wait.decided)
}

// fits says whether a claim may have more now. The only one always may, for
// what one body may have is limits.body.
func (m *memory) fits(c *claim, need int64) bool {
	return m.used == c.bytes || m.used+need <= m.bound()
}

func (m *memory) give(c *claim, need int64) {
	if c.bytes == 0 {
		m.holders++
	}
	c.bytes += need
	m.used += need
}

// release gives back what a claim holds.
func (c *claim) release() {
	m := c.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	if c.bytes > 0 {
		m.holders--
	}
	m.used -= c.bytes
	c.bytes = 0
	m.serve()
}

// permit is what a body may take of the memory; the zero permit needs none.
type permit struct {
	memory, parsing *memory
	lease, parse    *lease
	// most is the largest that the body may be, 0 where that is not known.
	most int
}

// lease is a claim that is given back also when the one who holds it forgets.
type lease struct{ claim *claim }

// cover waits until the body may have so many bytes in all.
func (p *permit) cover(ctx context.Context, size int) *Error {
	if p.memory == nil || size <= freeBody {
		return nil
	}
	if p.lease == nil {
		p.lease = newLease(p.memory)
	}
	if size > hugeBody {
		// Bodies that wait for each other with most of their size in memory are
		// the worst of both.
		size = max(size, p.most)
	}
	need := int64(size) - freeBody - p.lease.claim.bytes
	if need <= 0 {
		return nil
	}
	return p.memory.extend(ctx, p.lease.claim, need)
}

// newLease holds nothing yet.
func newLease(m *memory) *lease {
	l := &lease{&claim{memory: m}}
	runtime.AddCleanup(l, (*claim).release, l.claim)
	return l
}

// toParse waits until a body of so many bytes, which is whole, may be parsed.
// Who may parse waits for nothing more, so that others have their turn.
func (p *permit) toParse(ctx context.Context, size int) *Error {
	if p.parsing == nil || size <= freeBody {
		return nil
	}
	p.parse = newLease(p.parsing)
	return p.parsing.extend(ctx, p.parse.claim, int64(size))
}

// end gives back what the body has.
func (p *permit) end() {
	for _, l := range []**lease{&p.lease, &p.parse} {
		if *l != nil {
			(*l).claim.release()
			*l = nil
		}
	}
}
