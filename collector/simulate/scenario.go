package simulate

import (
	"cmp"
	"slices"
	"time"
)

// action is something done to a replica while its lock is held.
type action func(r *Replica)

// event is an action at a simulated time.
type event struct {
	at time.Duration
	do action
}

// Scenario is a list of timed events; the order of its entries does not matter.
type Scenario []event

func (s Scenario) sorted() Scenario {
	out := slices.Clone(s)
	slices.SortStableFunc(out, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	return out
}

func (s Scenario) next() time.Duration {
	if len(s) == 0 {
		return never
	}
	return s[0].at
}

// Repeat plays the scenario n times, each a time of every after the one before.
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

func setRate(rps float64) action {
	return func(r *Replica) { r.clients.setRate(r.w.now, rps) }
}

// Reload unloads a model and loads it again.
func Reload(at, away time.Duration, model string) Scenario {
	return Scenario{{at, control(model, false)}, {at + away, control(model, true)}}
}
