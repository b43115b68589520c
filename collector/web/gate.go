package web

import (
	"context"
	"runtime/debug"
	"slices"
	"sync"
	"time"
)

const (
	// patience is how long an answer may write and still count as work. Beyond it
	// the reader is slow, and a slow reader costs memory, not a processor.
	patience = 250 * time.Millisecond
	// grace is how long any answer may write before it is cut for another that
	// finds too many open.
	grace = patience / 5
	// openPerSlot bounds all answers under way, slow readers among them, as a
	// multiple of those at work.
	openPerSlot = 8
	// longestWait is how long a request waits for a slot: most of what Prometheus
	// gives a scrape at the shortest intervals in use.
	longestWait = 3 * time.Second
	// heldShare is the part of the memory limit that the answers may have which
	// slow readers hold, maxHeld and leastHeld bound it in bytes.
	heldShare, maxHeld, leastHeld = 8, 64 << 20, 4 << 20
)

// gate admits a bounded number of requests. Readers that take their time over
// an answer lose their slot when another needs it, so that they cannot shut the
// others out; when there are too many of them, the oldest are cut.
type gate struct {
	slots, maxOpen int

	mu         sync.Mutex
	busy, open int
	// queue are the tickets that wait for a slot.
	queue []*ticket
	// writers are the tickets of which only writing is left, the oldest first.
	writers []*ticket
}

func newGate(slots int) *gate { return &gate{slots: slots, maxOpen: slots * openPerSlot} }

// mayHold is how many bytes slow readers may hold by the memory limit of the
// process, which is known when the first reader comes.
//
//nolint:gochecknoglobals // Constant once it is known.
var mayHold = sync.OnceValue(func() int64 { return heldOf(debug.SetMemoryLimit(-1)) })

func heldOf(limit int64) int64 { return min(max(limit/heldShare, leastHeld), maxHeld) }

// ticket is one admitted request; its gate guards it.
type ticket struct {
	gate *gate
	// slot is true while it counts as work, gone when it has left or was cut.
	slot, gone bool
	// granted is closed when one that waits gets its slot.
	granted chan struct{}
	// since is when it began to write, bytes what it writes, end cuts it off.
	since time.Time
	bytes int64
	end   func()
	timer *time.Timer
}

// enter returns nil when the gate stays full of work for longestWait. A
// reader that only writes gives its slot to one that comes, and its place when it
// is slow.
func (g *gate) enter(ctx context.Context) *ticket {
	t := g.admit()
	if t == nil || t.granted == nil {
		return t
	}
	over := time.NewTimer(longestWait)
	defer over.Stop()
	select {
	case <-t.granted:
		return t
	case <-over.C:
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.queue, t)
	if i < 0 {
		return t
	}
	g.queue = slices.Delete(g.queue, i, i+1)
	t.remove()
	return nil
}

// admit gives a request a slot, or has it wait until its ticket is granted one;
// nil when too many are open.
func (g *gate) admit() *ticket {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open >= g.maxOpen && !g.cutOldest(grace) {
		return nil
	}
	g.open++
	t := &ticket{gate: g}
	if at := slices.IndexFunc(g.writers, func(w *ticket) bool { return w.slot }); g.busy >= g.slots && at >= 0 {
		g.writers[at].giveBack()
	}
	if g.busy < g.slots {
		g.busy++
		t.slot = true
		return t
	}
	t.granted = make(chan struct{})
	g.queue = append(g.queue, t)
	return t
}

// writing says that only writing so many bytes is left, and how to cut it off.
func (t *ticket) writing(bytes int64, end func()) {
	g := t.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	if t.timer != nil {
		return
	}
	t.since, t.bytes, t.end = time.Now(), bytes, end
	t.timer = time.AfterFunc(patience, t.slow)
	g.writers = append(g.writers, t)
	if len(g.queue) > 0 {
		t.giveBack()
	}
}

// slow frees the slot of a reader that takes its time, and cuts the oldest of
// its kind when they hold too much.
func (t *ticket) slow() {
	g := t.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	t.giveBack()
	held := int64(0)
	for _, w := range g.writers {
		held += w.bytes
	}
	for held > mayHold() && len(g.writers) > 1 {
		oldest := g.writers[0].bytes
		if !g.cutOldest(patience) {
			return
		}
		held -= oldest
	}
}

// cutOldest ends the answer that has written longest, if it is of that age.
func (g *gate) cutOldest(age time.Duration) bool {
	if len(g.writers) == 0 || time.Since(g.writers[0].since) < age {
		return false
	}
	oldest := g.writers[0]
	oldest.remove()
	oldest.end()
	return true
}

// giveBack frees the slot once, for the first that waits.
func (t *ticket) giveBack() {
	if !t.slot {
		return
	}
	t.slot = false
	g := t.gate
	if len(g.queue) == 0 {
		g.busy--
		return
	}
	next := g.queue[0]
	g.queue = slices.Delete(g.queue, 0, 1)
	next.slot = true
	close(next.granted)
}

// remove takes the ticket out of the gate once.
func (t *ticket) remove() {
	if t.gone {
		return
	}
	t.gone = true
	t.giveBack()
	g := t.gate
	g.open--
	if i := slices.Index(g.writers, t); i >= 0 {
		g.writers = slices.Delete(g.writers, i, i+1)
	}
}

// leave ends the request.
func (t *ticket) leave() {
	t.gate.mu.Lock()
	defer t.gate.mu.Unlock()
	if t.timer != nil {
		t.timer.Stop()
	}
	t.remove()
}
