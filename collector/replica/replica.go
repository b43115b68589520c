package replica

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/api"
	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/canary"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape/lane"
	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Replica is one target and everything that is known of its server. The methods
// that are exported may be called by anybody.
type Replica struct {
	target *target.Target
	pool   *Pool
	slot   *snapshot.Slot
	log    *slog.Logger
	// runs are the jobs that are under way.
	runs sync.WaitGroup

	// mu guards all that follows; see do.
	mu     sync.Mutex
	closed bool
	server scrape.Server
	jobs   jobs
	// seat is where the server's own API is asked.
	seat api.Locator
	// pageLane and readyLane are the fast ways to the page, and to whether the
	// server is ready.
	pageLane, readyLane laneFor
	steady              api.Pacer
	answers             api.Answers
	held                *held
	page                page
	pages               scrape.PageMemory
	numbers             numbers
	shown               shown
	record
}

// record is what is kept of what happened to the replica.
type record struct {
	status target.Status
	past   Past
	tally  tally
	canary canary.Record
	// confirmed is how the last request went that was sent to confirm a suspicion, and
	// confirmAt when.
	confirmed canary.Report
	confirmAt time.Time
}

// jobs are what is done next to the replica.
type jobs struct {
	page, health, identity, iterations, canary, leave job
	// start is the first scrape, which waits until few others begin; endStart lets
	// the next one begin, nil before and after.
	start    job
	endStart func()
	// watch, if it is not nil, is called after each thing that happened.
	watch func()
}

// New returns a replica that has not been scraped; it publishes in the slot.
func New(t *target.Target, p *Pool, slot *snapshot.Slot, log *slog.Logger) *Replica {
	label := assess.OwnLabeler(t, &p.Labels)
	r := &Replica{
		target: t, pool: p, slot: slot,
		log:    log.With("pool_id", t.PoolID, "replica_id", t.ReplicaID),
		server: scrape.NewServer(t.Engine),
		shown:  shown{about: assess.NewAbout(label)},
		record: record{status: target.Status{Scraping: target.Scraping{Health: target.HealthUnknown}}, tally: newTally(t, label)},
	}
	if p.Resources != nil {
		r.pages = p.Resources.PageMemory()
	}
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

// doing has work done on the replica while the context lasts.
func (r *Replica) doing(work func(ctx context.Context, missed uint64, b *lane.Batch)) func(context.Context, uint64, *lane.Batch) {
	return func(ctx context.Context, missed uint64, b *lane.Batch) {
		do := func() {
			if ctx.Err() == nil {
				work(ctx, missed, b)
				r.proceed(ctx)
			}
		}
		if !r.try(do) {
			b = nil // It is run as soon as all of its slot was begun.
			go r.do(do)
		}
	}
}

// Present publishes a replica that is never scraped, because its target is
// silent.
func (r *Replica) Present() { r.do(r.present) }

// Close drops what is under way and waits until it has ended; the contexts that
// were given have to have ended. What was published stays.
func (r *Replica) Close() {
	var base string
	r.do(func() {
		r.drop()
		r.startEnded()
		r.closed = true
		r.pageLane.close()
		r.readyLane.close()
		r.pages.Release()
		base = r.api().URL()
	})
	r.runs.Wait()
	if base != "" && !r.target.Silent {
		r.pool.Scraper.Disconnect(base)
	}
}

// dueInTurn begins what it is time for, the first time when few others start.
func (r *Replica) dueInTurn(ctx context.Context, missed uint64, b *lane.Batch) {
	switch {
	case r.status.Scrapes > 0 || r.pool.Starts == nil || r.jobs.endStart != nil:
		r.due(ctx, missed, b)
	case !r.jobs.start.running:
		ask(r.begin(ctx, &r.jobs.start), "start", func(ctx context.Context) (end func()) {
			return r.pool.Starts.begin(ctx, r.target.Interval)
		}, func(end func(), _ error) {
			r.jobs.endStart = end
			r.due(ctx, 0, nil)
		})
	}
}

// startEnded lets the next replica start.
func (r *Replica) startEnded() {
	if r.jobs.endStart != nil {
		r.jobs.endStart()
		r.jobs.endStart = nil
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
	case !r.jobs.page.running:
		r.scrape(ctx, b)
	case r.status.Scrapes > 0:
		r.tally.Skipped++
	}
	r.jobs.health.want(ctx, time.Now(), func(ctx context.Context) { r.checkHealth(ctx, b) })
	// Moments come a little early or late.
	if time.Since(r.jobs.identity.began) >= r.identityPace()-r.target.Interval/2 {
		r.askIdentity(ctx)
	}
}

// proceed does what became possible by what happened last.
func (r *Replica) proceed(ctx context.Context) {
	if r.held != nil && r.held.ready(&r.jobs) {
		r.settle()
	}
	if r.jobs.health.again && !r.jobs.health.running {
		r.askHealth(ctx)
	}
	if r.jobs.identity.again && !r.jobs.identity.running {
		r.askIdentity(ctx)
	}
	r.seeRestart(ctx)
	if r.status.Scrapes > 0 && !r.jobs.health.running && !r.jobs.page.running && r.steady.HealthOutdated(r.signs()) {
		r.askHealth(ctx)
	}
	r.proceedCanary(ctx)
	if r.jobs.watch != nil {
		r.jobs.watch()
	}
}
