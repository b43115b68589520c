package main

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
	"github.com/trtllm-exporter/trtllm_exporter/collector/web"
)

// The times of the story. A fault is shown for a while after it is seen, so that
// somebody can look, and the next one waits until all is well.
const (
	quietTime  = 30 * time.Second
	firstFault = 3 * time.Second
	holdTime   = 10 * time.Second
	restTime   = 10 * time.Second
	patience   = 60 * time.Second
	lookEvery  = 200 * time.Millisecond
	// manyWait is how many requests wait where too many come.
	manyWait = 10
)

// story lets things go wrong, one after the other, and says in one line each what
// happened, and in one what was seen of it.
type story struct {
	pools    []simulate.Pool
	exporter *exporter
	screen   *screen
	flags    *demoFlags
	began    time.Time
}

func newStory(fleet *simulate.Fleet, e *exporter, s *screen, flags *demoFlags) *story {
	return &story{pools: fleet.Pools(), exporter: e, screen: s, flags: flags, began: time.Now()}
}

// of is the replica that a fault happens to; a small fleet has one pool only.
func (s *story) of(f *fault) *simulate.Replica {
	all := s.pools[f.pool].Replicas
	if len(all) == 0 {
		all = s.pools[0].Replicas
	}
	return all[f.replica%len(all)]
}

// tell goes on until ctx ends.
func (s *story) tell(ctx context.Context) {
	if len(s.flags.faults) > 0 {
		wait(ctx, firstFault)
		for _, name := range s.flags.faults {
			f := faultOf(name) //nolint:contextcheck // A port opens again at its own time.
			if ctx.Err() == nil {
				s.happen(ctx, f, s.of(f))
			}
		}
		return
	}
	if !wait(ctx, quietTime) {
		return
	}
	all := faults() //nolint:contextcheck // As above.
	for i := 0; ctx.Err() == nil; i++ {
		f := &all[i%len(all)]
		r := s.of(f)
		s.happen(ctx, f, r)
		wait(ctx, holdTime)
		f.end(r)
		if s.until(ctx, r, func(now *web.Replica) bool { return now.Severity == string(assess.OK) && !tooMany(now) }) {
			s.say("%s recovered.", r.Name())
		}
		wait(ctx, restTime)
	}
}

// happen lets something go wrong with a replica, and says when it is seen.
func (s *story) happen(ctx context.Context, f *fault, r *simulate.Replica) {
	s.say("%s: %s.", r.Name(), f.what)
	f.begin(r)
	began := time.Now()
	said := ""
	found := s.until(ctx, r, func(now *web.Replica) bool {
		said = now.Word
		switch {
		case f.waits:
			said = web.Count(now.Waiting) + " requests wait"
			return tooMany(now)
		case f.differs:
			return now.Severity == string(assess.Look) && now.State == string(assess.Ready)
		}
		return now.Severity == string(assess.Broken)
	})
	if found {
		s.say("  after %.0f s the exporter: %s; its readiness: %s.", time.Since(began).Seconds(), said, readinessOf(ctx, r))
	}
}

// say writes a line with the time since the start.
func (s *story) say(format string, args ...any) {
	since := time.Since(s.began).Round(time.Second)
	s.screen.say(fmt.Sprintf("%d:%02d %s", int(since.Minutes()), int(since.Seconds())%60, fmt.Sprintf(format, args...)))
}

// until waits until a replica is as wanted; false when it does not become so in time.
func (s *story) until(ctx context.Context, r *simulate.Replica, wanted func(*web.Replica) bool) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for wait(ctx, lookEvery) {
		for _, now := range s.exporter.server.Fleet().Replicas {
			if now.ReplicaID == r.Name() && wanted(&now) {
				return ctx.Err() == nil
			}
		}
	}
	return false
}

// tooMany reports whether a replica lets many requests wait.
func tooMany(r *web.Replica) bool { return r.Waiting != nil && *r.Waiting >= manyWait }

// readinessOf is what a server says of itself, under the path that it has.
func readinessOf(ctx context.Context, r *simulate.Replica) string {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 2 * time.Second}
	for _, path := range []string{"/v2/health/ready", "/health"} {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.APIURL()+path, http.NoBody)
		if err != nil {
			return "refused"
		}
		response, err := client.Do(request)
		if err != nil {
			return "refused"
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusNotFound {
			return strconv.Itoa(response.StatusCode)
		}
	}
	return "nothing"
}

// wait waits; false when ctx ends before.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
