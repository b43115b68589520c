package main

import (
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// fault is one thing that goes wrong in the demo.
type fault struct {
	// name is that of the flag, what says what happens to the replica.
	name, what string
	begin, end func(r *simulate.Replica)
	// pool and replica are the places of the one it happens to.
	pool, replica int
	// waits is true for one that shows in the queue and not in the verdict, differs
	// for one that shows only when the replica serves again.
	waits, differs bool
}

// faults are the story, in its order.
func faults() []fault {
	const overload, away = 6, 8 * time.Second
	rate := 0.0
	version := ""
	return []fault{
		{
			name: "stall", pool: 0, replica: 1, what: "its executor freezes with requests in flight",
			begin: func(r *simulate.Replica) { r.Stall(true) }, end: func(r *simulate.Replica) { r.Stall(false) },
		},
		{
			name: "stubs", pool: 0, replica: 2, what: "the processes of its model die, every request fails",
			begin: func(r *simulate.Replica) { r.FailRequests(true) }, end: func(r *simulate.Replica) { r.FailRequests(false) },
		},
		{
			name: "version", pool: 1, replica: 2, what: "it comes back from a restart with another TensorRT-LLM", differs: true,
			begin: func(r *simulate.Replica) { version = r.Spec().TRTLLMVersion; r.Rollout(time.Second, "", "1.0.0") },
			end:   func(r *simulate.Replica) { r.Rollout(time.Second, "", version) },
		},
		{
			name: "restart", pool: 1, replica: 0, what: "its process is killed and starts again",
			begin: func(r *simulate.Replica) { r.Restart(away) }, end: func(*simulate.Replica) {},
		},
		{
			name: "overload", pool: 0, replica: 0, what: "it gets many times the requests it can serve", waits: true,
			begin: func(r *simulate.Replica) { rate = r.Spec().Workload.Rate; r.SetRate(rate * overload) }, end: func(r *simulate.Replica) { r.SetRate(rate) },
		},
	}
}

// faultNames are the names that --fault takes.
func faultNames() []string {
	var names []string
	for _, f := range faults() {
		names = append(names, f.name)
	}
	return names
}

// faultOf is the fault of that name; nil for none.
func faultOf(name string) *fault {
	for _, f := range faults() {
		if f.name == name {
			return &f
		}
	}
	return nil
}
