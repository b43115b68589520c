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
		<-p.done
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

func (c *Collector) removePool(ctx context.Context, p *pool) {
	c.changing.Lock()
	defer c.changing.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.running, p.cfg.PoolID)
	c.poolChanges.Add(1)
	p.graceOver, p.found, p.targets = true, nil, nil
	maps.DeleteFunc(c.contests, func(_ string, x *contest) bool { return x.pool == p.cfg.PoolID })
	c.removeReplicas(ctx, p)
	p.release()
	for _, m := range []*prometheus.GaugeVec{c.metrics.targets, c.metrics.dropped, c.metrics.empty} {
		m.DeleteLabelValues(p.cfg.PoolID)
	}
	c.countRefused()
}

// startPool starts the discovery of a pool. Replicas of a running pool with the same id stay if
// discovery finds their targets again; other replicas are removed once every source has answered
// or the grace period is over.
func (c *Collector) startPool(run context.Context, p *pool) {
	ctx, cancel := context.WithCancel(run)
	p.cancel, p.done = cancel, make(chan struct{})
	c.mu.Lock()
	if previous := c.running[p.cfg.PoolID]; previous != nil {
		previous.release()
	}
	c.running[p.cfg.PoolID] = p
	c.poolChanges.Add(1)
	c.mu.Unlock()
	grace := time.AfterFunc(c.grace, func() { c.endGrace(ctx, run, p) })
	go func() {
		defer close(p.done)
		defer grace.Stop()
		c.metrics.discoveries.Store(p.cfg.PoolID, p.sources)
		defer c.metrics.discoveries.Delete(p.cfg.PoolID)
		p.sources.Run(ctx, func(groups []*targetgroup.Group) {
			if ctx.Err() == nil {
				// Replicas outlive the discovery that found them, so that a reload leaves no gap
				// in the page.
				c.sync(run, p, groups)
			}
		})
	}()
}

// endGrace stops waiting for sources that have not answered. If none has, it waits for the first
// answer. It does nothing once the discovery of the pool is canceled: another may run.
func (c *Collector) endGrace(discovery, run context.Context, p *pool) {
	c.changing.Lock()
	defer c.changing.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	p.graceOver = true
	if p.synced && discovery.Err() == nil {
		c.removeReplicas(run, p)
		c.countRefused()
	}
}

// sync starts, keeps and removes replicas so that they match the targets found.
func (c *Collector) sync(ctx context.Context, p *pool, groups []*targetgroup.Group) {
	found, search := targetsOf(&p.cfg, p.shard, groups, c.opts.Logger)
	c.changing.Lock()
	defer c.changing.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refusalsLogged = 0
	p.found, p.synced = found, true
	c.place(ctx, p, &search)
}

// place gives the targets found for a pool their names, and starts, keeps and removes replicas so
// that they match.
func (c *Collector) place(ctx context.Context, p *pool, search *target.PoolDiscovery) {
	kept, refused := c.contests.settle(p.cfg.PoolID, p.found)
	p.targets, p.duplicates = make(map[string]*target.Target, len(kept)), refused
	for _, t := range kept {
		p.targets[t.Key()] = t
	}
	for _, t := range refused {
		c.logRefused(t, duplicateOf(p.targets[t.Key()]))
	}
	c.removeReplicas(ctx, p)
	for key, t := range p.targets {
		if r := c.replicas[key]; r != nil && replaces(p, t, r) {
			c.cancel(r) // Cancel all first, so that they end at the same time.
		}
	}
	for _, t := range kept {
		c.ensure(ctx, p, t)
	}
	search.Targets = len(p.targets)
	c.recordSearch(p, search)
	c.countRefused()
}

// removeReplicas stops the replicas of a pool whose targets are gone. Targets of other pools that
// were refused because of them take over their keys.
func (c *Collector) removeReplicas(ctx context.Context, p *pool) {
	var removed []*runningReplica
	waiting := !p.graceOver && p.hasUnanswered()
	for key, r := range c.replicas {
		inherited := r.foundBy != p && waiting
		if r.foundBy.cfg.PoolID == p.cfg.PoolID && p.targets[key] == nil && !inherited {
			c.cancel(r)
			removed = append(removed, r)
			delete(c.replicas, key)
		}
	}
	if len(removed) == 0 {
		return
	}
	for _, r := range removed {
		c.closeReplica(r)
		c.opts.Store.Remove(r.slot)
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

// closeReplica waits until a canceled replica has ended, without the lock, so that only changes
// wait for its jobs.
func (c *Collector) closeReplica(r *runningReplica) {
	c.mu.Unlock()
	r.Close()
	c.mu.Lock()
	r.pool.release()
}

// replaces reports whether a target replaces the replica with its key in the same pool, because
// it must be scraped in another way.
func replaces(p *pool, t *target.Target, r *runningReplica) bool {
	unchanged := reflect.DeepEqual(r.Target(), t) && (r.foundBy == p || r.pool.treatsAlike(p))
	return r.foundBy.cfg.PoolID == p.cfg.PoolID && !unchanged
}

// ensure makes sure that a target has a replica, unless it is refused. A replica that it replaces
// is canceled already.
func (c *Collector) ensure(ctx context.Context, p *pool, t *target.Target) {
	r, runs := c.replicas[t.Key()]
	switch {
	case runs && r.foundBy.cfg.PoolID != p.cfg.PoolID:
		c.logRefused(t, duplicateOf(r.Target()))
		return
	case runs && !replaces(p, t, r):
		r.foundBy = p
		return
	case runs:
		c.closeReplica(r)
		r.slot.SetTarget(t)
		var history replica.History
		if r.Target().MetricsURL == t.MetricsURL {
			history = r.History()
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
		c.opts.Logger.Warn("Target refused", "pool_id", t.PoolID, "replica_id", t.ReplicaID, "url", target.Public(t.MetricsURL), "reason", reason)
	}
}

// startReplica starts a replica with the history of its predecessor.
func (c *Collector) startReplica(ctx context.Context, p *pool, t *target.Target, slot *snapshot.Slot, history replica.History) {
	ctx, cancel := context.WithCancel(ctx)
	r := &runningReplica{Replica: replica.New(t, p.shared, slot, c.opts.Logger), slot: slot, pool: p, foundBy: p, cancel: cancel}
	c.replicas[t.Key()] = r
	p.users++
	c.freeMemory.Reset(freeMemoryAfter)
	r.Inherit(history)
	if t.Silent {
		r.PublishSilent()
	}
	for _, s := range r.Schedules() {
		r.tasks = append(r.tasks, c.scheduler.add(s.Key, s.Interval, s.Soon, func(missed uint64, b *lane.Batch) { s.Due(ctx, missed, b) }))
	}
}

// stopAll stops everything and waits for it.
func (c *Collector) stopAll() {
	for _, p := range c.running {
		p.cancel()
		<-p.done
	}
	c.changing.Lock()
	defer c.changing.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.freeMemory.Stop()
	for _, r := range c.replicas {
		c.cancel(r)
	}
	for _, r := range c.replicas {
		c.closeReplica(r)
		c.opts.Store.Remove(r.slot)
	}
	for _, p := range c.running {
		p.release()
	}
	clear(c.replicas)
	clear(c.running)
}
