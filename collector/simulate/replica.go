package simulate

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// Phase is the state of a replica's process.
type Phase string

// The phases. Both ports refuse while loading and while down.
const (
	PhaseLoading Phase = "loading"
	PhaseServing Phase = "serving"
	PhaseDown    Phase = "down"
)

// Replica is one simulated server: its clients, its executor, its page and, once
// Listen was called, its ports. All methods are safe for concurrent use.
type Replica struct {
	spec Spec
	kind software

	mu       sync.Mutex
	w        *world
	clients  *clients
	timeline Scenario
	began    time.Time // Real time at simulated time 0, when Speed is set.
	upAt     time.Duration

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
	engine *engine
	server server // Nil while no process serves.
	truth  Truth
	switches
}

// switches are the faults of a process.
type switches struct {
	failing  bool // Stubs dead: every request fails.
	stick    int  // So many next requests never end.
	stalled  bool
	unsteady bool // Answers differ from request to request.
}

// NewReplica makes a replica at simulated time 0. Without LoadDuration it serves
// at once. No port is open until Listen.
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
// with a Speed continues from there at its pace.
func (r *Replica) Advance(d time.Duration) {
	r.do(func(r *Replica) {
		if r.spec.Speed > 0 {
			r.began = r.began.Add(-time.Duration(float64(d) / r.spec.Speed))
		}
		r.runTo(r.w.now + d)
	})
}

// pace brings simulated time up with the wall clock, when Speed is set.
func (r *Replica) pace() { r.do(func(*Replica) {}) }

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

// Latencies are the last requests that finished up to this moment, oldest first,
// at most maxLatencies of them.
func (r *Replica) Latencies() []Latency {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.catchUp()
	all := r.w.truth.latencies
	return slices.Clone(all[max(0, len(all)-maxLatencies):])
}

// Observe returns the page and the truth of one and the same moment.
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
