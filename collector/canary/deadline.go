package canary

import (
	"context"
	"sync"
	"time"
)

// lastLook is the part of each deadline that begins when all else of it is over. A process that stood still finds
// its timers due when it goes on, before it has read what came in the meantime; so the last part runs while it
// reads.
const lastLook = 250 * time.Millisecond

// deadline calls a function after a time, unless it is stopped before.
type deadline struct {
	mu      sync.Mutex
	timer   *time.Timer
	stopped bool
}

func newDeadline(after time.Duration, f func()) *deadline {
	last := min(lastLook, after/2)
	d := &deadline{}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.timer = time.AfterFunc(after-last, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if !d.stopped {
			d.timer = time.AfterFunc(last, f)
		}
	})
	return d
}

// stop makes the function not be called; nil has none.
func (d *deadline) stop() {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stopped = true
	d.timer.Stop()
}

// withDeadline returns a context that is canceled for a reason after a time. The function that it also returns
// must be called to release it.
func withDeadline(parent context.Context, after time.Duration, reason error) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	d := newDeadline(after, func() { cancel(reason) })
	return ctx, func() {
		d.stop()
		cancel(nil)
	}
}
