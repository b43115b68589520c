// Package owner has all that changes about one thing changed by one goroutine at
// a time, and what takes time done next to that, as short jobs that hand back one
// answer each. It knows nothing of what is owned.
package owner

import (
	"context"
	"sync"
)

// Owner has the work on some state done one piece after the other. Whoever brings
// a piece while none is being done does it, and what others bring meanwhile. So
// the state needs no lock, and what waits holds no goroutine. Its methods may be
// called by anybody, unless they say otherwise.
type Owner struct {
	// Epoch counts what the state is about; only the owner may touch it. An answer
	// to a question of an earlier epoch is dropped.
	Epoch int
	// Guard does a step and gives a panic back as its failure; it is called from
	// any goroutine. Proceed is called after each answer that was taken, by the
	// owner. Both are set before the first work and then only read.
	Guard   func(step string, do func()) error
	Proceed func(ctx context.Context)

	mu     sync.Mutex
	queue  []func()
	busy   bool
	closed bool
	// jobs are what runs next to the owner.
	jobs sync.WaitGroup
}

// Do has a piece of work done: now, or by whoever is working. Work must not
// wait for anything. After Close it is dropped.
func (o *Owner) Do(work func()) { o.Due(func(bool) { work() }) }

// Due is Do for work that wants to know who does it: here is true when that is
// the goroutine that brought it, before Due returns.
func (o *Owner) Due(work func(here bool)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	here := !o.busy
	o.queue = append(o.queue, func() { work(here) })
	if o.busy {
		return
	}
	o.busy = true
	for n := 0; ; n++ {
		if n >= len(o.queue) {
			break
		}
		next := o.queue[n]
		o.mu.Unlock()
		next()
		o.mu.Lock()
	}
	clear(o.queue)
	o.queue, o.busy = o.queue[:0], false
}

// Close drops what is still to do and waits for the jobs. The context of the
// jobs has to have ended.
func (o *Owner) Close() {
	last := make(chan struct{})
	o.Do(func() {
		o.mu.Lock()
		o.closed = true
		clear(o.queue)
		o.queue = o.queue[:0]
		o.mu.Unlock()
		close(last)
	})
	<-last
	o.jobs.Wait()
}
