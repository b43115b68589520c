package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
	"github.com/trtllm-exporter/trtllm_exporter/collector/web"
)

// Timing of the story. Each fault stays for a while after it was detected, and the next one waits until
// everything is healthy. What breaks a replica stays until its alert fires: the alert waits two minutes, and
// Prometheus may scrape and evaluate rules every 15 s.
const (
	healthyTime  = 30 * time.Second
	faultDelay   = 3 * time.Second
	alertTime    = 170 * time.Second
	visibleTime  = 20 * time.Second
	pauseTime    = 10 * time.Second
	patience     = 60 * time.Second
	pollInterval = 200 * time.Millisecond
)

// story injects faults and prints what happened and what the exporter reports.
type story struct {
	pools    []simulate.Pool
	exporter *exporter
	out      io.Writer
	start    time.Time
}

// victim returns the replica in which a fault is injected. A small fleet has only one pool.
func (s *story) victim(f *fault) *simulate.Replica {
	replicas := s.pools[f.pool%len(s.pools)].Replicas
	return replicas[f.replica%len(replicas)]
}

// tell injects the named faults permanently, or without names all faults in turn until ctx is
// done.
func (s *story) tell(ctx context.Context, names []string) {
	if len(names) > 0 {
		wait(ctx, faultDelay)
		for _, name := range names {
			if ctx.Err() == nil {
				f := faultNamed(name) //nolint:contextcheck // A port opens again at its own time.
				s.inject(ctx, f, s.victim(f))
			}
		}
		return
	}
	if !wait(ctx, healthyTime) {
		return
	}
	all := faults() //nolint:contextcheck // As above.
	for i := 0; ctx.Err() == nil; i++ {
		f := &all[i%len(all)]
		r := s.victim(f)
		s.inject(ctx, f, r)
		wait(ctx, cmp.Or(f.lasts, visibleTime))
		f.end(r)
		over := time.Now()
		s.printf("%s: %s.", r.Name(), cmp.Or(f.over, "that is over"))
		if s.waitFor(
			ctx,
			r,
			func(now *web.Replica) bool { return now.Severity == string(assess.OK) && !queueIsLong(now) },
		) {
			s.printf("  after %.0f s the exporter reports that it serves.", time.Since(over).Seconds())
		}
		wait(ctx, pauseTime)
	}
}

func (s *story) inject(ctx context.Context, f *fault, r *simulate.Replica) {
	s.printf("%s: %s.", r.Name(), f.text)
	f.begin(r)
	began, key, reported := time.Now(), "", ""
	if s.waitFor(ctx, r, func(now *web.Replica) bool {
		key, reported = now.PoolID+"/"+now.ReplicaID, now.Word
		if f.name == overload {
			reported = web.Count(now.Waiting) + " requests wait"
		}
		return f.detected(now)
	}) {
		s.printf("  after %.0f s the exporter reports: %s; its server "+
			"answers: %s.", time.Since(began).Seconds(), reported, s.readiness(ctx, key))
	}
}

// readiness returns what the server itself answers about its readiness.
func (s *story) readiness(ctx context.Context, key string) string {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	ready, known := s.exporter.collector.Readiness(ctx, key)
	switch {
	case !known:
		return "nothing"
	case ready:
		return "ready"
	}
	return "not ready"
}

func (s *story) printf(format string, args ...any) {
	seconds := int(time.Since(s.start).Round(time.Second).Seconds())
	printFolded(s.out, fmt.Sprintf("%d:%02d %s", seconds/60, seconds%60, fmt.Sprintf(format, args...)))
}

// waitFor waits until a replica meets a condition. It returns false if that takes too long.
func (s *story) waitFor(ctx context.Context, r *simulate.Replica, condition func(*web.Replica) bool) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for wait(ctx, pollInterval) {
		for _, now := range s.exporter.server.Fleet().Replicas {
			if now.ReplicaID == r.Name() && condition(&now) {
				return ctx.Err() == nil
			}
		}
	}
	return false
}

// wait waits for d. It returns false if ctx is done before.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

type fault struct {
	// name is the value of the flag, text describes what happens to the replica.
	name, text string
	begin, end func(r *simulate.Replica)
	// over is what ends it, by default that it is over.
	over string
	// lasts is how long it stays after it was detected, by default visibleTime.
	lasts time.Duration
	// pool and replica are the indexes of the replica in which it is injected.
	pool, replica int
	// detected reports whether the exporter reports the fault.
	detected func(r *web.Replica) bool
}

// overload is the name of the fault that shows in the queue but not in the verdict.
const overload = "overload"

// faults returns the faults in the order of the story.
func faults() []fault {
	const factor, downtime = 4, 8 * time.Second
	version := ""
	return []fault{
		{
			name:     "stall",
			pool:     0,
			replica:  1,
			text:     "its executor freezes with requests in flight",
			detected: isBroken,
			lasts:    alertTime,
			begin:    func(r *simulate.Replica) { r.Stall(true) },
			// Otherwise it would work for minutes on what came meanwhile.
			end:  func(r *simulate.Replica) { r.Stall(false); r.Restart(time.Second) },
			over: "it is restarted",
		},
		{
			name:     "stubs",
			pool:     0,
			replica:  2,
			text:     "the processes of its model die, every request fails",
			detected: isBroken,
			lasts:    alertTime,
			begin:    func(r *simulate.Replica) { r.FailRequests(true) },
			end:      func(r *simulate.Replica) { r.FailRequests(false) },
		},
		{
			name:     "version",
			pool:     1,
			replica:  2,
			text:     "it restarts with another version of TensorRT-LLM",
			detected: differs,
			begin:    func(r *simulate.Replica) { version = r.Spec().TRTLLMVersion; r.Rollout(time.Second, "", "1.0.0") },
			end:      func(r *simulate.Replica) { r.Rollout(time.Second, "", version) },
		},
		{
			name: "restart", pool: 1, replica: 0, text: "its process is killed and starts again", detected: isBroken,
			begin: func(r *simulate.Replica) { r.Restart(downtime) }, end: func(*simulate.Replica) {},
		},
		{
			name:     overload,
			pool:     0,
			replica:  0,
			text:     "it gets more requests than it can serve",
			detected: queueIsLong,
			begin:    func(r *simulate.Replica) { r.Overload(factor) },
			end:      func(r *simulate.Replica) { r.Overload(1) },
		},
	}
}

func isBroken(r *web.Replica) bool { return r.Severity == string(assess.Broken) }

// differs reports whether a replica serves again but not as its pool expects.
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
