package replica

import (
	"context"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/api"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/owner"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape/lane"
)

// askHealth asks whether the server is there and ready, unless that is being
// asked.
func (r *Replica) askHealth(ctx context.Context) {
	server := r.api()
	if server == nil || r.jobs.health.Running {
		return
	}
	r.steady.AskedHealth(r.signs())
	owner.Begin(ctx, &r.owner, &r.jobs.health, "health", server.Health, func(h api.Health, failed error) { r.heard(server, h, failed) })
}

// heard takes an answer about health over, unless the API was found elsewhere
// meanwhile.
func (r *Replica) heard(from *api.Endpoint, h api.Health, failed error) {
	if failed == nil && from == r.api() {
		r.answers.Heard(h)
		r.answers.Weigh(r.api(), r.page.Last())
		r.reassess()
	}
}

// checkHealth asks a server of which nothing has changed only whether it is
// still ready, in a batch where there is one, and any other all about its health; an
// address that is not known to be its own no more often than who it is.
func (r *Replica) checkHealth(ctx context.Context, b *lane.Batch) {
	before := r.answers.Health
	if before != nil && r.answers.Foreign && r.isReady() && time.Since(r.jobs.health.Began) < r.pool.IdentityInterval {
		return
	}
	holds := r.api() != nil && r.isReady() && r.steady.HealthHolds(before, r.signs(), r.pool.IdentityInterval)
	if !holds || r.asking.seat.ReadyURL == "" || !r.checkReady(ctx, before, b) {
		r.askHealth(ctx)
	}
}

// askIdentity asks for versions and models, unless they are being asked for.
func (r *Replica) askIdentity(ctx context.Context) {
	if r.api() == nil || r.jobs.identity.Running {
		return
	}
	r.steady.AskedIdentity(r.signs())
	whom, hand := r.asking.seat.Whom(&r.answers), r.owner.Hand(ctx)
	owner.Begin(ctx, &r.owner, &r.jobs.identity, "identity", func(job context.Context) api.Identity {
		return whom.Identity(job, r.pool.EngineDir, func(early engine.Facts) {
			hand(func() { r.answers.Early(early) })
		})
	}, func(said api.Identity, failed error) {
		if failed != nil {
			return
		}
		if said.From.Base != r.api().Base {
			// It was found elsewhere.
			r.asking.seat.Move(said.From)
			r.answers = api.Answers{Iterations: r.answers.Iterations}
			r.answers.Remember(r.past.api, said.From)
			r.jobs.health.Want(ctx, time.Now(), r.askHealth)
		}
		r.steady.ToldIdentity(&said.Facts)
		r.answers.Told(said.Facts, r.pool.IdentityInterval)
		r.answers.Weigh(said.From, r.page.Last())
	})
}

// dueIterations reads the iterations since the last reading.
func (r *Replica) dueIterations(ctx context.Context, _ uint64, _ *lane.Batch) {
	server, from := r.api(), r.server.Engine.Iterations()
	if server == nil || from == nil || r.jobs.iterations.Running {
		return
	}
	reading := r.answers.Reading()
	owner.Begin(ctx, &r.owner, &r.jobs.iterations, "iterations", func(job context.Context) api.Reading {
		return server.Iterations(job, from, reading)
	}, func(got api.Reading, failed error) {
		if failed != nil {
			got = reading
			got.Err = failed
		}
		r.answers.Read(got, r.log)
	})
}
