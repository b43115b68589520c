package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
	"github.com/trtllm-exporter/trtllm_exporter/collector/web"
)

// Timing of the story. The next fault waits until everything is healthy. Each stays after it was detected
// until the alert about it fires, where Prometheus scrapes and evaluates rules every 15 s: LLMReplicaBroken
// and the burn of an objective after two minutes, LLMPoolSaturated after nine, LLMExpectationMismatch after ten.
const (
	healthyTime   = 30 * time.Second
	faultDelay    = 3 * time.Second
	brokenTime    = 170 * time.Second
	saturatedTime = 10*time.Minute + 30*time.Second
	mismatchTime  = 11 * time.Minute
	pauseTime     = 10 * time.Second
	patience      = 60 * time.Second
	answerTime    = 10 * time.Second
	pollInterval  = 200 * time.Millisecond
)

// story injects faults and prints what happened and what the exporter reports.
type story struct {
	pools    []simulate.Pool
	exporter *exporter
	out      io.Writer
	start    time.Time
	// stays is true if faults do not end, so that it waits for what the exporter reports however busy the machine.
	stays bool
}

// victims returns the replica in which a fault is injected, or all of its pool, that one first; none if the
// fleet has no such pool. A small fleet has only one pool.
func (s *story) victims(f *fault) []*simulate.Replica {
	var pools []simulate.Pool
	for _, p := range s.pools {
		if shareWork(p) == f.staged {
			pools = append(pools, p)
		}
	}
	if len(pools) == 0 {
		return nil
	}
	replicas := pools[f.pool%len(pools)].Replicas
	first := f.replica % len(replicas)
	if f.everywhere {
		return slices.Concat(replicas[first:], replicas[:first])
	}
	return replicas[first : first+1]
}

// shareWork reports whether the servers of a pool are parts of a way of requests.
func shareWork(p simulate.Pool) bool {
	return slices.ContainsFunc(p.Replicas, func(r *simulate.Replica) bool { return r.Spec().Stage != "" })
}

// tell injects the named faults permanently, or without names all faults in turn until ctx is
// done.
func (s *story) tell(ctx context.Context, names []string) {
	if len(names) > 0 {
		s.stays = true
		wait(ctx, faultDelay)
		for _, name := range names {
			if ctx.Err() == nil {
				s.inject(ctx, faultNamed(name)) //nolint:contextcheck // A port opens again at its own time.
			}
		}
		return
	}
	if !wait(ctx, healthyTime) {
		return
	}
	//nolint:contextcheck // As above.
	all := slices.DeleteFunc(faults(), func(f fault) bool { return len(s.victims(&f)) == 0 })
	for i := 0; ctx.Err() == nil; i++ {
		f := &all[i%len(all)]
		for range max(f.times, 1) {
			s.inject(ctx, f)
			wait(ctx, f.lasts)
			s.end(ctx, f)
			wait(ctx, pauseTime)
		}
	}
}

func (s *story) inject(ctx context.Context, f *fault) {
	victims := s.victims(f)
	s.printf("%s: %s.", victims[0].Name(), f.text)
	for _, r := range victims {
		f.begin(r)
	}
	began, key, reported := time.Now(), "", ""
	if s.waitFor(ctx, victims, func(now *web.Replica) bool {
		key, reported = now.PoolID+"/"+now.ReplicaID, now.Word
		if f.name == overload || f.staged {
			reported = web.Count(now.Waiting) + " requests wait"
		}
		return f.detected(now)
	}) {
		s.printf("  after %.0f s the exporter reports: %s; its server "+
			"answers: %s.", time.Since(began).Seconds(), reported, s.readiness(ctx, key))
	}
}

// end ends a fault, and tells when requests really end well again, beside when the exporter says so.
func (s *story) end(ctx context.Context, f *fault) {
	victims := s.victims(f)
	before := victims[0].Truth()
	for _, r := range victims {
		f.end(r)
	}
	s.printf("%s: %s.", victims[0].Name(), cmp.Or(f.over, "that is over"))
	over := time.Now()
	if !recovered(ctx, victims[0], before) {
		return
	}
	truth := time.Since(over)
	serves := func(now *web.Replica) bool { return now.State == string(assess.Ready) && !isBroken(now) }
	if !s.waitFor(ctx, victims[:1], serves) {
		return
	}
	seen := time.Since(over)
	isWell := func(now *web.Replica) bool { return now.Severity == string(assess.OK) && !queueIsLong(now) }
	if s.waitFor(ctx, victims[:1], isWell) {
		s.printf("  after %.0f s its requests end well; after %.0f s the exporter reports that it serves, after %.0f s "+
			"that nothing is wrong.", truth.Seconds(), seen.Seconds(), time.Since(over).Seconds())
	}
}

// recovered waits until a request ends well in the simulated server and few wait, by its own account. It
// returns false if that takes too long.
func recovered(ctx context.Context, r *simulate.Replica, before simulate.Truth) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for wait(ctx, pollInterval) {
		now := r.Truth()
		if now.Epoch != before.Epoch {
			before.Finished = 0 // It counts from its start.
		}
		if now.Phase == simulate.PhaseServing && now.Finished > before.Finished && now.Queued < longQueue {
			return true
		}
	}
	return false
}

// readiness returns what the server itself answers about its readiness.
func (s *story) readiness(ctx context.Context, key string) string {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
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

// waitFor waits until replicas meet a condition at the same time, the first one last. It returns false if
// that takes too long.
func (s *story) waitFor(ctx context.Context, all []*simulate.Replica, condition func(*web.Replica) bool) bool {
	if !s.stays {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
	}
	for wait(ctx, pollInterval) {
		if shown := s.exporter.server.Fleet().Replicas; meets(shown, all, condition) {
			return ctx.Err() == nil
		}
	}
	return false
}

// meets reports whether all replicas meet a condition, by what the exporter shows.
func meets(shown []web.Replica, all []*simulate.Replica, condition func(*web.Replica) bool) bool {
	for _, r := range slices.Backward(all) {
		i := slices.IndexFunc(shown, func(now web.Replica) bool { return now.ReplicaID == r.Name() })
		if i < 0 || !condition(&shown[i]) {
			return false
		}
	}
	return true
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
	// lasts is how long it stays after it was detected.
	lasts time.Duration
	// times is how often it happens in turn, by default once.
	times int
	// pool and replica are the indexes of the replica in which it is injected.
	pool, replica int
	// everywhere injects it in the other replicas of the pool as well.
	everywhere bool
	// staged injects it in the pools whose servers share the work, else in the others.
	staged bool
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
			name:     "link",
			staged:   true,
			replica:  2, // The first that only decodes.
			text:     "KV caches come slowly from the servers that prefill, and some not at all",
			detected: queueIsLong,
			lasts:    brokenTime,
			begin:    func(r *simulate.Replica) { r.SlowLink(true) },
			end:      func(r *simulate.Replica) { r.SlowLink(false); r.Restart(time.Second) },
			over:     "its link is repaired, and it is restarted",
		},
		{
			name:     "stall",
			pool:     0,
			replica:  1,
			text:     "its executor freezes with requests in flight",
			detected: answersInVain,
			lasts:    brokenTime,
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
			detected: answersInVain,
			lasts:    brokenTime,
			begin:    func(r *simulate.Replica) { r.FailRequests(true) },
			end:      func(r *simulate.Replica) { r.FailRequests(false) },
		},
		{
			name:     "restart",
			pool:     1,
			replica:  0,
			text:     "its process is killed and starts again",
			detected: isBroken,
			lasts:    time.Second,
			times:    3, // LLMReplicaRestarts.
			begin:    func(r *simulate.Replica) { r.Restart(downtime) },
			end:      func(*simulate.Replica) {},
			over:     "it is starting",
		},
		{
			name:       overload,
			pool:       0,
			replica:    0,
			everywhere: true,
			text:       "it and its pool get more requests than they can serve",
			detected:   queueIsLong,
			lasts:      saturatedTime,
			begin:      func(r *simulate.Replica) { r.Overload(factor) },
			end:        func(r *simulate.Replica) { r.Overload(1); r.Restart(time.Second) },
			over:       "clients send less, and its pool is restarted",
		},
		{
			name:     "version",
			pool:     1,
			replica:  2,
			text:     "it restarts with another version of TensorRT-LLM",
			detected: differs,
			lasts:    mismatchTime,
			begin:    func(r *simulate.Replica) { version = r.Spec().TRTLLMVersion; r.Rollout(time.Second, "", "1.0.0") },
			end:      func(r *simulate.Replica) { r.Rollout(time.Second, "", version) },
			over:     "it restarts with the version of its pool",
		},
	}
}

func isBroken(r *web.Replica) bool { return r.Severity == string(assess.Broken) }

// answersInVain reports whether a replica is broken whose server answers. On a busy machine it may be down for a
// moment, whatever the fault.
func answersInVain(r *web.Replica) bool { return isBroken(r) && r.State != string(assess.Down) }

// differs reports whether a replica serves again but not as its pool expects.
func differs(r *web.Replica) bool {
	return r.Severity == string(assess.Look) && r.State == string(assess.Ready)
}

// longQueue is how many waiting requests are told.
const longQueue = 10

func queueIsLong(r *web.Replica) bool { return r.Waiting != nil && *r.Waiting >= longQueue }

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
