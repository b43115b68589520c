package replica

import (
	"context"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/api"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape/lane"
)

// api returns the server's own API, nil where there is none to ask.
func (r *Replica) api() *api.Endpoint {
	return r.seat.Locate(r.pool.Scraper, r.target, r.server.Engine, r.pool.GRPC)
}

// askHealth asks whether the server is there and ready, unless that is being
// asked.
func (r *Replica) askHealth(ctx context.Context) {
	server := r.api()
	if server == nil || r.jobs.health.running {
		return
	}
	r.steady.HealthRequested(r.signs())
	ask(r.begin(ctx, &r.jobs.health), "health", server.Health, func(h api.Health, failed error) { r.heard(server, h, failed) })
}

// heard takes an answer about health over, unless the API was found elsewhere
// meanwhile.
func (r *Replica) heard(from *api.Endpoint, h api.Health, failed error) {
	if failed == nil && from == r.api() {
		r.answers.AddHealth(h)
		r.answers.Reconcile(r.api(), r.page.last)
		r.reassess()
	}
}

// checkHealth asks a server of which nothing has changed only whether it is
// still ready, in a batch where there is one, and any other all about its health; an
// address that is not known to be its own no more often than who it is.
func (r *Replica) checkHealth(ctx context.Context, b *lane.Batch) {
	before := r.answers.Health
	if before != nil && r.answers.Unconfirmed && r.isReady() && time.Since(r.jobs.health.began) < r.pool.IdentityInterval {
		return
	}
	server := r.api()
	if server == nil || server.ReadyURL() == "" || r.jobs.health.running || !r.isReady() || !r.steady.HealthValid(before, r.signs(), r.pool.IdentityInterval) {
		r.askHealth(ctx)
		return
	}
	p := r.begin(ctx, &r.jobs.health)
	again := func() {
		ask(p, "health", func(ctx context.Context) api.Health { return server.Recheck(ctx, before) },
			func(h api.Health, failed error) { r.heard(server, h, failed) })
	}
	l := r.readyLane.to(server.ReadyURL(), func() *lane.Lane { return r.pool.Scraper.QuestionLane(server.ReadyURL(), server.KeepAlive()) })
	if b == nil || l == nil || !b.Add(l, func(answer lane.Answer, ok bool) {
		if ok {
			p.answer(func() { r.heard(server, before.Repeat(answer.Duration), nil) })
			return
		}
		again()
	}) {
		again()
	}
}

// askIdentity asks for versions and models, unless they are being asked for.
func (r *Replica) askIdentity(ctx context.Context) {
	if r.api() == nil || r.jobs.identity.running {
		return
	}
	r.steady.IdentityRequested(r.signs())
	whom, p := r.seat.ForIdentity(&r.answers), r.begin(ctx, &r.jobs.identity)
	ask(p, "identity", func(job context.Context) api.Identity {
		return whom.Identity(job, r.pool.EngineDir, func(early engine.Facts) {
			p.hand(func() { r.answers.AddPartialFacts(early) })
		})
	}, func(said api.Identity, failed error) {
		if failed != nil {
			return
		}
		if said.From.Base != r.api().Base {
			// It was found elsewhere.
			r.seat.Current = said.From
			r.answers = api.Answers{Iterations: r.answers.Iterations}
			r.answers.Inherit(r.past.api, said.From)
			r.jobs.health.want(ctx, time.Now(), r.askHealth)
		}
		r.steady.IdentityReceived(&said.Facts)
		r.answers.AddFacts(said.Facts, r.pool.IdentityInterval)
		r.answers.Reconcile(said.From, r.page.last)
	})
}

// dueIterations reads the iterations since the last reading.
func (r *Replica) dueIterations(ctx context.Context, _ uint64, _ *lane.Batch) {
	server, path := r.api(), r.server.Engine.IterationsPath()
	if server == nil || path == "" || r.jobs.iterations.running {
		return
	}
	reading := r.answers.BeginReading()
	ask(r.begin(ctx, &r.jobs.iterations), "iterations", func(job context.Context) api.Reading {
		return server.Iterations(job, path, reading)
	}, func(got api.Reading, failed error) {
		if failed != nil {
			got = reading
			got.Err = failed
		}
		r.answers.AddReading(got, r.log)
	})
}
