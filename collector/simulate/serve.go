package simulate

import (
	"net/http"
	"slices"
	"strconv"
	"time"
)

// The generations of trtllm-serve.
const (
	KindServe     Kind = "trtllm-serve"     // Prefixed names, PRs up to 12636 (1.3 rc, April 2026 on).
	KindServeGen2 Kind = "trtllm-serve-pre" // Prefixed names of PR 11243 only (1.3.0rc5).
	KindServeOld  Kind = "trtllm-serve-old" // The five names without prefix (1.1).
	// KindServeDisaggregated is the router for prefill and decode servers.
	KindServeDisaggregated Kind = "trtllm-serve-disaggregated"
)

// generation describes a release of trtllm-serve.
type generation struct {
	version string
	// engine is the label engine_type; empty if it and model_name are "undefined".
	engine string
	write  func(s *serve, p *page)
	// keepsZero counts queue times of 0; latestOnly logs only the last iteration of a
	// batch; blind collects no iterations, and health is always 200.
	keepsZero, latestOnly, blind bool
}

func serveNewest() software {
	g := generation{version: "1.3.0rc14", engine: "pytorch", keepsZero: true, write: (*serve).writeNewest}
	newest := g.software()
	newest.dialects = serveDialects
	return newest
}

func serveFirstPrefixed() software {
	return generation{version: "1.3.0rc5", latestOnly: true, write: func(s *serve, p *page) {
		s.writeKVRates(p)
		s.writeBasics(p, "trtllm_")
		s.writeSuccess(p, "trtllm_")
	}}.software()
}

func serveOld() software {
	return generation{version: "1.1.0", blind: true, write: func(s *serve, p *page) {
		s.writeSuccess(p, "")
		s.writeBasics(p, "")
	}}.software()
}

func serveDisaggregated() software {
	g := generation{version: "1.3.0rc14", blind: true, keepsZero: true, write: (*serve).writeRouter}
	router := g.software()
	router.start = func(w *world) server {
		s, role := newServe(w, g), append([]float64{0.1}, requestTimes().bounds[:20]...)
		s.booked.queue, s.booked.prefill, s.booked.decode = firstTokenTimes(), newHistogram(role...), newHistogram(role...)
		return s
	}
	return router
}

func (g generation) software() software {
	return software{
		path: "/prometheus/metrics", onePort: true, trtllmVersion: g.version, abortsAbandoned: true,
		start: func(w *world) server { return newServe(w, g) },
	}
}

// serve is a trtllm-serve process: a collector, which counts requests when they end, and reads
// iterations for half a second after that.
type serve struct {
	plain
	generation
	pid       string
	collected iterationCounters
	booked    booked
	failures  map[string]uint64 // By HTTP status.
	// The requests that came, of which a router has sent the first token, and that ended in any way.
	asked, answered, completed uint64

	undrained  []iteration // Statistics that were not read yet, newest last.
	drainUntil time.Duration
	tee        []iteration // The answer to GET /metrics.
}

// iterationCounters sums up iterations.
type iterationCounters struct {
	last iteration // Its number is 0 before the first.

	reused, missed, iterReused, iterMissed, genAlloc, completed uint64

	moved     bool // An iteration has moved KV blocks, which sets reuseRate for good.
	reuseRate float64
	batch     *histogram // Context tokens per iteration.
}

// reasonCounts counts finished requests by reason, in order of first use.
type reasonCounts []reasonCount

type reasonCount struct {
	reason string
	n      float64
}

func (c *reasonCounts) add(reason string) {
	i := slices.IndexFunc(*c, func(r reasonCount) bool { return r.reason == reason })
	if i < 0 {
		i, *c = len(*c), append(*c, reasonCount{reason: reason})
	}
	(*c)[i].n++
}

const (
	serveDrain = 500 * time.Millisecond // How long the collector drains after a request has ended.
	serveStats = 1000                   // The default of iter_stats_max_iterations.
)

func newServe(w *world, g generation) *serve {
	return &serve{
		plain: plain{w}, generation: g, failures: map[string]uint64{},
		pid:       strconv.Itoa(1000 + int(mix(w.spec.Seed, "pid")%30000) + w.truth.Epoch*17),
		collected: iterationCounters{batch: newHistogram(64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768)},
		booked: booked{
			zeroWaits: g.keepsZero,
			requestTimings: requestTimings{
				e2e: requestTimes(), queue: requestTimes(), decode: requestTimes(), inference: requestTimes(),
				ttft: firstTokenTimes(), tpot: tokenTimes(),
				prefill: newHistogram(0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80,
					160, 640, 2560),
			},
			requestSizes: requestSizes{cachedEach: newHistogram(0, 64, 128, 256, 512, 1024, 2048, 4096, 8192)},
		},
	}
}

func (s *serve) admit(r *request) bool {
	s.asked++
	return s.plain.admit(r)
}

func (s *serve) started(*request) { s.answered++ }

// failed counts an error of the executor, which clients see as status 500.
func (s *serve) failed(*request) {
	s.failures["500"]++
	s.completed++
	s.wake()
}

// finished counts a request, unless its client has left.
func (s *serve) finished(r *request) {
	s.completed++
	if r.abandoned {
		return
	}
	s.booked.started(r)
	s.booked.finished(r)
	s.wake()
}

// total does not count canceled requests. Iterations were read when the last request ended.
func (s *serve) total(t *Totals) {
	s.booked.total(s.w, t, t.OK)
	s.failures = map[string]uint64{"400": t.Client, "500": t.Failed, "503": t.Overload}
	s.answered = t.OK + t.Canceled
	s.completed = s.answered + t.Failed
	s.asked = s.completed + t.Overload + uint64(t.Arrived)
	if c := &s.collected; t.OK > 0 && s.collects() && !s.w.spec.NoIterationStats {
		c.last = s.w.engine.last
		c.last.queued, c.reused, c.missed = t.Waiting, c.last.kv.reused, c.last.kv.missed
	}
}

// wake lets the collector drain for a while.
func (s *serve) wake() {
	s.drainUntil = s.w.now + serveDrain
	s.collect()
}

func (s *serve) iterated(it *iteration) {
	if s.w.spec.NoIterationStats {
		return
	}
	s.undrained = append(s.undrained, *it)
	if len(s.undrained) > serveStats+1 {
		s.undrained = s.undrained[1:]
	}
	if s.w.now <= s.drainUntil {
		s.collect()
	}
}

// lastIteration returns the last iteration, of the last rank if there are two with their own requests. It
// has no queue, and a half or a quarter of the requests, which move between ranks now and then.
func (s *serve) lastIteration() iteration {
	const often = 20 // Requests.
	it, share := s.collected.last, 4
	if !s.w.spec.AttentionDP {
		return it
	}
	if s.booked.e2e.n%(2*often) < often {
		share = 2
	}
	it.scheduled /= share
	it.active, it.queued = it.scheduled, 0
	it.kvUsed, it.kvFree = it.kvUsed/share, it.kvFree+it.kvUsed-it.kvUsed/share
	return it
}

// collects reports whether a collector reads iterations.
func (s *serve) collects() bool { return !s.blind && !s.w.spec.NoPerfMetrics }

func (s *serve) collect() {
	if !s.collects() {
		return
	}
	if s.latestOnly && len(s.undrained) > 1 {
		s.undrained = s.undrained[len(s.undrained)-1:]
	}
	for i := range s.undrained {
		s.collected.log(&s.undrained[i])
	}
	s.tee = append(s.tee, s.undrained...)
	s.tee = s.tee[max(0, len(s.tee)-serveStats):]
	s.undrained = s.undrained[:0]
}

func (c *iterationCounters) log(it *iteration) {
	// These two are cumulative in the record.
	c.reused += it.kv.reused - c.last.kv.reused
	c.missed += it.kv.missed - c.last.kv.missed
	c.last = *it
	c.iterReused += uint64(it.kv.iterReused)
	c.iterMissed += uint64(it.kv.iterMissed)
	c.genAlloc += uint64(it.kv.iterGenAlloc)
	c.completed += uint64(it.completed)
	if moved := it.kv.iterReused + it.kv.iterMissed; moved > 0 {
		c.moved, c.reuseRate = true, float64(it.kv.iterReused)/float64(moved)
	}
	if it.contextTokens > 0 {
		c.batch.observe(float64(it.contextTokens))
	}
}

func (s *serve) handlers(r *Replica) []http.Handler {
	return r.fastAPI(r.routes(s, map[string]answer{
		"GET /health":    s.health,
		"GET /version":   ok(func() any { return object{"version": s.w.spec.TRTLLMVersion} }),
		"GET /v1/models": ok(func() any { return modelList(s.w.start.Add(s.w.now), "tensorrt_llm", s.w.spec.Model) }),
		"GET /metrics":   ok(s.statistics),
	}), s, s.w.spec.NoPerfMetrics)
}

// health is always 200 in the old server; newer ones query the executor.
func (s *serve) health(*http.Request) (status int, body any) {
	if s.w.failing && !s.blind {
		return http.StatusServiceUnavailable, text{
			plainText,
			[]byte("LLM is unavailable. Please check the server logs for more details."),
		}
	}
	return http.StatusOK, nil
}

// statistics answers GET /metrics with JSON iteration records, each once. A real server
// without a collector first waits for two seconds without an iteration.
func (s *serve) statistics() any {
	if !s.collects() {
		s.tee, s.undrained = s.undrained, nil
	}
	records := []object{}
	for i := range s.tee {
		records = append(records, s.record(&s.tee[i]))
	}
	s.tee = nil
	return records
}

// record returns the fields of the PyTorch backend's JSON that the exporter reads.
func (*serve) record(it *iteration) object {
	return object{
		"iter":                 it.n,
		"specDecodingStats":    nil,
		"numNewActiveRequests": it.newActive,
		"numActiveRequests":    it.active,
		"numQueuedRequests":    it.queued,
		"numCompletedRequests": it.completed,
		"inflightBatchingStats": object{
			"numGenRequests": it.decoding, "numCtxTokens": it.contextTokens, "avgNumDecodedTokensPerIter": 0.0,
		},
	}
}
