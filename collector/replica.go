package collector

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// replica is the state of one target's loop. Its fields belong to the
// goroutine that scrapes, but for facts, which the one that asks publishes.
type replica struct {
	target *target.Target
	pool   *pool
	slot   *snapshot.Slot
	log    *slog.Logger

	url     string
	kind    engine.Kind
	cache   *exposition.Cache
	deriver *derive.Deriver
	known   *identity
	// own is what our series about the replica carry, made with known.
	own  derive.Identity
	used *engine.Facts
	// engine is the replica's kind; seen is what was read of its last page,
	// looks the kind that is guessed from it.
	engine   engine.Engine
	seen     *engine.Page
	looks    engine.Kind
	lore     *lore
	restarts uint64
	status   target.Status
	tally    tally
	health   *health
	about    *about
	// begun is when the loop began.
	begun time.Time
	// past is what derivers counted that were replaced since.
	past derive.Stats
	// doubt is true from a failure on until a page or the server shows again
	// what kind it is; looked is when it was last asked for that.
	doubt  bool
	looked time.Time

	// probed is the last answer of the server's API about its health.
	probed atomic.Pointer[healthAnswer]
	facts  atomic.Pointer[engine.Facts]
	// iterated is what was read of the server's iterations; nil where they are
	// not read.
	iterated atomic.Pointer[iterations]
	// canary are the probes, where they are on.
	canary canary
	// asking is the kind of server that is asked; nil while it is unknown.
	// Turn keeps answers of one kind from being published for another.
	asking atomic.Pointer[engine.Kind]
	turn   sync.Mutex
	// traits are what is compared within the pool; nil while the page fails.
	traits atomic.Pointer[traits]
	// ask wakes the asking goroutine before its time, recheck has it ask about
	// health alone; rounds counts its slow rounds and probes its questions about
	// health, and told hears of the end of each that was waked. A doubtful
	// replica may have started anew since its last answers.
	ask, recheck   chan struct{}
	told           chan struct{}
	rounds, probes struct{ begun, ended atomic.Uint64 }
	doubtful       atomic.Bool
}

// newReplica prepares a target for its loop.
func newReplica(t *target.Target, p *pool, slot *snapshot.Slot, log *slog.Logger) *replica {
	r := &replica{
		target: t, pool: p, slot: slot,
		log:    log.With("pool_id", t.PoolID, "replica_id", t.ReplicaID),
		health: newHealth(t),
		about:  &about{},
		begun:  time.Now(),
		status: target.Status{Health: target.HealthUnknown},
		tally:  tally{failures: make(map[scrape.Reason]uint64)},
		ask:    make(chan struct{}, 1), recheck: make(chan struct{}, 1),
		told:  make(chan struct{}, 1),
		kind:  engine.Unknown,
		looks: engine.Unknown,
	}
	r.reset()
	if _, ok := engine.Of(t.Engine); ok {
		r.become(engine.Kind(t.Engine))
	}
	return r
}

// reset makes cache and deriver for the replica's kind of server.
func (r *replica) reset() {
	e, ok := engine.Of(string(r.kind))
	if !ok {
		e = engine.None()
	}
	r.known, r.engine, r.seen, r.lore = nil, e, nil, nil
	r.past = r.stats()
	r.deriver = derive.NewDeriver(derive.Options{
		Guard:  func(do func()) error { return r.guard("derive", do) },
		Window: r.pool.window, Interval: r.target.Interval, Engine: e,
		StallAfter: time.Duration(r.pool.cfg.StallAfter),
		Aliases:    r.pool.page.Aliases, AliasesOnly: !r.pool.page.Normalised,
	})
	r.cache = exposition.NewCache(exposition.Options{
		Watch:      engine.Watch(e),
		Limits:     r.pool.cfg.Limits.Series,
		Reserved:   []string{OwnPrefix, derive.Prefix},
		SelfMarker: r.pool.marker,
	})
}

// stats is what was counted of the replica's windows since the loop began.
func (r *replica) stats() derive.Stats {
	s := r.past
	if r.deriver != nil {
		s.Add(r.deriver.Stats())
	}
	return s
}

// locate finds out where the page of the replica stands, and what kind of
// server shows it, unless the target says so.
func (r *replica) locate(ctx context.Context) error {
	if r.url != "" {
		return nil
	}
	u, err := url.Parse(r.target.MetricsURL)
	if err != nil {
		return &scrape.Error{Reason: scrape.ReasonProtocol, Err: err}
	}
	if !pathless(u) {
		if r.kind == engine.Unknown {
			r.become(engine.FromURL(u.Path))
		}
		r.url = u.String()
		return nil
	}
	u.Path = ""
	if e, ok := engine.Of(string(r.kind)); ok {
		r.url = u.String() + e.MetricsPath()
		return nil
	}
	kind, path := engine.Detect(ctx, r.pool.client, u.String())
	if kind == engine.Unknown {
		// The page's own failure says best what is wrong.
		page, err := r.pool.client.Scrape(ctx, u.String()+"/metrics", nil)
		switch {
		case err == nil && bytes.Contains(page.Body, []byte(r.pool.marker)):
			err = failure(exposition.ErrSelfScrape)
		case err == nil:
			err = &scrape.Error{Reason: scrape.ReasonEmpty, Err: fmt.Errorf("no page of a known server at %s: set engine and metrics_path", u.Redacted())}
		}
		if hint := engine.Hint(ctx, r.pool.client, u.String()); hint != "" {
			err = &scrape.Error{Reason: scrape.ReasonOf(err), Err: fmt.Errorf("%w; %s", err, hint)}
		}
		return err
	}
	r.become(kind)
	r.url = u.String() + path
	return nil
}

// recognise settles the kind of a server whose page has a path of the
// operator's by what is on the page, and sees when the page is of another kind
// than is configured. A page that is new, or back after a fault, is looked at.
func (r *replica) recognise(ctx context.Context, body []byte) {
	if r.kind != engine.Unknown && r.status.Health == target.HealthUp {
		return
	}
	looks := engine.FromPage(body)
	if looks == engine.Unknown {
		return
	}
	if r.target.Engine == EngineAuto && !engine.Alike(r.kind, looks) {
		if u, err := url.Parse(r.url); err == nil {
			looks = engine.Recognise(ctx, r.pool.client, u.Scheme+"://"+u.Host, body)
		}
		r.become(looks)
	}
	r.looks = looks
}

// become takes a kind of server for the replica's.
func (r *replica) become(kind engine.Kind) {
	if kind == r.kind {
		return
	}
	r.kind = kind
	r.reset()
	r.turn.Lock()
	r.asking.Store(&kind)
	r.facts.Store(nil)
	r.probed.Store(nil)
	r.turn.Unlock()
	r.wake()
	r.log.Debug("Server recognised", "engine", string(kind))
}

// identify brings the labels up to date with what is known now; true when
// they changed.
func (r *replica) identify(page *engine.Page) bool {
	facts := r.facts.Load()
	if r.known != nil && facts == r.used && page == r.seen {
		return false
	}
	// What is used is what was loaded here: answers that come meanwhile are
	// for the next scrape.
	r.used = facts
	if facts == nil {
		facts = &engine.Facts{}
	}
	id := identify(r.target, r.engine, facts, page.ModelNames(), r.pool.cfg.ModelIDs)
	if id.equal(r.known) {
		return false
	}
	r.known = id
	r.status.DetectedEngine = string(id.kind)
	if r.disagreement() != "" {
		r.status.DetectedEngine = string(r.looks)
	}
	r.status.EngineVersion, r.status.TRTLLMVersion = id.engineVersion, id.trtllmVersion
	r.status.VersionSource = string(id.source)
	r.cache.Relabel(id.labeler(r.target, r.pool))
	r.own = id.derived(r.target, r.pool)
	r.deriver.Identify(r.own)
	return true
}

// scrape does one scrape from start to published snapshot. A failure takes
// the replica's series off the page at once; only those about its health stay.
// A scrape that is given up because the loop ends publishes nothing, so that
// the page stays as it is until the loop that comes next has scraped.
func (r *replica) scrape(life context.Context) {
	ctx, cancel := context.WithTimeout(life, r.target.Timeout)
	defer cancel()
	start := time.Now()
	var got taken
	var err error
	if p := r.guard("scrape", func() { got, err = r.page(ctx) }); p != nil {
		r.reset()
		got, err = taken{}, p
	}
	if err != nil && life.Err() != nil {
		return
	}
	r.refused(ctx, err)
	before := r.status
	r.slot.Update(func() snapshot.Snapshot { return r.finish(start, got, err) })
	r.announce(&before)
}

// guard does one step for the replica and keeps a panic there from ending the
// process; the panic comes back as the failure of that step.
func (r *replica) guard(step string, do func()) (failed error) {
	defer func() {
		if p := recover(); p != nil {
			r.log.Error("Step panicked", "step", step, "panic", p, "stack", string(debug.Stack()))
			r.pool.panics.Inc()
			failed = &scrape.Error{Reason: scrape.ReasonPanic, Err: fmt.Errorf("panic: %v", p)}
		}
	}()
	do()
	return nil
}

// report notes how a scrape went.
func (r *replica) report(start time.Time, err error) {
	s := &r.status
	s.LastScrape, s.LastDuration = start, time.Since(start)
	s.Scrapes++
	if err == nil {
		s.Health, s.LastSuccess, s.LastError, s.LastReason = target.HealthUp, time.Now(), "", ""
		if n := r.stats().Restarts; n != r.restarts {
			r.restarts = n
			r.doubtful.Store(true)
			r.wake()
		}
		return
	}
	reason := scrape.ReasonOf(err)
	s.Failures++
	s.Samples = 0
	r.doubt = true
	if reason == scrape.ReasonBodyTooLarge {
		s.BodyBytes = -1
	}
	r.tally.failures[reason]++
	s.Health, s.LastError, s.LastReason = target.HealthDown, err.Error(), string(reason)
	if r.target.Engine == EngineAuto && r.status.LastSuccess.IsZero() {
		// Nothing good was ever seen there: look anew next time.
		r.url = ""
	}
}

// announce logs what a scrape changed, when it is published: nobody waits for the
// log.
func (r *replica) announce(before *target.Status) {
	s := &r.status
	switch {
	case s.Health == target.HealthUp && before.Health != target.HealthUp:
		r.log.Info("Target is up", "url", r.url, "engine", string(r.kind), "samples", s.Samples)
	case s.Health == target.HealthDown && (before.Health != target.HealthDown || before.LastReason != s.LastReason):
		r.log.Warn("Target is down", "url", r.url, "reason", s.LastReason, "err", s.LastError)
	}
	if s.State != before.State {
		r.log.Info("Replica changed state", "state", s.State, "was", before.State, "reason", s.StateReason)
	}
}

// wake has the slow questions asked again soon.
func (r *replica) wake() {
	select {
	case r.ask <- struct{}{}:
	default:
	}
}
