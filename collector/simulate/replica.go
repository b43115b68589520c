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

// Replica is one simulated server with its clients, and after Listen its ports. All
// methods are safe for concurrent use.
type Replica struct {
	spec Spec
	kind software

	mu       sync.Mutex
	w        *world
	clients  *clients
	timeline Scenario
	began    time.Time // Wall-clock time at simulated time 0, if Speed is set.
	upAt     time.Duration

	net network
}

// world is the part of a replica that its server uses: the clock, the executor and the
// faults.
type world struct {
	spec   Spec
	start  time.Time // The wall clock at simulated time 0.
	now    time.Duration
	phase  Phase
	up     time.Duration // When the current process began to serve.
	engine *engine
	server server // nil while no process serves.
	truth  Truth
	switches
}

// switches are the faults that are turned on.
type switches struct {
	failing  bool // The stub processes are dead: every request fails.
	stick    int  // The number of next requests that never end.
	stalled  bool
	unsteady bool // Answers differ from request to request.
}

// NewReplica returns a replica at simulated time 0. Without LoadDuration it serves
// immediately. Its ports are closed until Listen.
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

// Advance advances simulated time by d. The times of events do not depend on the steps,
// so equal seeds and equal sums give equal states. A replica with a Speed continues from
// there.
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

func (r *Replica) catchUp() {
	if r.spec.Speed > 0 {
		r.runTo(max(r.w.now, time.Duration(float64(time.Since(r.began))*r.spec.Speed)))
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

// Latencies returns the latencies of the last finished requests, oldest first, at most
// maxLatencies.
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
