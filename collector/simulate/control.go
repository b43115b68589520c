package simulate

import (
	"cmp"
	"slices"
	"time"
)

// action changes a replica while its lock is held.
type action func(r *Replica)

// do changes the replica now, then its ports.
func (r *Replica) do(a action) {
	r.mu.Lock()
	r.catchUp()
	a(r)
	r.mu.Unlock()
	// A port that cannot be opened again refuses until the next call.
	_ = r.net.follow(r)
}

// SetRate changes the arrival rate, in requests per second.
func (r *Replica) SetRate(rps float64) { r.do(setRate(rps)) }

// Overload makes requests arrive at a multiple of the spec's rate, whatever the scenario does, until the
// factor is 1 again.
func (r *Replica) Overload(factor float64) {
	r.do(func(r *Replica) {
		r.overloaded = false
		setRate(factor * r.w.spec.Workload.Rate)(r)
		r.overloaded = factor != 1
	})
}

// Stall freezes the executor with its work in flight, or lets it continue.
func (r *Replica) Stall(on bool) {
	r.do(func(r *Replica) {
		r.w.stalled = on
		r.w.engine.stall(r.w.now, on)
	})
}

// FailRequests kills the stub processes with the requests in flight, or restarts them.
// Without them every request fails, although readiness is 200.
func (r *Replica) FailRequests(on bool) {
	r.do(func(r *Replica) {
		if r.w.failing = on; on {
			r.w.engine.abort(r.w.failed)
		}
	})
}

// Stick makes the next n requests get all tokens but never end.
func (r *Replica) Stick(n int) { r.do(func(r *Replica) { r.w.stick += n }) }

// Restart kills the process. After closed, plus the spec's LoadDuration, a new one with
// all counters at zero opens the ports.
func (r *Replica) Restart(closed time.Duration) { r.Rollout(closed, "", "") }

// Rollout is Restart with other versions; an empty one stays the same.
func (r *Replica) Rollout(closed time.Duration, engineVersion, trtllmVersion string) {
	r.do(func(r *Replica) {
		spec := &r.w.spec
		spec.EngineVersion = cmp.Or(engineVersion, spec.EngineVersion)
		spec.TRTLLMVersion = cmp.Or(trtllmVersion, spec.TRTLLMVersion)
		r.stop(PhaseLoading)
		r.upAt = r.w.now + closed + spec.LoadDuration
	})
}

// Stop kills the process for good; Restart brings it back.
func (r *Replica) Stop() {
	r.do(func(r *Replica) {
		r.stop(PhaseDown)
		r.upAt = never
	})
}

// Unload unloads a model of a Triton like POST /v2/repository/models/M/unload.
func (r *Replica) Unload(model string) { r.do(control(model, false)) }

// Load loads an unloaded model again.
func (r *Replica) Load(model string) { r.do(control(model, true)) }

func control(model string, load bool) action {
	return func(r *Replica) {
		if r.w.phase == PhaseServing {
			r.w.server.control(model, load)
		}
	}
}

// event is an action at a simulated time.
type event struct {
	at time.Duration
	do action
}

// Scenario is a list of timed events; the order of its entries does not matter.
type Scenario []event

func (s Scenario) sorted() Scenario {
	return slices.SortedStableFunc(slices.Values(s), func(a, b event) int { return cmp.Compare(a.at, b.at) })
}

func (s Scenario) next() time.Duration {
	if len(s) == 0 {
		return never
	}
	return s[0].at
}

// Repeat returns the scenario n times, each later than the one before by every.
func (s Scenario) Repeat(n int, every time.Duration) Scenario {
	var out Scenario
	for i := range n {
		for _, e := range s {
			out = append(out, event{e.at + time.Duration(i)*every, e.do})
		}
	}
	return out
}

// Burst raises the arrival rate from base to peak for a while.
func Burst(at, length time.Duration, base, peak float64) Scenario {
	return Scenario{{at, setRate(peak)}, {at + length, setRate(base)}}
}

// setRate also draws the next arrival again: a Poisson process has no memory.
func setRate(rps float64) action {
	return func(r *Replica) {
		if r.overloaded {
			return
		}
		r.clients.load.Rate = rps
		r.clients.schedule(r.w.now)
	}
}
