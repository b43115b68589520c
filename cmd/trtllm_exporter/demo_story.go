package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
	"github.com/trtllm-exporter/trtllm_exporter/collector/web"
)

// The times of the story. Each fault stays visible for a while after it is detected, and the
// next one waits until everything is healthy.
const (
	healthyTime  = 30 * time.Second
	faultDelay   = 3 * time.Second
	visibleTime  = 10 * time.Second
	pauseTime    = 10 * time.Second
	patience     = 60 * time.Second
	pollInterval = 200 * time.Millisecond
)

// story injects faults, and prints what happened and what the exporter reports.
type story struct {
	pools    []simulate.Pool
	exporter *exporter
	out      io.Writer
	start    time.Time
}

func newStory(fleet *simulate.Fleet, e *exporter, out io.Writer) *story {
	return &story{pools: fleet.Pools(), exporter: e, out: out, start: time.Now()}
}

// victim returns the replica that a fault happens to; a small fleet has only one pool.
func (s *story) victim(f *fault) *simulate.Replica {
	replicas := s.pools[f.pool].Replicas
	if len(replicas) == 0 {
		replicas = s.pools[0].Replicas
	}
	return replicas[f.replica%len(replicas)]
}

// tell injects the named faults and leaves them, or without names all in turn until ctx ends.
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
		wait(ctx, visibleTime)
		f.end(r)
		if s.waitFor(ctx, r, func(now *web.Replica) bool { return now.Severity == string(assess.OK) && !queueIsLong(now) }) {
			s.printf("%s recovered.", r.Name())
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
		s.printf("  after %.0f s the exporter reports: %s; its server answers: %s.", time.Since(began).Seconds(), reported, s.readiness(ctx, key))
	}
}

// readiness returns the server's own answer to whether it is ready.
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

// waitFor waits until a replica meets a condition; false when it does not in time.
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

// wait waits for a duration; false when ctx ends before.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
