package main

import (
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
	"github.com/trtllm-exporter/trtllm_exporter/collector/web"
)

type fault struct {
	// name is the value of the flag, text describes what happens to the replica.
	name, text string
	begin, end func(r *simulate.Replica)
	// pool and replica are the indexes of the replica that it happens to.
	pool, replica int
	// detected reports whether the exporter reports the fault.
	detected func(r *web.Replica) bool
}

// overload is the name of the fault that shows in the queue and not in the verdict.
const overload = "overload"

// faults returns the faults in the order of the story.
func faults() []fault {
	const factor, downtime = 6, 8 * time.Second
	rate, version := 0.0, ""
	return []fault{
		{
			name: "stall", pool: 0, replica: 1, text: "its executor freezes with requests in flight", detected: isBroken,
			begin: func(r *simulate.Replica) { r.Stall(true) }, end: func(r *simulate.Replica) { r.Stall(false) },
		},
		{
			name: "stubs", pool: 0, replica: 2, text: "the processes of its model die, every request fails", detected: isBroken,
			begin: func(r *simulate.Replica) { r.FailRequests(true) }, end: func(r *simulate.Replica) { r.FailRequests(false) },
		},
		{
			name: "version", pool: 1, replica: 2, text: "it restarts with another version of TensorRT-LLM", detected: differs,
			begin: func(r *simulate.Replica) { version = r.Spec().TRTLLMVersion; r.Rollout(time.Second, "", "1.0.0") },
			end:   func(r *simulate.Replica) { r.Rollout(time.Second, "", version) },
		},
		{
			name: "restart", pool: 1, replica: 0, text: "its process is killed and starts again", detected: isBroken,
			begin: func(r *simulate.Replica) { r.Restart(downtime) }, end: func(*simulate.Replica) {},
		},
		{
			name: overload, pool: 0, replica: 0, text: "it gets many times the requests it can serve", detected: queueIsLong,
			begin: func(r *simulate.Replica) { rate = r.Spec().Workload.Rate; r.SetRate(rate * factor) },
			end:   func(r *simulate.Replica) { r.SetRate(rate) },
		},
	}
}

func isBroken(r *web.Replica) bool { return r.Severity == string(assess.Broken) }

// differs reports whether a replica serves again, and not as its pool expects.
func differs(r *web.Replica) bool {
	return r.Severity == string(assess.Look) && r.State == string(assess.Ready)
}

func queueIsLong(r *web.Replica) bool {
	const long = 10
	return r.Waiting != nil && *r.Waiting >= long
}

func faultNames() []string {
	var names []string
	for _, f := range faults() {
		names = append(names, f.name)
	}
	return names
}

func faultNamed(name string) *fault {
	for _, f := range faults() {
		if f.name == name {
			return &f
		}
	}
	return nil
}
