package simulate

import (
	"fmt"
	"sync"
	"time"
)

// Replica is one simulated server: its clients, its executor, its page and, once
// Listen was called, its ports. All methods are safe for concurrent use.
type Replica struct {
	spec Spec

	mu       sync.Mutex
	w        *world
	clients  *clients
	timeline Scenario
	began    time.Time // Real time at simulated time 0, when Speed is set.
	upAt     time.Duration
	refused  uint64

	net network
}

// world is what a server sees of its replica: the clock, the executor of its
// process and the switches that faults turn.
type world struct {
	spec   Spec
	start  time.Time // The wall clock at simulated time 0.
	now    time.Duration
	phase  Phase
	up     time.Duration // When the present process began to serve.
	engine *engine       // Nil while the LLM model is not loaded.
	server server
	truth  Truth

	failing   bool // Stubs dead: every request fails.
	emptyPage bool // The page is 200 without a body.
	stick     int  // So many next requests never end.
	stalled   bool
	unsteady  bool // Answers differ from request to request.
}

// server is the software of a replica: what it books, prints and answers.
type server interface {
	observer
	// The method admit says whether a request may go to the executor; when not, the server
	// has booked it as its real counterpart does.
	admit(r *request) bool
	// The method accepted hears that the executor took a request.
	accepted(r *request)
	// The method next is the moment of the server's next own work, tick does it.
	next() time.Duration
	tick()
	// The method page renders the metrics page of this moment.
	page() []byte
	handlers(r *Replica) handlers
}

// NewReplica makes a replica at simulated time 0. Without LoadDuration it serves
// at once. No port is open until Listen.
func NewReplica(spec Spec) (*Replica, error) {
	spec = spec.withDefaults()
	if err := spec.Validate(); err != nil {
		return nil, fmt.Errorf("replica %s: %w", spec.Name, err)
	}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	if spec.Speed > 0 {
		start = time.Now()
	}
	r := &Replica{
		spec:     spec,
		w:        &world{spec: spec, start: start, phase: PhaseLoading},
		clients:  newClients(spec.Workload, spec.Seed),
		timeline: spec.Scenario.sorted(),
		began:    time.Now(),
		upAt:     spec.LoadDuration,
	}
	if spec.LoadDuration == 0 {
		r.boot()
	}
	r.runTo(0)
	return r, nil
}

// Name is the replica's name in its fleet.
func (r *Replica) Name() string { return r.spec.Name }

// Spec returns what the replica was made of, with its defaults and the versions
// it runs now.
func (r *Replica) Spec() Spec {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.w.spec
}

// Advance moves simulated time on by d. Events fall at the same moments however
// the time is cut, so equal seeds and equal sums give equal states. A replica
// with a Speed goes on from there at its pace.
func (r *Replica) Advance(d time.Duration) {
	r.mu.Lock()
	r.catchUp()
	if r.spec.Speed > 0 {
		r.began = r.began.Add(-time.Duration(float64(d) / r.spec.Speed))
	}
	r.runTo(r.w.now + d)
	r.mu.Unlock()
	r.net.follow(r)
}

// pace brings simulated time up with the wall clock, when Speed is set.
func (r *Replica) pace() {
	r.mu.Lock()
	r.catchUp()
	r.mu.Unlock()
	r.net.follow(r)
}

func (r *Replica) catchUp() {
	if r.spec.Speed > 0 {
		r.runTo(max(r.w.now, time.Duration(float64(time.Since(r.began))*r.spec.Speed)))
	}
}

// Page renders the metrics page of this moment; nil when the metrics port refuses.
func (r *Replica) Page() []byte {
	body, _ := r.Observe()
	return body
}

// Truth says what really happened up to this moment.
func (r *Replica) Truth() Truth {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.catchUp()
	return r.readTruth()
}

// Observe returns the page and the truth of one and the same moment.
func (r *Replica) Observe() ([]byte, Truth) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.catchUp()
	if r.w.server == nil || r.w.emptyPage {
		return nil, r.readTruth()
	}
	return r.w.server.page(), r.readTruth()
}

func (r *Replica) readTruth() Truth {
	t := r.w.truth.read(r.w.engine)
	t.At, t.Phase, t.Refused = r.w.now, r.w.phase, r.refused
	return t
}

// runTo processes every event up to and at t, in order of time.
func (r *Replica) runTo(t time.Duration) {
	for {
		at := min(r.clients.next, r.upAt, r.timeline.next())
		if r.w.engine != nil {
			at = min(at, r.w.engine.end)
		}
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

// step does the one thing that is due; ties are broken in a fixed order.
func (r *Replica) step() {
	w := r.w
	switch {
	case r.timeline.next() <= w.now:
		event := r.timeline[0]
		r.timeline = r.timeline[1:]
		event.do(r)
	case r.upAt <= w.now:
		r.boot()
	case w.engine != nil && w.engine.end <= w.now:
		w.engine.finish(w.now, w)
	case w.server != nil && w.server.next() <= w.now:
		w.server.tick()
		if d, ok := w.server.(modelController); ok && d.gone() {
			r.stop(PhaseDown)
		}
	case r.clients.next <= w.now:
		r.arrive(r.clients.arrive())
	}
}

// arrive brings a request to the API port; false when it is not in work.
func (r *Replica) arrive(req *request) bool {
	w := r.w
	if w.phase != PhaseServing {
		r.refused++
		return false
	}
	w.truth.Arrived++
	if w.engine == nil || !w.server.admit(req) {
		w.truth.Failed++
		w.truth.Rejected++
		return false
	}
	if w.stick > 0 {
		w.stick--
		req.stuck = true
	}
	w.engine.submit(w.now, req)
	w.server.accepted(req)
	return true
}

// boot starts a new process.
func (r *Replica) boot() {
	w := r.w
	r.upAt = never
	w.truth = Truth{Epoch: w.truth.Epoch + 1}
	w.phase, w.up = PhaseServing, w.now
	w.stalled, w.failing, w.emptyPage, w.stick, w.unsteady = false, false, false, 0, false
	w.engine = newEngine(w.spec.Engine, w.spec.Workload)
	w.server = newServer(w)
}

// stop ends the process; what is in flight is lost.
func (r *Replica) stop(phase Phase) {
	w := r.w
	if w.engine != nil {
		w.engine.abort(w.truth.bookFailed)
	}
	w.server, w.phase = nil, phase
}

// The executor's observer is the world: it books what happens in the truth and
// passes it on to the server.

func (w *world) started(r *request) { w.server.started(r) }

func (w *world) finished(r *request) {
	if r.stuck {
		w.truth.Stuck++
	} else {
		w.truth.bookFinished(r)
	}
	w.server.finished(r)
	if !r.stuck {
		r.tell(streamEvent{done: true})
	}
}

func (w *world) failed(r *request) {
	w.truth.bookFailed(r)
	w.server.failed(r)
}

func (w *world) iterated(it *iteration) { w.server.iterated(it) }
