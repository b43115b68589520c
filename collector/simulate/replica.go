package simulate

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// Phase is the phase of a replica's process.
type Phase string

// The phases. The ports refuse connections except while serving.
const (
	PhaseLoading Phase = "loading"
	PhaseServing Phase = "serving"
	PhaseDown    Phase = "down"
)

// Replica is a simulated server with its clients and ports, safe for concurrent use.
type Replica struct {
	spec Spec
	kind software

	mu       sync.Mutex
	w        *world
	clients  *clients
	timeline Scenario
	// overloaded is true while the scenario does not change the rate of arrivals.
	overloaded bool
	began      time.Time // Wall-clock time at simulated time 0, if Speed is set.
	upAt       time.Duration

	net network
}

// world is what a replica's server uses: the clock, the executor and the faults.
type world struct {
	spec    Spec
	start   time.Time // The wall clock at simulated time 0.
	now     time.Duration
	phase   Phase
	up      time.Duration // When the current process began to serve.
	engine  *engine
	arrived int    // Requests that have not reached the engine, see [Totals].
	server  server // nil while no process serves.
	truth   Truth
	switches
}

// inFlight counts the requests that the server has.
func (w *world) inFlight() int { return w.engine.inFlight() + w.arrived }

// switches are the faults that are turned on.
type switches struct {
	failing bool // The stub processes are dead: every request fails.
	stick   int  // The number of next requests that never end.
	stalled bool
	// slowLink is true while KV caches come slowly, or not at all.
	slowLink bool
}

// NewReplica returns a replica at time 0, which serves unless it has a LoadDuration.
func NewReplica(spec Spec) (*Replica, error) {
	spec, kind, err := spec.complete()
	if err != nil {
		return nil, fmt.Errorf("replica %s: %w", spec.Name, err)
	}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	if spec.Speed > 0 {
		start = time.Now()
	}
	r := &Replica{
		spec: spec, kind: kind,
		w:        &world{spec: spec, start: start, phase: PhaseLoading, engine: newEngine(spec.Engine, spec.Workload)},
		clients:  newClients(spec.Workload, spec.Seed),
		timeline: spec.Scenario.sorted(),
		began:    time.Now(),
		upAt:     spec.LoadDuration,
	}
	r.runTo(0)
	return r, nil
}

// Name returns the replica's name.
func (r *Replica) Name() string { return r.spec.Name }

// Spec returns the spec of the replica with defaults and the versions that it runs now.
func (r *Replica) Spec() Spec {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.w.spec
}

// Advance advances simulated time by d; equal seeds and equal sums give equal states. A replica
// with a Speed continues from there.
func (r *Replica) Advance(d time.Duration) {
	r.do(func(r *Replica) {
		if r.spec.Speed > 0 {
			r.began = r.began.Add(-time.Duration(float64(d) / r.spec.Speed))
		}
		r.runTo(r.w.now + d)
	})
}

// pace advances simulated time to the wall clock, if Speed is set.
func (r *Replica) pace() { r.do(func(*Replica) {}) }

// patience is how long a replica may need to catch up with the clock, which it then makes up for.
const patience = time.Second

// catchUp advances simulated time to the wall clock. If a machine needs too long for that, and longer than the time
// that it makes up for, that is no time of the replica, which would be ever further behind.
func (r *Replica) catchUp() {
	if r.spec.Speed <= 0 {
		return
	}
	begun := time.Now()
	before := r.w.now
	r.runTo(max(before, time.Duration(float64(begun.Sub(r.began))*r.spec.Speed)))
	took := time.Since(begun)
	if took > patience && float64(took)*r.spec.Speed > float64(r.w.now-before) {
		r.began = r.began.Add(took)
	}
}

// Page renders the current metrics page; nil while the replica does not serve.
func (r *Replica) Page() []byte {
	body, _ := r.Observe()
	return body
}

// Truth returns what has happened up to now.
func (r *Replica) Truth() Truth {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.catchUp()
	return r.readTruth()
}

// Latencies returns those of the last maxLatencies finished requests, oldest first.
func (r *Replica) Latencies() []Latency {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.catchUp()
	all := r.w.truth.latencies
	return slices.Clone(all[max(0, len(all)-maxLatencies):])
}

// Observe returns the page and the truth at one moment.
func (r *Replica) Observe() ([]byte, Truth) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.catchUp()
	if r.w.server == nil {
		return nil, r.readTruth()
	}
	return r.w.server.page(), r.readTruth()
}

func (r *Replica) readTruth() Truth {
	t := r.w.truth.read(r.w.engine)
	t.At, t.Phase = r.w.now, r.w.phase
	return t
}

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
