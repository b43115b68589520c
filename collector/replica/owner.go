package replica

import "sync"

// owner has the work on a replica's state done one piece after the other.
// Whoever brings a piece while none is being done does it, and what others
// bring meanwhile. So the state needs no lock, and a replica that waits holds
// no goroutine.
type owner struct {
	mu     sync.Mutex
	queue  []func()
	busy   bool
	closed bool
	// jobs are what runs next to the owner.
	jobs sync.WaitGroup
}

// do has a piece of work done: now, or by whoever is working. Work must not
// wait for anything. After close it is dropped.
func (o *owner) do(work func()) { o.due(func(bool) { work() }) }

// due is do for work that wants to know who does it: here is true when that is
// the goroutine that brought it, before due returns.
func (o *owner) due(work func(here bool)) {
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

// apart runs a job in a goroutine of its own; only the owner may call it.
func (o *owner) apart(job func()) { o.jobs.Go(job) }

// close drops what is still to do and waits for the jobs. The context of the
// jobs has to have ended.
func (o *owner) close() {
	last := make(chan struct{})
	o.do(func() {
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
