package simulate

import "time"

// runTo processes the events up to t in order of time.
func (r *Replica) runTo(t time.Duration) {
	for {
		at := min(r.clients.next, r.upAt, r.timeline.next(), r.w.engine.end)
		if r.w.server != nil {
			at = min(at, r.w.server.next())
		}
		if at > t {
			r.w.now = max(r.w.now, t)
			return
		}
		r.w.now = max(r.w.now, at)
		r.step()
	}
}

// step processes the next event; ties are broken in a fixed order.
func (r *Replica) step() {
	w := r.w
	switch {
	case r.timeline.next() <= w.now:
		event := r.timeline[0]
		r.timeline = r.timeline[1:]
		event.do(r)
	case r.upAt <= w.now:
		r.boot()
	case w.engine.end <= w.now:
		w.engine.finish(w.now, w)
	case w.server != nil && w.server.next() <= w.now:
		w.server.tick()
	case r.clients.next <= w.now:
		r.arrive(r.clients.arrive())
	}
}

// arrive handles a new request and reports whether it entered the executor.
func (r *Replica) arrive(req *request) bool {
	w := r.w
	if w.phase != PhaseServing {
		return false
	}
	w.truth.Arrived++
	w.engine.clamp(req)
	if !w.server.admit(req) {
		w.truth.Failed++
		return false
	}
	if w.stick > 0 {
		w.stick--
		req.stuck = true
	}
	w.engine.submit(w.now, req)
	return true
}

// boot starts a new process.
func (r *Replica) boot() {
	w := r.w
	r.upAt = never
	w.truth = Truth{Epoch: w.truth.Epoch + 1}
	w.phase, w.up, w.switches = PhaseServing, w.now, switches{}
	w.load()
	w.server = r.kind.start(w)
}

// load replaces the executor by an empty one.
func (w *world) load() {
	w.engine = newEngine(w.spec.Engine, w.spec.Workload)
	w.engine.stall(w.now, w.stalled)
}

// stop ends the process and fails the requests in flight.
func (r *Replica) stop(phase Phase) {
	r.w.engine.abort(r.w.truth.bookFailed)
	r.w.server, r.w.phase = nil, phase
}

// world implements observer: it updates the truth and calls the server.

func (w *world) started(r *request) { w.server.started(r) }

func (w *world) finished(r *request) {
	if r.stuck {
		w.truth.Stuck++
		w.server.stuck(r)
		return
	}
	w.truth.bookFinished(r)
	w.server.finished(r)
	r.send(streamEvent{done: true})
}

func (w *world) failed(r *request) {
	w.truth.bookFailed(r)
	w.server.failed(r)
}

func (w *world) iterated(it *iteration) { w.server.iterated(it) }
