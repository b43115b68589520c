package simulate

import (
	"slices"
	"time"
)

// ActionKind names what an event does to a replica.
type ActionKind string

// The actions; Action's comment says which fields each reads.
const (
	ActionRate      ActionKind = "rate"
	ActionStall     ActionKind = "stall"
	ActionFail      ActionKind = "fail"
	ActionEmptyPage ActionKind = "empty_page"
	ActionStick     ActionKind = "stick"
	ActionUnsteady  ActionKind = "unsteady"
	ActionRestart   ActionKind = "restart"
	ActionStop      ActionKind = "stop"
	ActionDrain     ActionKind = "drain"
	ActionUnload    ActionKind = "unload"
	ActionLoad      ActionKind = "load"
)

// Action is one thing done to a replica: Rate with Rate; Stall, Fail,
// EmptyPage and Unsteady with On; Stick with Count; Restart with For (how long both ports
// stay closed before loading), EngineVersion and TRTLLMVersion (empty keeps
// them); Unload and Load with Model.
type Action struct {
	Kind                         ActionKind
	On                           bool
	Rate                         float64
	Count                        int
	For                          time.Duration
	Model                        string
	EngineVersion, TRTLLMVersion string
}

// Event is an action at a simulated time.
type Event struct {
	At     time.Duration
	Action Action
}

// Scenario is a list of timed events; the order of its entries does not matter.
type Scenario []Event

func (s Scenario) sorted() Scenario {
	out := slices.Clone(s)
	slices.SortStableFunc(out, func(a, b Event) int { return int(min(1, max(-1, a.At-b.At))) })
	return out
}

func (s Scenario) next() time.Duration {
	if len(s) == 0 {
		return never
	}
	return s[0].At
}

// After returns the scenario shifted by d.
func (s Scenario) After(d time.Duration) Scenario {
	out := slices.Clone(s)
	for i := range out {
		out[i].At += d
	}
	return out
}

// Repeat plays the scenario n times, every apart.
func (s Scenario) Repeat(n int, every time.Duration) Scenario {
	var out Scenario
	for i := range n {
		out = append(out, s.After(time.Duration(i)*every)...)
	}
	return out
}

// Combine plays scenarios beside each other.
func Combine(scenarios ...Scenario) Scenario { return slices.Concat(scenarios...) }

// Burst multiplies the arrival rate for a while, from rate base to peak and back.
func Burst(at, length time.Duration, base, peak float64) Scenario {
	return Scenario{
		{at, Action{Kind: ActionRate, Rate: peak}},
		{at + length, Action{Kind: ActionRate, Rate: base}},
	}
}

// Saturation raises the rate for good, beyond what the executor can do: its
// hidden queue grows and no page shows it.
func Saturation(at time.Duration, rate float64) Scenario {
	return Scenario{{at, Action{Kind: ActionRate, Rate: rate}}}
}

// Stall freezes the iteration loop with work in flight for a while.
func Stall(at, length time.Duration) Scenario {
	return Scenario{
		{at, Action{Kind: ActionStall, On: true}},
		{at + length, Action{Kind: ActionStall, On: false}},
	}
}

// Restart kills the process; ports are closed for the given time and while it loads.
func Restart(at, closed time.Duration) Scenario {
	return Scenario{{at, Action{Kind: ActionRestart, For: closed}}}
}

// Rollout restarts into other versions.
func Rollout(at, closed time.Duration, engineVersion, trtllmVersion string) Scenario {
	return Scenario{{at, Action{Kind: ActionRestart, For: closed, EngineVersion: engineVersion, TRTLLMVersion: trtllmVersion}}}
}

// Reload unloads a model and loads it again.
func Reload(at, away time.Duration, model string) Scenario {
	return Scenario{
		{at, Action{Kind: ActionUnload, Model: model}},
		{at + away, Action{Kind: ActionLoad, Model: model}},
	}
}

// Draining is a SIGTERM: the API port closes at once, the page shrinks, the end.
func Draining(at time.Duration) Scenario {
	return Scenario{{at, Action{Kind: ActionDrain}}}
}

// DeadStubs makes every request fail for a while, with every readiness answer 200.
func DeadStubs(at, length time.Duration) Scenario {
	return Scenario{
		{at, Action{Kind: ActionFail, On: true}},
		{at + length, Action{Kind: ActionFail, On: false}},
	}
}

// EmptyPage makes the metrics page 200 without a body, as a wrong path is.
func EmptyPage(at, length time.Duration) Scenario {
	return Scenario{
		{at, Action{Kind: ActionEmptyPage, On: true}},
		{at + length, Action{Kind: ActionEmptyPage, On: false}},
	}
}

// Flapping restarts the process n times, every apart.
func Flapping(at, closed, every time.Duration, n int) Scenario {
	return Restart(at, closed).Repeat(n, every)
}
