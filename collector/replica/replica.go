package replica

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape/lane"
	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Replica scrapes one target and holds everything the exporter knows about its server. It is safe
// for concurrent use.
type Replica struct {
	// What the replica was made from. It does not change, but the labels and versions in target may be outdated.
	target *target.Target
	pool   *Pool
	slot   *snapshot.Slot
	log    *slog.Logger

	// mu guards all fields below. It is never held while anything waits, so that a server that hangs
	// delays nothing but its own answers; see update and await.
	mu sync.Mutex

	// The jobs. They work without the lock, so each gets a copy of what it needs, and what it answers
	// is applied under the lock; see finish.
	jobs jobs
	// jobRuns waits for the runs of all jobs; it has a lock of its own.
	jobRuns sync.WaitGroup
	// changed, if set, is closed after the next change, for those who wait in await.
	changed chan struct{}
	closed  bool

	// described is the target with its newest labels and versions.
	described *target.Target

	// The server that was found. A scrape may find one of another kind, and setServer then forgets the
	// answers and pages of the previous one.
	server scrape.Server
	// locator caches the address of the server's API.
	locator             engine.Locator
	pageLane, readyLane laneCache

	// What the API has answered. Its jobs set it, and are sent again when pages show that the server
	// may have changed since.
	answers engine.Answers
	pacer   engine.Pacer
	// healthAsked is when the complete health was asked for whose query ended last.
	healthAsked time.Time
	// restarts is the number of restarts after which the identity was requested.
	restarts uint64

	// What is kept from page to page. Only the steps of a page change it, and reset starts over: most
	// pages differ from the previous one in values only.
	reader  pageReader
	deriver *derive.Deriver
	// deriveStats counts what interrupted the windows of all derivers so far, the current one
	// included.
	deriveStats derive.Stats
	// pageMemory is what the last page reserves of the memory for pages, in bytes.
	pageMemory int64

	// What counts in later verdicts, beyond the page or the answer that showed it, some of it from the
	// predecessor of this replica.
	memory  assess.Memory
	history History
	kept    kept

	// What readers see. They get copies in the slot, so that they never wait for the lock.
	status    target.Status
	counters  counters
	published published
}

// jobs are the jobs of a replica, by what they do.
type jobs struct {
	page job
	// wait is a page that waits for the API.
	wait job
	// fresh requests the page over new connections.
	fresh job
	// These ask the API, canary and cancelCheck with requests to a model.
	health, identity, iterations, canary, cancelCheck job
	// start waits for Pool.Starts; releaseStart is set during the first scrape.
	start        job
	releaseStart func()
}

// New returns a replica that publishes its snapshots in slot.
func New(t *target.Target, p *Pool, slot *snapshot.Slot, log *slog.Logger) *Replica {
	label := assess.ReplicaLabeler(t, &p.Labels)
	r := &Replica{
		target:    t,
		described: t,
		pool:      p,
		slot:      slot,
		log:       log.With("pool_id", t.PoolID, "replica_id", t.ReplicaID),
		server:    scrape.NewServer(p.kinds(), t.Engine),
		published: published{about: assess.NewReplicaSeries(label, p.Page.Off())},
		status:    target.Status{Scraping: target.Scraping{Health: target.HealthUnknown}},
		counters:  newCounters(t, label, p.Page.Off()),
	}
	r.reset()
	return r
}

// Target returns the target that the replica was made from. Its labels and versions may be outdated.
func (r *Replica) Target() *target.Target { return r.target }

// Describe takes over what discovery says about the server now. It must be [target.Target.SameServer]: labels change
// how series are shown, and nothing of what is known of the server.
func (r *Replica) Describe(t *target.Target) {
	r.update(func() { r.described = t })
}

// Schedule is work that is due once per interval.
type Schedule struct {
	// Key spreads the work of many replicas over the interval.
	Key string
	// Interval is the time between two runs, Soon the maximum time until the first.
	Interval, Soon time.Duration
	// Due starts the work without blocking: requests go into the batch, which runs afterwards.
	// Missed is the number of runs that were missed since the last call.
	Due func(ctx context.Context, missed uint64, b *lane.Batch)
}

const (
	// soon limits how long a new replica waits for its first scrape, canarySoon
	// for its first canary.
	soon, canarySoon = time.Second, 10 * time.Second
	// maxIterationsInterval is the maximum time between two requests for iteration statistics: at
	// 7 ms per iteration a server keeps them for seven seconds.
	maxIterationsInterval = 5 * time.Second
)

// Schedules lists the work of the replica; a silent one has none.
func (r *Replica) Schedules() []Schedule {
	if r.target.Silent {
		return nil
	}
	key, interval := r.target.Key(), r.target.Interval
	all := []Schedule{{key, interval, soon, r.scheduled(r.scrapeDue)}}
	if r.pool.IterationStats {
		iterationsInterval := min(interval, maxIterationsInterval)
		all = append(
			all, Schedule{key + "/iterations", iterationsInterval, iterationsInterval, r.scheduled(r.iterationsDue)},
		)
	}
	if r.pool.Canary.Enabled {
		all = append(
			all, Schedule{key + "/canary", time.Duration(r.pool.Canary.Interval), canarySoon, r.scheduled(r.canaryDue)},
		)
	}
	return all
}

// scheduled wraps work so that it runs under the lock without blocking the caller.
func (r *Replica) scheduled(
	work func(ctx context.Context, missed uint64, b *lane.Batch),
) func(context.Context, uint64, *lane.Batch) {
	return func(ctx context.Context, missed uint64, b *lane.Batch) {
		run := func() {
			if ctx.Err() == nil {
				work(ctx, missed, b)
				r.followUp(ctx)
			}
		}
		if r.mu.TryLock() {
			defer r.mu.Unlock()
			r.runLocked(run)
			return
		}
		b = nil // The batch may run before the lock is free.
		// It is not one of jobRuns, which Close may already wait for; after that it does nothing.
		go r.update(run)
	}
}

// PublishSilent publishes a replica whose target is silent and therefore never scraped.
func (r *Replica) PublishSilent() {
	r.update(func() {
		previous := r.status
		r.assess(nil)
		r.publish(snapshot.Snapshot{})
		r.logChanges(&previous)
	})
}

// Close waits for running jobs and drops their results. The contexts passed to Due must be
// canceled before.
func (r *Replica) Close() {
	r.update(func() {
		r.endStart()
		r.closed = true
		r.pageLane.close()
		r.readyLane.close()
		r.pageMemory, _ = r.pool.Resources.ReservePage(r.pageMemory, 0)
	})
	r.jobRuns.Wait()
}

// scrapeDue runs what is due. Until the first page came, it waits each time until the replica may start: what
// never answered may be any number of targets, and keeps those that answer waiting for nothing.
func (r *Replica) scrapeDue(ctx context.Context, missed uint64, b *lane.Batch) {
	switch {
	case !r.status.LastSuccess.IsZero() || r.pool.Starts == nil || r.jobs.releaseStart != nil:
		r.runDue(ctx, missed, b)
	case r.jobs.start.running:
		r.counters.skipped += min(r.status.Scrapes, 1)
	default:
		runJob(r.startJob(ctx, &r.jobs.start), "start", r.awaitStart, func(release func(), _ error) {
			r.jobs.releaseStart = release
			r.runDue(ctx, 0, nil)
		})
	}
}

// awaitStart waits until the replica may start, and returns how to end that, nil if nothing is to end.
func (r *Replica) awaitStart(ctx context.Context) (end func()) {
	if r.pool.Starts == nil {
		return nil
	}
	return r.pool.Starts.Start(ctx, r.target.Interval)
}

func (r *Replica) endStart() {
	if r.jobs.releaseStart != nil {
		r.jobs.releaseStart()
		r.jobs.releaseStart = nil
	}
}

// runDue starts a scrape, a health check and, less often, a query for the identity.
func (r *Replica) runDue(ctx context.Context, missed uint64, b *lane.Batch) {
	if r.status.Scrapes > 0 || r.jobs.wait.running {
		r.counters.skipped += missed
	}
	if r.jobs.wait.running {
		// A page does not wait for answers beyond the next scrape.
		r.jobs.page.rerun = true
		return
	}
	switch {
	case !r.jobs.page.running:
		r.scrape(ctx, b)
	case r.status.Scrapes > 0:
		r.counters.skipped++
	}
	r.jobs.health.ensure(ctx, time.Now(), func(ctx context.Context) { r.checkHealth(ctx, b) })
	// The clock may be a little early or late.
	if time.Since(r.jobs.identity.started) >= r.identityInterval()-r.target.Interval/2 {
		r.queryIdentity(ctx)
	}
}

func (r *Replica) followUp(ctx context.Context) {
	if r.closed || ctx.Err() != nil {
		return
	}
	if r.jobs.page.rerun && !r.jobs.wait.running {
		r.runDue(ctx, 0, nil)
	}
	if r.jobs.health.rerun && !r.jobs.health.running {
		r.queryHealth(ctx)
	}
	if r.jobs.identity.rerun && !r.jobs.identity.running {
		r.queryIdentity(ctx)
	}
	r.checkRestarts(ctx)
	if r.status.Scrapes > 0 && !r.jobs.health.running && !r.jobs.page.running && r.pacer.HealthOutdated(r.signs()) {
		r.queryHealth(ctx)
	}
	r.followUpCanary(ctx)
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}
