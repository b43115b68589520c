package engine

import "fmt"

// State is what a replica is doing, judged from its page and its API together.
type State string

// The states of a replica; exactly one holds.
const (
	StateStarting State = "starting"
	StateReady    State = "ready"
	StateNotReady State = "not_ready"
	StateDraining State = "draining"
	StateFailing  State = "failing"
	StateStalled  State = "stalled"
	StateBlind    State = "blind"
	StateDown     State = "down"
)

// States lists all states.
func States() []State {
	return []State{StateStarting, StateReady, StateNotReady, StateDraining, StateFailing, StateStalled, StateBlind, StateDown}
}

// Evidence is what is known of a replica at one moment.
type Evidence struct {
	// Page is true when the last scrape succeeded; PageRefused when it failed
	// because nothing listens on the page's port; PageError says how it failed.
	Page        bool
	PageRefused bool
	PageError   string
	// Hint says what a failing page may come from, for people.
	Hint string
	// Health is the API's last answer; SamePort is true for servers that have
	// page and API on one port.
	Health   Health
	SamePort bool
	// APISeen is true when the API answered before: one that never did has its
	// port elsewhere, or is off.
	APISeen bool
	// Lived is true when the API said before that the server is live.
	Lived bool
	// Seen is true when the replica was up before; Grace while a replica that
	// was not and refuses may still be starting.
	Seen, Grace bool
	// Failing is true while requests only fail, Stalled while work is in
	// flight and no iteration happens; both as the page's numbers say.
	Failing, Stalled bool
	// Was is the state judged before. Of failing and stalled the first to hold
	// is the cause: the gauges of a model whose processes died stand still,
	// and the requests to one that stands still fail in the end.
	Was State
	// Unrouted is true when the page says that requests for none of its models
	// can be sent anywhere.
	Unrouted bool
	// Silent is true for a rank that is declared to bind no port.
	Silent bool
}

// Judge gives the state and the reason for it, for people. The table is that of
// a real Triton: readiness answers 200 while every request fails, metrics go on
// while the API drains, and both ports refuse while models load.
func (e *Evidence) Judge() (State, string) {
	if e.Silent {
		return StateReady, "this rank binds no port; its leader speaks for it"
	}
	if !e.Page {
		return e.withoutPage()
	}
	switch {
	case e.Health.API == APIRefused && !e.SamePort && e.APISeen:
		return StateDraining, e.Health.Detail + " while the page still answers: the server is ending"
	case e.Health.API == APINotReady && !e.SamePort && e.Lived && e.Health.LiveKnown && !e.Health.Live:
		// Triton says so of itself only while it ends, or when it never came up
		// (core src/server.cc, InferenceServer::IsLive).
		return StateDraining, "the API says that it is no longer live while the page still answers: the server is ending"
	case e.Health.API == APINotReady:
		return StateNotReady, e.Health.Detail
	case e.Unrouted:
		return StateNotReady, "the page says that no worker serves any of its models"
	case e.Stalled && (!e.Failing || e.Was != StateFailing):
		return StateStalled, "requests are in flight and no iteration happens"
	case e.Failing:
		return StateFailing, "requests only fail, whatever the API says"
	}
	if e.Health.API == APIReady {
		return StateReady, e.Health.Detail
	}
	return StateReady, "the page answers; " + detail(e.Health)
}

// withoutPage judges a replica whose last scrape failed.
func (e *Evidence) withoutPage() (State, string) {
	switch e.Health.API {
	case APIReady, APINotReady:
		if e.Health.Starting {
			return StateStarting, e.Health.Detail
		}
		return StateBlind, "the API answers, the page does not: " + e.failure()
	case APIUnknown, APIRefused, APIFailed:
	}
	switch {
	case e.PageRefused && !e.Seen && e.Grace:
		return StateStarting, "nothing listens yet; a server opens its ports when its models are loaded"
	case e.PageRefused && e.Seen:
		return StateDown, "nothing listens any more: the server has ended, or starts anew; " + e.failure()
	}
	return StateDown, e.failure()
}

// failure is how the page failed and what that may come from.
func (e *Evidence) failure() string {
	if e.Hint == "" {
		return e.PageError
	}
	return e.PageError + "; " + e.Hint
}

// detail is what is known of an API that does not say ready.
func detail(h Health) string {
	if h.Detail == "" {
		return "its API was not asked"
	}
	return fmt.Sprintf("of its API only this is known: %s", h.Detail)
}

// The states of a model, as series name them.
const (
	ModelReady       = "ready"
	ModelLoading     = "loading"
	ModelUnloading   = "unloading"
	ModelUnavailable = "unavailable"
)

// ModelStates lists the states of a model.
func ModelStates() []string {
	return []string{ModelReady, ModelLoading, ModelUnloading, ModelUnavailable}
}

// StateOfModel puts together what the repository index says of a model, in its
// own word, and whether Triton's page shows it as loaded. A model whose
// nv_inference_request_success is gone is not loaded, whatever else stands
// there; empty when nothing is known.
func StateOfModel(index string, loaded, known bool) string {
	switch {
	case index == modelLoading:
		return ModelLoading
	case known && !loaded, index == modelUnavailable:
		return ModelUnavailable
	case index == modelUnloading:
		return ModelUnloading
	case index == modelReady, known:
		return ModelReady
	}
	return ""
}
