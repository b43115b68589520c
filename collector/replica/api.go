package replica

import (
	"context"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape/lane"
)

func (r *Replica) api() *engine.Endpoint {
	return r.locator.Locate(r.pool.Scraper, r.target, r.server.Engine, r.pool.GRPC)
}

// queryHealth queries whether the server is live and ready, unless a query is running.
func (r *Replica) queryHealth(ctx context.Context) {
	server := r.api()
	if server == nil || r.jobs.health.running {
		return
	}
	r.pacer.HealthRequested(r.signs())
	asked := time.Now()
	runJob(r.startJob(ctx, &r.jobs.health), "health", server.Health, func(h engine.Health, failed error) {
		r.healthAsked = asked
		r.setHealth(server, h, failed)
	})
}

// setHealth applies an answer unless the API was found at another address in the meantime.
func (r *Replica) setHealth(from *engine.Endpoint, h engine.Health, failed error) {
	if failed != nil || from != r.api() {
		return
	}
	r.answers.AddHealth(h)
	r.answers.Reconcile(r.api(), r.reader.last)
	if reconciled := r.answers.Health; reconciled != nil {
		r.memory.Health(time.Now(), reconciled)
	}
	r.reassess()
}

// checkHealth queries only the readiness of a server that shows no change, through the batch if
// there is one, and otherwise its complete health: of a suspected one too, which may be paused. An
// address that may not be the server's own is queried once per identity interval.
func (r *Replica) checkHealth(ctx context.Context, b *lane.Batch) {
	previous := r.answers.Health
	if previous != nil && r.answers.Unconfirmed && r.isReady() &&
		time.Since(r.jobs.health.started) < r.pool.IdentityInterval {
		return
	}
	server := r.api()
	if server == nil || server.ReadyURL() == "" || r.jobs.health.running || !r.isReady() || r.status.Suspected ||
		!r.pacer.HealthValid(previous, r.signs(), r.pool.IdentityInterval) {
		r.queryHealth(ctx)
		return
	}
	ready := r.readyLane.to(server.ReadyURL(), func() *lane.Lane {
		return r.pool.Scraper.QuestionLane(server.ReadyURL(), server.KeepAlive())
	})
	run := r.startJob(ctx, &r.jobs.health)
	ask(b, ready, func(answer lane.Answer, ok bool) {
		if ok {
			run.finish(func() { r.setHealth(server, previous.Repeat(answer.Duration), nil) })
			return
		}
		runJob(run, "health", func(ctx context.Context) engine.Health { return server.Recheck(ctx, previous) },
			func(h engine.Health, failed error) { r.setHealth(server, h, failed) })
	})
}

// queryIdentity queries versions and models, unless a query is running.
func (r *Replica) queryIdentity(ctx context.Context) {
	if r.api() == nil || r.jobs.identity.running {
		return
	}
	r.pacer.IdentityRequested(r.signs(), r.reader.unlisted)
	server, earlier := r.locator.ForIdentity(&r.answers), r.answers.Earlier(r.reader.last)
	run := r.startJob(ctx, &r.jobs.identity)
	runJob(run, "identity", func(ctx context.Context) engine.Reported {
		build := r.pool.Scraper.Secrets().HideInData(buildVersion(r.pool.EngineDir))
		var found engine.Reported
		for answer, complete := range server.Ask(ctx, earlier) {
			found = answer
			found.BuildVersion = build
			if !complete {
				run.deliver(func() { r.answers.AddPartialFacts(found.Facts) })
			}
		}
		return found
	}, func(found engine.Reported, failed error) {
		if failed == nil {
			r.setIdentity(ctx, &found)
		}
	})
}

// setIdentity applies an answer. Only its sender may know that the API has moved to another address.
func (r *Replica) setIdentity(ctx context.Context, found *engine.Reported) {
	if found.From.URL() != r.api().URL() {
		r.locator.Current = found.From
		r.answers = engine.Answers{Iterations: r.answers.Iterations}
		r.answers.Inherit(r.history.health, found.From)
		r.jobs.health.ensure(ctx, time.Now(), r.queryHealth)
	}
	r.pacer.IdentityReceived(&found.Facts)
	r.answers.AddFacts(found.Facts, r.pool.IdentityInterval)
	r.answers.Reconcile(found.From, r.reader.last)
}

// checkRestarts queries the identity of a server whose counters show that it restarted: its
// version may have changed.
func (r *Replica) checkRestarts(ctx context.Context) {
	n := r.deriver.Stats().Restarts
	if n == r.restarts {
		return
	}
	r.restarts = n
	r.memory.NewProcess()
	r.answers.Distrust()
	r.jobs.identity.ensure(ctx, r.status.LastScrape, r.queryIdentity)
}

func (r *Replica) iterationsDue(ctx context.Context, _ uint64, _ *lane.Batch) {
	server, path := r.api(), r.server.Engine.Iterations
	if server == nil || path == "" || r.jobs.iterations.running {
		return
	}
	last := r.answers.BeginReading()
	runJob(r.startJob(ctx, &r.jobs.iterations), "iterations", func(ctx context.Context) engine.IterationReading {
		return server.Iterations(ctx, path, last)
	}, func(reading engine.IterationReading, failed error) {
		if failed != nil {
			reading = last
			reading.Err = failed
		}
		r.answers.AddReading(reading, r.log)
		if last := r.reader.last; last != nil && last.LearnRanks(r.answers.Iterations.Ranks) {
			r.published.findings = nil
		}
	})
}

func (r *Replica) signs() engine.Signs {
	return engine.Signs{Epoch: r.server.Epoch, Reshaped: r.counters.reshaped, Restarts: r.deriver.Stats().Restarts}
}

func (r *Replica) isReady() bool { return r.status.State == string(assess.Ready) }

func (r *Replica) identityInterval() time.Duration {
	if !r.isReady() {
		return r.pacer.RetryInterval(r.pool.IdentityInterval)
	}
	return r.pacer.IdentityInterval(r.answers.Facts, r.signs(), r.reader.unlisted, r.pool.IdentityInterval)
}
