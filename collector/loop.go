package collector

import (
	"context"
	"hash/fnv"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// firstAnswerWait is how long the first page of a replica, or the first after
// a fault, waits for answers about its identity, so that its series need not
// change their labels one scrape later. Others never wait.
const firstAnswerWait = time.Second

// soon bounds how long a new target waits for its first scrape.
const soon = time.Second

// run scrapes the replica on its own clock until ctx ends. Scrapes start at
// fixed moments, a hash of the replica apart from other replicas'; one that is
// still under way at the next moment lets that moment pass.
func (r *replica) run(ctx context.Context) {
	if r.target.Silent {
		r.rest(ctx)
		return
	}
	defer r.leave()
	var asking sync.WaitGroup
	asking.Go(func() { r.runAsk(ctx) })
	if r.pool.cfg.IterationStats {
		asking.Go(func() { r.runIterations(ctx) })
	}
	defer asking.Wait()

	phase := offset(r.target.Key(), r.target.Interval)
	timer := time.NewTimer(offset(r.target.Key(), min(r.target.Interval, soon)))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		r.scrape(ctx)
		wait, missed := r.next(phase)
		r.tally.skipped += missed
		timer.Reset(wait)
	}
}

// first lets the first good scrape, and the first after a fault, wait for a
// round of answers that began after the page did: the server may be another.
func (r *replica) first(ctx context.Context) {
	if r.status.Health == target.HealthUp || r.kind == engine.Unknown {
		return
	}
	if !r.status.LastSuccess.IsZero() {
		r.doubtful.Store(true)
	}
	want := r.rounds.begun.Load() + 1
	r.wake()
	timer := time.NewTimer(min(firstAnswerWait, r.target.Timeout/2))
	defer timer.Stop()
	for r.rounds.ended.Load() < want {
		select {
		case <-r.told:
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// next is how long it is to the replica's next moment, and how many moments
// have passed since the last scrape began.
func (r *replica) next(phase time.Duration) (wait time.Duration, missed uint64) {
	interval := r.target.Interval
	now := time.Since(r.pool.origin)
	began := r.status.LastScrape.Sub(r.pool.origin)
	slot := func(t time.Duration) int64 { return int64((t - phase + interval) / interval) }
	wait = phase + time.Duration(slot(now))*interval - now
	if r.status.Scrapes > 1 {
		missed = uint64(max(slot(now)-slot(began), 0))
	}
	return wait, missed
}

// offset spreads targets over a period by a hash of their keys.
func offset(key string, period time.Duration) time.Duration {
	if period <= 0 {
		return 0
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(key))
	return time.Duration(h.Sum64() % uint64(period))
}

// probe is one answer about health, and how long it took.
type probe struct {
	engine.Health

	// answered is true when the API answered this time or before.
	answered bool
	took     time.Duration
}

// runAsk asks the server's API on tickers of their own, never in a scrape's
// way: about its health once an interval, and the slow questions of identity
// at their interval and at once when the replica was recognised or came back.
func (r *replica) runAsk(ctx context.Context) {
	slow := time.NewTicker(time.Duration(r.pool.cfg.IdentityInterval))
	defer slow.Stop()
	health := time.NewTicker(r.target.Interval)
	defer health.Stop()
	unanswered := 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-health.C:
			_ = r.guard("health", func() { r.probe(ctx) })
			continue
		case <-r.ask:
		case <-slow.C:
		}
		n := r.rounds.begun.Add(1)
		_ = r.guard("health", func() { r.probe(ctx) })
		_ = r.guard("identity", func() { unanswered = r.question(ctx, unanswered) })
		r.rounds.ended.Store(n)
		select {
		case r.told <- struct{}{}:
		default:
		}
	}
}

// api is whom to ask and where; false while the server is not recognised or
// has no API that is known.
func (r *replica) api() (kind *engine.Kind, e engine.Engine, base string, ok bool) {
	kind = r.asking.Load()
	if kind == nil {
		return nil, nil, "", false
	}
	e, ok = engine.Of(string(*kind))
	if !ok {
		return nil, nil, "", false
	}
	base = r.apiURL(e)
	return kind, e, base, base != ""
}

// publish hands an answer on, unless it is that of a server of another kind
// than the one that stands there now.
func (r *replica) publish(kind *engine.Kind, answer func()) {
	r.turn.Lock()
	defer r.turn.Unlock()
	if r.asking.Load() == kind {
		answer()
	}
}

// probe asks about health once. No answer in time is an answer as well.
func (r *replica) probe(life context.Context) {
	kind, e, base, ok := r.api()
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(life, r.target.Timeout)
	defer cancel()
	start := time.Now()
	h := e.Health(ctx, r.asker(base), base)
	if life.Err() != nil {
		return
	}
	r.publish(kind, func() {
		before := r.probed.Load()
		seen := h.Status != 0 || before != nil && before.answered
		if h.API == engine.APIRefused && !seen {
			h.Detail = "it was not found at " + base + "; set api_port"
		}
		r.probed.Store(&probe{Health: h, answered: seen, took: time.Since(start)})
	})
}

// keepRounds is for how many rounds without an answer the version of a server
// is kept that may have started anew: the next one may be another.
const keepRounds = 10

// question asks one round and publishes what was answered. It takes and gives
// how many rounds went unanswered since the server may have started anew.
func (r *replica) question(life context.Context, unanswered int) int {
	kind, e, base, ok := r.api()
	if !ok {
		return unanswered
	}
	ctx, cancel := context.WithTimeout(life, r.target.Timeout)
	defer cancel()
	facts := e.Ask(ctx, r.asker(base), base)
	facts.BuildVersion = buildVersion(r.pool.cfg.EngineDir)
	if life.Err() != nil {
		return unanswered
	}
	r.publish(kind, func() {
		before := r.facts.Load()
		unanswered++
		if facts.EngineVersion != "" || !r.doubtful.Load() {
			unanswered = 0
			r.doubtful.Store(false)
		}
		if unanswered > keepRounds {
			before = nil
		}
		if next := facts.Over(before); !next.Equal(r.facts.Load()) {
			r.facts.Store(next)
		}
	})
	return unanswered
}

// asker puts the questions to an API. To one that has a port of its own no
// connection is kept: a server that ends might wait for it and speak on over it
// as if it did not. One that shares the page's port shares its connections.
func (r *replica) asker(base string) engine.Asker {
	page, err := url.Parse(r.target.MetricsURL)
	if err == nil && base == page.Scheme+"://"+page.Host {
		return r.pool.client
	}
	return passing{r.pool.client}
}

// apiURL is the base of the server's own API.
func (r *replica) apiURL(e engine.Engine) string {
	if r.target.APIURL != "" {
		return r.target.APIURL
	}
	u, err := url.Parse(r.target.MetricsURL)
	if err != nil {
		return ""
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		port = map[string]int{"http": 80, "https": 443}[u.Scheme]
	}
	return r.pool.cfg.apiAt(e, u, port)
}
