package collector

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/discovery/targetgroup"

	"github.com/trtllm-exporter/trtllm_exporter/collector/replica"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape/lane"
	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// runningReplica is a replica whose work is scheduled.
type runningReplica struct {
	*replica.Replica

	slot *snapshot.Slot
	// pool is the pool that started the replica, foundBy the pool whose discovery found its
	// target last; they differ after a reload that left the replica running.
	pool, foundBy *pool
	tasks         []*task
	cancel        context.CancelFunc
}

// cancel cancels the work of a replica without waiting for it.
func (c *Collector) cancel(r *runningReplica) {
	for _, t := range r.tasks {
		c.scheduler.remove(t)
	}
	r.cancel()
}

// handover is how long the replicas of a pool whose sources changed stay until all of its new
// sources have answered: one refresh of most sources.
const handover = 30 * time.Second

func (c *Collector) swap(ctx context.Context, configured []*pool) {
	keep := make(map[string]bool)
	for _, p := range configured {
		old := c.running[p.cfg.PoolID]
		if old != nil && old.equal(p) {
			keep[p.cfg.PoolID] = true
			p.release()
		}
	}
	for id, p := range c.running {
		if keep[id] {
			continue
		}
		p.cancel()
		p.awaitEnd()
		if !slices.ContainsFunc(configured, func(p *pool) bool { return p.cfg.PoolID == id }) {
			c.removePool(ctx, p)
		}
	}
	for _, p := range configured {
		if !keep[p.cfg.PoolID] {
			c.startPool(ctx, p)
		}
	}
}

// maxLinger is how long a reload waits for a discovery that was canceled.
const maxLinger = 5 * time.Second

// awaitEnd waits until the discovery has ended, but not for what may never end, such as reading a pipe that
// nobody writes. What it finds afterwards is ignored.
func (p *pool) awaitEnd() {
	select {
	case <-p.done:
	case <-time.After(maxLinger):
	}
}

func (c *Collector) removePool(ctx context.Context, p *pool) {
	c.changing.Lock()
	defer c.changing.Unlock()
	removed := c.forget(p)
	c.end(removed, nil)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.handOver(ctx, p, removed)
	p.release()
	for _, m := range []*prometheus.GaugeVec{c.metrics.targets, c.metrics.dropped, c.metrics.empty} {
		m.DeleteLabelValues(p.cfg.PoolID)
	}
	c.countRefused()
}

// forget removes a pool and what it found, and cancels its replicas, which it returns.
func (c *Collector) forget(p *pool) (removed []*runningReplica) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.running, p.cfg.PoolID)
	c.poolChanges.Add(1)
	p.graceOver, p.found, p.targets = true, nil, nil
	maps.DeleteFunc(c.contests, func(_ string, x *contest) bool { return x.pool == p.cfg.PoolID })
	return c.cancelGone(p)
}

// startPool starts the discovery of a pool. Replicas of a running pool with the same id stay if
// discovery finds their targets again; other replicas are removed once every source has answered
// or the grace period is over.
func (c *Collector) startPool(run context.Context, p *pool) {
	ctx, cancel := context.WithCancel(run)
	p.cancel, p.done = cancel, make(chan struct{})
	c.install(p)
	grace := time.AfterFunc(c.grace, func() { c.endGrace(ctx, run, p) })
	go func() {
		defer close(p.done)
		defer grace.Stop()
		c.metrics.discoveries.Store(p.cfg.PoolID, p.sources)
		defer c.metrics.discoveries.CompareAndDelete(p.cfg.PoolID, p.sources)
		p.sources.Run(ctx, func(groups []*targetgroup.Group) {
			if ctx.Err() == nil {
				// Replicas outlive the discovery that found them, so that a reload leaves no gap
				// in the page.
				c.sync(run, p, groups)
			}
		})
	}()
}

// install makes a pool the running one of its id.
func (c *Collector) install(p *pool) {
	c.changing.Lock()
	defer c.changing.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if previous := c.running[p.cfg.PoolID]; previous != nil {
		previous.release()
	}
	c.running[p.cfg.PoolID] = p
	c.poolChanges.Add(1)
}

// endGrace stops waiting for sources that have not answered. If none has, it waits for the first
// answer. It does nothing once the discovery of the pool is canceled: another may run.
func (c *Collector) endGrace(discovery, run context.Context, p *pool) {
	c.changing.Lock()
	defer c.changing.Unlock()
	removed := c.overdue(discovery, p)
	if len(removed) == 0 {
		return
	}
	c.end(removed, nil)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.handOver(run, p, removed)
	c.countRefused()
}

// overdue ends the grace period of a pool and cancels the replicas that were kept for its sources,
// which it returns.
func (c *Collector) overdue(discovery context.Context, p *pool) (removed []*runningReplica) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p.graceOver = true
	if !p.synced || discovery.Err() != nil {
		return nil
	}
	return c.cancelGone(p)
}

// sync starts, keeps and removes replicas so that they match the targets found.
func (c *Collector) sync(ctx context.Context, p *pool, groups []*targetgroup.Group) {
	found, search := targetsOf(&p.cfg, p.shard, groups, c.opts.Logger)
	c.changing.Lock()
	defer c.changing.Unlock()
	c.place(ctx, p, found, &search)
}

// place gives the targets found for a pool their names, and starts, keeps and removes replicas so
// that they match. The caller holds changing only: nobody else waits for replicas to end.
func (c *Collector) place(ctx context.Context, p *pool, found []*target.Target, search *target.PoolDiscovery) {
	kept, removed, replaced := c.assign(p, found)
	c.end(removed, replaced)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.handOver(ctx, p, removed)
	for _, t := range kept {
		c.ensure(ctx, p, t)
		if r := c.replicas[t.Key()]; r != nil && r.foundBy == p {
			r.slot.Withhold(c.contests.withholds(t))
		}
	}
	search.Targets = len(p.targets)
	c.recordSearch(p, search)
	c.countRefused()
}

// assign gives the targets found for a pool their names. It returns those to scrape, and cancels
// the replicas that end, all before it waits for one, so that they end at the same time: those whose
// targets are gone, and those that others replace.
func (c *Collector) assign(
	p *pool, found []*target.Target,
) (kept []*target.Target, removed, replaced []*runningReplica) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refusalsLogged = 0
	p.found, p.synced = found, true
	kept, p.duplicates = c.contests.settle(p.cfg.PoolID, found)
	p.targets = make(map[string]*target.Target, len(kept))
	for _, t := range kept {
		p.targets[t.Key()] = t
	}
	for _, t := range p.duplicates {
		c.logRefused(t, duplicateOf(p.targets[t.Key()]))
	}
	removed = c.cancelGone(p)
	for key, t := range p.targets {
		if r := c.replicas[key]; r != nil && replaces(p, t, r) {
			c.cancel(r)
			replaced = append(replaced, r)
		}
	}
	return kept, removed, replaced
}

// cancelGone cancels and forgets the replicas of a pool whose targets are gone, and returns them.
func (c *Collector) cancelGone(p *pool) (removed []*runningReplica) {
	waiting := !p.graceOver && p.hasUnanswered()
	for key, r := range c.replicas {
		inherited := r.foundBy != p && waiting
		if r.foundBy.cfg.PoolID == p.cfg.PoolID && p.targets[key] == nil && !inherited {
			c.cancel(r)
			removed = append(removed, r)
			delete(c.replicas, key)
		}
	}
	return removed
}

// end waits until canceled replicas have ended. The caller holds changing, so that no other replica
// takes over a key before, but not mu: only changes wait for the jobs of replicas.
func (c *Collector) end(removed, replaced []*runningReplica) {
	for _, r := range removed {
		r.Close()
		c.opts.Store.Remove(r.slot)
	}
	for _, r := range replaced {
		r.Close()
	}
}

// handOver ends the use of what the removed replicas of a pool used. Targets of other pools that
// were refused because of them take over their keys.
func (c *Collector) handOver(ctx context.Context, p *pool, removed []*runningReplica) {
	if len(removed) == 0 {
		return
	}
	for _, r := range removed {
		r.pool.release()
	}
	c.freeMemory.Reset(freeMemoryAfter)
	for id, other := range c.running {
		for key, t := range other.targets {
			if id != p.cfg.PoolID && c.replicas[key] == nil {
				c.ensure(ctx, other, t)
			}
		}
	}
}

// replaces reports whether a target replaces the replica with its key in the same pool, because
// it must be scraped in another way.
func replaces(p *pool, t *target.Target, r *runningReplica) bool {
	unchanged := r.Target().SameServer(t) && (r.foundBy == p || r.pool.treatsAlike(p)) && !p.redeclares(r)
	return r.foundBy.cfg.PoolID == p.cfg.PoolID && !unchanged
}

// ensure makes sure that a target has a replica, unless it is refused. A replica that it replaces
// has ended already.
func (c *Collector) ensure(ctx context.Context, p *pool, t *target.Target) {
	r, runs := c.replicas[t.Key()]
	switch {
	case runs && r.foundBy.cfg.PoolID != p.cfg.PoolID:
		c.logRefused(t, duplicateOf(r.Target()))
		return
	case runs && !replaces(p, t, r):
		r.foundBy = p
		if !reflect.DeepEqual(r.slot.Target(), t) {
			r.slot.SetTarget(t)
			r.Describe(t)
		}
		return
	case runs:
		r.pool.release()
		r.slot.SetTarget(t)
		var history replica.History
		switch {
		case r.Target().MetricsURL == t.MetricsURL, r.slot.Status().PageURL == t.MetricsURL:
			history = r.History()
		case c.contests[t.Claims()] != nil: // The name has gone from one program to another one.
			r.slot.Publish(snapshot.Snapshot{})
		}
		c.startReplica(ctx, p, t, r.slot, history)
		return
	}
	slot, err := c.opts.Store.Add(t)
	if err != nil {
		c.logRefused(t, err.Error())
		return
	}
	c.startReplica(ctx, p, t, slot, replica.History{})
}

// maxLogged is the number of refused or unusable targets that are logged per change.
const maxLogged = 10

func duplicateOf(t *target.Target) string {
	return "another has its pool_id and replica_id: " + target.Public(t.MetricsURL)
}

func (c *Collector) logRefused(t *target.Target, reason string) {
	c.refusalsLogged++
	if c.refusalsLogged <= maxLogged {
		c.opts.Logger.Warn(
			"Target refused", "pool_id", t.PoolID, "replica_id", t.ReplicaID, "url", target.Public(t.MetricsURL),
			"reason", reason,
		)
	}
}

// startReplica starts a replica with the history of its predecessor.
func (c *Collector) startReplica(
	ctx context.Context, p *pool, t *target.Target, slot *snapshot.Slot, history replica.History,
) {
	ctx, cancel := context.WithCancel(ctx)
	r := &runningReplica{
		Replica: replica.New(t, p.shared, slot, c.opts.Logger),
		slot:    slot,
		pool:    p,
		foundBy: p,
		cancel:  cancel,
	}
	c.replicas[t.Key()] = r
	p.users++
	c.freeMemory.Reset(freeMemoryAfter)
	r.Inherit(history)
	if t.Silent {
		r.PublishSilent()
	}
	for _, s := range r.Schedules() {
		r.tasks = append(
			r.tasks,
			c.scheduler.add(s.Key, s.Interval, s.Soon, func(missed uint64, b *lane.Batch) { s.Due(ctx, missed, b) }),
		)
	}
}

// stopAll stops everything and waits for it.
func (c *Collector) stopAll() {
	for _, p := range c.running {
		p.cancel()
	}
	for _, p := range c.running {
		p.awaitEnd()
	}
	c.changing.Lock()
	defer c.changing.Unlock()
	replicas := c.cancelAll()
	c.end(replicas, nil)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range replicas {
		r.pool.release()
	}
	for _, p := range c.running {
		p.release()
	}
	clear(c.replicas)
	clear(c.running)
}

// cancelAll cancels all replicas and returns them.
func (c *Collector) cancelAll() []*runningReplica {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.freeMemory.Stop()
	all := slices.Collect(maps.Values(c.replicas))
	for _, r := range all {
		c.cancel(r)
	}
	return all
}
