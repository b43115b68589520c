package web

import (
	"sync"
	"sync/atomic"
	"time"
)

// patience is how long an answer may write and still count as work. Beyond it
// the reader is slow, and a slow reader costs a goroutine, not a processor.
const patience = 250 * time.Millisecond

// openPerSlot bounds all answers under way, slow readers among them, as a
// multiple of those at work.
const openPerSlot = 8

// gate admits a bounded number of requests. Readers that take their time over
// an answer give their slot back, so that they cannot shut the others out.
type gate struct {
	slots   chan struct{}
	open    atomic.Int64
	maxOpen int64
}

func newGate(slots int) *gate {
	return &gate{slots: make(chan struct{}, slots), maxOpen: int64(slots) * openPerSlot}
}

// ticket is one admitted request.
type ticket struct {
	gate *gate
	free sync.Once

	mu    sync.Mutex
	timer *time.Timer
}

// enter returns nil when the gate is full.
func (g *gate) enter() *ticket {
	if g.open.Add(1) > g.maxOpen {
		g.open.Add(-1)
		return nil
	}
	select {
	case g.slots <- struct{}{}:
		return &ticket{gate: g}
	default:
		g.open.Add(-1)
		return nil
	}
}

// writing says that only writing is left.
func (t *ticket) writing() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.timer == nil {
		t.timer = time.AfterFunc(patience, t.giveBack)
	}
}

// giveBack frees the slot once.
func (t *ticket) giveBack() {
	t.free.Do(func() { <-t.gate.slots })
}

// leave ends the request.
func (t *ticket) leave() {
	t.mu.Lock()
	if t.timer != nil {
		t.timer.Stop()
	}
	t.mu.Unlock()
	t.giveBack()
	t.gate.open.Add(-1)
}
