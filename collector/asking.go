package collector

import (
	"context"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// healthAnswer is one answer about health, and how long it took.
type healthAnswer struct {
	engine.Health

	// answered is true when the API answered this time or before.
	answered bool
	// lived is true when it said this time or before that the server is live.
	lived bool
	took  time.Duration
}

// runAsk asks the server's API on tickers of their own, never in a scrape's
// way: about its health once an interval and when the page begins to refuse, and
// the slow questions of identity at their interval and at once when the replica
// was recognised or came back. One question about health is under way at a
// time, and one round of the slow ones; a slow one does not hold up health.
func (r *replica) runAsk(ctx context.Context) {
	slow := time.NewTicker(time.Duration(r.pool.cfg.IdentityInterval))
	defer slow.Stop()
	health := time.NewTicker(r.target.Interval)
	defer health.Stop()
	var asking sync.WaitGroup
	defer asking.Wait()
	ended := make(chan struct{}, 1)
	unanswered := 0
	// Both are nil while a round is under way; who asks meanwhile is answered
	// by the next one.
	ask, due := r.ask, slow.C
	for {
		select {
		case <-ctx.Done():
			return
		case <-health.C:
			r.probe(ctx)
			continue
		case <-r.recheck:
			r.probe(ctx)
			r.tellScrape()
			continue
		case <-ended:
			r.rounds.ended.Store(r.rounds.begun.Load())
			r.tellScrape()
			ask, due = r.ask, slow.C
			continue
		case <-ask:
		case <-due:
		}
		ask, due = nil, nil
		r.rounds.begun.Add(1)
		r.probe(ctx)
		asking.Go(func() {
			_ = r.guard("identity", func() { unanswered = r.question(ctx, unanswered) })
			ended <- struct{}{}
		})
	}
}

// tellScrape wakes a scrape that waits for answers.
func (r *replica) tellScrape() {
	select {
	case r.told <- struct{}{}:
	default:
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
	n := r.probes.begun.Add(1)
	_ = r.guard("health", func() { r.askHealth(life) })
	r.probes.ended.Store(n)
}

// askHealth puts the questions about health and publishes the answer.
func (r *replica) askHealth(life context.Context) {
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
		lived := h.Live || before != nil && before.lived
		r.probed.Store(&healthAnswer{Health: h, answered: seen, lived: lived, took: time.Since(start)})
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
	build := buildVersion(r.pool.cfg.EngineDir)
	facts := e.Ask(ctx, r.asker(base), base, func(early engine.Facts) {
		early.BuildVersion = build
		r.publish(kind, func() {
			before := r.facts.Load()
			if before != nil {
				early.Problems = before.Problems
			}
			r.accept(early.Over(before))
		})
	})
	facts.BuildVersion = build
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
		r.accept(facts.Over(before))
	})
	return unanswered
}

// accept hands facts on that say something new.
func (r *replica) accept(next *engine.Facts) {
	if !next.Equal(r.facts.Load()) {
		r.facts.Store(next)
	}
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
	return apiAt(&r.pool.cfg, e, u, port)
}
