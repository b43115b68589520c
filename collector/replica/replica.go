package replica

import (
	"context"
	"log/slog"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/api"
	"github.com/trtllm-exporter/trtllm_exporter/collector/canary"
	"github.com/trtllm-exporter/trtllm_exporter/collector/fetch"
	"github.com/trtllm-exporter/trtllm_exporter/collector/identity"
	"github.com/trtllm-exporter/trtllm_exporter/collector/owner"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape/lane"
	"github.com/trtllm-exporter/trtllm_exporter/collector/series"
	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Replica is one target and everything that is known of its server. Its fields
// belong to the owner. The methods that are exported may be called by anybody.
type Replica struct {
	target *target.Target
	pool   *Pool
	slot   *snapshot.Slot
	log    *slog.Logger
	owner  owner.Owner

	server  fetch.Server
	jobs    jobs
	asking  asking
	steady  api.Steady
	answers api.Answers
	held    *held
	page    page
	numbers numbers
	shown   shown
	record
}

// record is what is kept of what happened to the replica.
type record struct {
	status target.Status
	past   Past
	tally  series.Tally
	canary canary.Record
	// confirmed is how the last request went that was sent to confirm a suspicion, and
	// confirmAt when.
	confirmed canary.Report
	confirmAt time.Time
}

// jobs are what is done next to the replica.
type jobs struct {
	page, health, identity, iterations, canary, leave owner.Job
	// turn is when the replica may begin, until its first page is there.
	turn *owner.Turn
	// watch, if it is not nil, is called after each thing that happened.
	watch func()
}

// New returns a replica that has not been scraped; it publishes in the slot.
func New(t *target.Target, p *Pool, slot *snapshot.Slot, log *slog.Logger) *Replica {
	label := identity.OwnLabeler(t, &p.Labels)
	r := &Replica{
		target: t, pool: p, slot: slot,
		log:    log.With("pool_id", t.PoolID, "replica_id", t.ReplicaID),
		server: fetch.NewServer(t.Engine),
		shown:  shown{about: series.NewKnown(label)},
		record: record{status: target.Status{Scraping: target.Scraping{Health: target.HealthUnknown}}, tally: series.NewTally(t, label)},
	}
	r.owner.Guard, r.owner.Proceed = r.guard, r.proceed
	r.prepare()
	r.reset()
	return r
}

// Target is what the replica was made of.
func (r *Replica) Target() *target.Target { return r.target }

// Schedule is work that is due again and again.
type Schedule struct {
	// Key spreads the work of many replicas over the interval.
	Key string
	// Every is the interval, Soon the longest time until the first moment.
	Every, Soon time.Duration
	// Due has the work begun, at each moment, with the number of moments that
	// have passed since the last without a call. It may do what the replica has
	// to do just then, but waits for nothing else; what it asks servers it may
	// put into the batch, which is run after it.
	Due func(ctx context.Context, missed uint64, b *lane.Batch)
}

const (
	// soon bounds how long a new replica waits for its first scrape, canarySoon
	// for its first canary.
	soon, canarySoon = time.Second, 10 * time.Second
	// iterationsEvery is the longest time between two readings of iterations: at
	// 7 ms an iteration a server keeps those of seven seconds.
	iterationsEvery = 5 * time.Second
)

// Schedules are what the replica has to do, and when.
func (r *Replica) Schedules() []Schedule {
	if r.target.Silent {
		return nil
	}
	key, interval := r.target.Key(), r.target.Interval
	all := []Schedule{{key, interval, soon, r.doing(r.dueInTurn)}}
	if r.pool.IterationStats {
		every := min(interval, iterationsEvery)
		all = append(all, Schedule{key + "/iterations", every, every, r.doing(r.dueIterations)})
	}
	if r.pool.Canary.Enabled {
		all = append(all, Schedule{key + "/canary", time.Duration(r.pool.Canary.Interval), canarySoon, r.doing(r.dueCanary)})
	}
	return all
}

// doing has the owner do something while the context lasts.
func (r *Replica) doing(work func(ctx context.Context, missed uint64, b *lane.Batch)) func(context.Context, uint64, *lane.Batch) {
	return func(ctx context.Context, missed uint64, b *lane.Batch) {
		if !r.owner.Now(func() { r.do(ctx, missed, b, work) }) {
			// The batch is run as soon as all of its slot was begun.
			r.owner.Do(func() { r.do(ctx, missed, nil, work) })
		}
	}
}

// do does something while the context lasts.
func (r *Replica) do(ctx context.Context, missed uint64, b *lane.Batch, work func(ctx context.Context, missed uint64, b *lane.Batch)) {
	if ctx.Err() == nil {
		work(ctx, missed, b)
		r.proceed(ctx)
	}
}

// Present publishes a replica that is never scraped, because its target is
// silent.
func (r *Replica) Present() { r.owner.Do(r.present) }

// Close drops what is under way and waits until it has ended; the contexts that
// were given have to have ended. What was published stays.
func (r *Replica) Close() {
	r.owner.Do(func() {
		r.held.drop()
		r.jobs.turn.End()
	})
	r.owner.Close()
	r.asking.close()
	if base := r.api().URL(); base != "" && !r.target.Silent {
		r.pool.Scraper.Leave(base)
	}
}

// dueInTurn begins what it is time for, the first time when it is the replica's turn.
func (r *Replica) dueInTurn(ctx context.Context, missed uint64, b *lane.Batch) {
	if r.status.Scrapes == 0 && r.jobs.turn == nil && r.pool.Starts != nil {
		r.jobs.turn = r.pool.Starts.Ask(func() {
			r.owner.Do(func() { r.do(ctx, 0, nil, r.dueInTurn) })
		})
	}
	if r.jobs.turn.Come() {
		r.due(ctx, missed, b)
	}
}

// due begins what it is time for, in a batch where there is one.
func (r *Replica) due(ctx context.Context, missed uint64, b *lane.Batch) {
	if r.held != nil {
		// A page waits for answers until the next moment at the latest.
		r.settle()
	}
	if r.status.Scrapes > 0 {
		r.tally.Skipped += missed
	}
	switch {
	case !r.jobs.page.Running:
		r.fetch(ctx, b)
	case r.status.Scrapes > 0:
		r.tally.Skipped++
	}
	r.jobs.health.Want(ctx, time.Now(), func(ctx context.Context) { r.checkHealth(ctx, b) })
	// Moments come a little early or late.
	if time.Since(r.jobs.identity.Began) >= r.identityPace()-r.target.Interval/2 {
		r.askIdentity(ctx)
	}
}

// proceed does what became possible by what happened last.
func (r *Replica) proceed(ctx context.Context) {
	if r.held != nil && r.held.ready(&r.jobs) {
		r.settle()
	}
	if r.jobs.health.Again && !r.jobs.health.Running {
		r.askHealth(ctx)
	}
	if r.jobs.identity.Again && !r.jobs.identity.Running {
		r.askIdentity(ctx)
	}
	r.seeRestart(ctx)
	if r.status.Scrapes > 0 && !r.jobs.health.Running && !r.jobs.page.Running && r.steady.HealthChanged(r.signs()) {
		r.askHealth(ctx)
	}
	r.proceedCanary(ctx)
	if r.jobs.watch != nil {
		r.jobs.watch()
	}
}
