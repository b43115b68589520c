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
	// Guard does a step and gives a panic back as its failure, so that none ends the
	// process; it is called from any goroutine. Proceed is called after each answer that was taken, by the
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
func (o *Owner) Do(work func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	o.queue = append(o.queue, work)
	if !o.busy {
		o.busy = true
		o.finish()
	}
}

// Now does a piece of work before it returns; false when other work is being done,
// so that it cannot. After Close it is dropped.
func (o *Owner) Now(work func()) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.closed:
		return true
	case o.busy:
		return false
	}
	o.busy = true
	o.mu.Unlock()
	o.run(work)
	o.mu.Lock()
	o.finish()
	return true
}

// finish does what is queued, as the one that works.
func (o *Owner) finish() {
	for n := 0; ; n++ {
		if n >= len(o.queue) {
			break
		}
		next := o.queue[n]
		o.mu.Unlock()
		o.run(next)
		o.mu.Lock()
	}
	clear(o.queue)
	o.queue, o.busy = o.queue[:0], false
}

// run does a piece of work, whose panic goes to the guard. The guard is not given the
// work itself, which would cost a piece its memory.
func (o *Owner) run(work func()) {
	defer func() {
		if p := recover(); p != nil {
			_ = o.Guard("work", func() { panic(p) })
		}
	}()
	work()
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
