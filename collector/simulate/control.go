package simulate

import "time"

// apply does an action now.
func (r *Replica) apply(a Action) {
	w := r.w
	switch a.Kind {
	case ActionRate:
		r.clients.setRate(w.now, a.Rate)
	case ActionStall:
		w.stalled = a.On
		if w.engine != nil {
			w.engine.stall(w.now, a.On)
		}
	case ActionFail:
		r.setFailing(a.On)
	case ActionEmptyPage:
		w.emptyPage = a.On
	case ActionStick:
		w.stick += a.Count
	case ActionUnsteady:
		w.unsteady = a.On
	case ActionRestart:
		setIf(&w.spec.EngineVersion, a.EngineVersion)
		setIf(&w.spec.TRTLLMVersion, a.TRTLLMVersion)
		r.stop(PhaseLoading)
		r.upAt = w.now + a.For + w.spec.LoadDuration
	case ActionStop:
		r.stop(PhaseDown)
		r.upAt = never
	case ActionDrain:
		r.drain()
	case ActionUnload, ActionLoad:
		if s, ok := w.server.(modelController); ok && w.phase == PhaseServing {
			s.control(a.Model, a.Kind == ActionLoad)
		}
	}
}

// modelController is a server whose models can be loaded and unloaded, and
// which takes time to go.
type modelController interface {
	control(model string, load bool)
	drain()
	gone() bool
}

func setIf(field *string, value string) {
	if value != "" {
		*field = value
	}
}

// setFailing kills the stub processes, and with them what is in flight, or
// brings them back.
func (r *Replica) setFailing(on bool) {
	w := r.w
	if w.failing = on; !on || w.engine == nil || w.server == nil {
		return
	}
	w.engine.abort(func(q *request) {
		w.truth.bookFailed(q)
		w.server.failed(q)
	})
}

func (r *Replica) drain() {
	w := r.w
	if w.phase != PhaseServing {
		return
	}
	if s, ok := w.server.(modelController); ok {
		w.phase = PhaseDraining
		s.drain()
		return
	}
	// A server with one port closes it at once.
	r.stop(PhaseDown)
}

func (r *Replica) do(a Action) {
	r.mu.Lock()
	r.catchUp()
	r.apply(a)
	r.mu.Unlock()
	r.net.follow(r)
}

// SetRate changes the arrival rate, in requests a second.
func (r *Replica) SetRate(rps float64) { r.do(Action{Kind: ActionRate, Rate: rps}) }

// Stall freezes the executor with its work in flight, or lets it go on.
func (r *Replica) Stall(on bool) { r.do(Action{Kind: ActionStall, On: on}) }

// FailRequests kills the stub processes: every request fails while readiness
// says 200.
func (r *Replica) FailRequests(on bool) { r.do(Action{Kind: ActionFail, On: on}) }

// SetEmptyPage makes the metrics page 200 without a body.
func (r *Replica) SetEmptyPage(on bool) { r.do(Action{Kind: ActionEmptyPage, On: on}) }

// Stick makes the next n requests get all their tokens and never their end.
func (r *Replica) Stick(n int) { r.do(Action{Kind: ActionStick, Count: n}) }

// Unsteady makes the same prompt get another answer each time, as a server does
// whose kernels the batch of the moment chooses.
func (r *Replica) Unsteady(on bool) { r.do(Action{Kind: ActionUnsteady, On: on}) }

// Restart kills the process; after closed, plus the spec's LoadDuration, a new
// one with all counters at zero opens the ports.
func (r *Replica) Restart(closed time.Duration) { r.do(Action{Kind: ActionRestart, For: closed}) }

// Rollout is Restart into other versions; empty ones stay.
func (r *Replica) Rollout(closed time.Duration, engineVersion, trtllmVersion string) {
	r.do(Action{Kind: ActionRestart, For: closed, EngineVersion: engineVersion, TRTLLMVersion: trtllmVersion})
}

// Stop kills the process for good; Restart brings it back.
func (r *Replica) Stop() { r.do(Action{Kind: ActionStop}) }

// Drain is a SIGTERM: the API port closes at once, work in flight finishes, the
// page shrinks model by model, then the metrics port closes too.
func (r *Replica) Drain() { r.do(Action{Kind: ActionDrain}) }

// Unload unloads a model of a Triton as POST /v2/repository/models/M/unload does.
func (r *Replica) Unload(model string) { r.do(Action{Kind: ActionUnload, Model: model}) }

// Load loads an unloaded model again.
func (r *Replica) Load(model string) { r.do(Action{Kind: ActionLoad, Model: model}) }
