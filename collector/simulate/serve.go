package simulate

import (
	"strconv"
	"time"
)

// serve is a simulated trtllm-serve process: the metrics collector, which books
// requests when they end, and the iteration statistics, which are drained only
// for half a second after a request ends.
type serve struct {
	plain
	pid       string
	logged    bool // Some iteration was seen.
	last      iteration
	moved     bool // Some iteration moved KV blocks; then reuseRate is set and stays.
	reuseRate float64

	success                                map[string]uint64
	reasons                                []string // In order of first use.
	e2e, ttft, tpot, queue                 *histogram
	prefill, decode, inference, cachedEach *histogram
	prompt, generation, cached             uint64

	undrained  []iteration // Statistics nobody has taken yet, newest last.
	drainUntil time.Duration
	counters   serveCounters
	batch      *histogram // Context tokens per iteration.

	tee []iteration // What GET /metrics hands out.
}

// serveCounters are the counters derived from iterations.
type serveCounters struct {
	reused, missed, iterReused, iterMissed, genAlloc, completed uint64
}

const (
	// The collector drains for so long after a request has ended.
	serveDrain = 500 * time.Millisecond
	// This is iter_stats_max_iterations' default.
	serveStats = 1000
)

// latencyBounds are the buckets of E2E, queue, decode and inference times.
func latencyBounds() []float64 {
	return []float64{0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680}
}

func ttftBounds() []float64 {
	return []float64{
		0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560,
	}
}

func tpotBounds() []float64 {
	return []float64{0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80}
}

func newServe(w *world) *serve {
	return &serve{
		plain:      plain{w},
		pid:        strconv.Itoa(1000 + int(mix(w.spec.Seed, "pid")%30000) + w.truth.Epoch*17),
		success:    map[string]uint64{},
		e2e:        newHistogram(latencyBounds()...),
		ttft:       newHistogram(ttftBounds()...),
		tpot:       newHistogram(tpotBounds()...),
		queue:      newHistogram(latencyBounds()...),
		prefill:    newHistogram(0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 640, 2560),
		decode:     newHistogram(latencyBounds()...),
		inference:  newHistogram(latencyBounds()...),
		cachedEach: newHistogram(0, 64, 128, 256, 512, 1024, 2048, 4096, 8192),
		batch:      newHistogram(64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768),
	}
}

func (*serve) started(*request)  {}
func (s *serve) failed(*request) { s.wake() }

// finished books a request at its end; one whose client has left, or whose
// stream never ended, is never booked.
func (s *serve) finished(r *request) {
	if r.abandoned || r.stuck {
		return
	}
	if s.success[r.reason] == 0 {
		s.reasons = append(s.reasons, r.reason)
	}
	s.success[r.reason]++
	l := latencyOf(r)
	nonZero := func(h *histogram, d time.Duration) {
		if d > 0 {
			h.observe(d.Seconds())
		}
	}
	nonZero(s.e2e, l.E2E)
	nonZero(s.ttft, l.TTFT)
	nonZero(s.tpot, l.TPOT)
	// The older generations drop queue times of 0, the newest keeps them.
	if l.Queue > 0 || s.w.spec.Kind == KindServe {
		s.queue.observe(l.Queue.Seconds())
	}
	nonZero(s.prefill, r.firstToken-r.scheduled)
	nonZero(s.decode, r.lastToken-r.firstToken)
	nonZero(s.inference, r.lastToken-r.scheduled)
	s.prompt += uint64(r.prompt)
	s.generation += uint64(r.generated)
	s.cached += uint64(r.cached)
	s.cachedEach.observe(float64(r.cached))
	s.wake()
}

// wake lets the collector drain what has piled up, and go on for a while.
func (s *serve) wake() {
	s.drainUntil = s.w.now + serveDrain
	s.drain()
}

func (s *serve) iterated(it *iteration) {
	if s.w.spec.NoIterationStats {
		return
	}
	s.undrained = append(s.undrained, *it)
	if len(s.undrained) > serveStats+1 {
		s.undrained = s.undrained[1:]
	}
	if s.collects() && s.w.now <= s.drainUntil {
		s.drain()
	}
}

// collects says that this generation has a collector that reads iterations.
func (s *serve) collects() bool {
	return s.w.spec.Kind != KindServeOld && !s.w.spec.NoPerfMetrics
}

func (s *serve) drain() {
	if !s.collects() {
		return
	}
	if s.w.spec.Kind == KindServeGen2 && len(s.undrained) > 1 {
		// That generation logs only the latest of a batch.
		s.undrained = s.undrained[len(s.undrained)-1:]
	}
	for i := range s.undrained {
		s.log(&s.undrained[i])
	}
	s.tee = append(s.tee, s.undrained...)
	s.tee = s.tee[max(0, len(s.tee)-serveStats):]
	s.undrained = s.undrained[:0]
}

func (s *serve) log(it *iteration) {
	c := &s.counters
	// These two are cumulative in the record; the collector adds their growth.
	c.reused += it.kv.reused - s.last.kv.reused
	c.missed += it.kv.missed - s.last.kv.missed
	s.logged, s.last = true, *it
	c.iterReused += uint64(it.kv.iterReused)
	c.iterMissed += uint64(it.kv.iterMissed)
	c.genAlloc += uint64(it.kv.iterGenAlloc)
	c.completed += uint64(it.completed)
	if moved := it.kv.iterReused + it.kv.iterMissed; moved > 0 {
		s.moved, s.reuseRate = true, float64(it.kv.iterReused)/float64(moved)
	}
	if it.contextTokens > 0 {
		s.batch.observe(float64(it.contextTokens))
	}
}
