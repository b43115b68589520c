package collector

import (
	"context"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/prometheus/discovery/targetgroup"

	"github.com/trtllm-exporter/trtllm_exporter/collector/replica"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape/lane"
	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// running is a replica that is scraped on the collector's clock.
type running struct {
	*replica.Replica

	slot *snapshot.Slot
	// pool is the one that the replica works with; search the one whose search
	// found its target last. That may be younger, when the two treat targets
	// alike.
	pool, search *pool
	alarms       []*alarm
	cancel       context.CancelFunc
}

// end begins to end the replica's work, stop waits for that too.
func (c *Collector) end(l *running) {
	for _, a := range l.alarms {
		c.clock.remove(a)
	}
	l.cancel()
}

func (c *Collector) stop(l *running) {
	c.end(l)
	l.Close()
}

// handover is how long the replicas of a pool whose sources changed stay when
// some source of the new search has not answered: one refresh of most sources.
const handover = 30 * time.Second

// swap makes the wanted pools the running ones.
func (c *Collector) swap(ctx context.Context, wanted []*pool) {
	keep := make(map[string]bool)
	for _, p := range wanted {
		old := c.running[p.cfg.PoolID]
		if old != nil && old.same(p) {
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
		still := slices.ContainsFunc(wanted, func(w *pool) bool { return w.cfg.PoolID == id })
		if !still {
			c.forget(ctx, p)
		}
	}
	for _, p := range wanted {
		if !keep[p.cfg.PoolID] {
			c.start(ctx, p)
		}
	}
}

// forget ends the replicas of a pool that is no longer wanted.
func (c *Collector) forget(ctx context.Context, p *pool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.running, p.cfg.PoolID)
	c.renew()
	p.late, p.wanted = true, nil
	c.drop(ctx, p)
	p.release()
	c.metrics.forget(p.cfg.PoolID)
	c.countRefused()
}

// renew notes that other pools run than before.
func (c *Collector) renew() {
	c.pools.Add(1)
	select {
	case c.renewed <- struct{}{}:
	default:
	}
}

// start begins to look for a pool's targets. Replicas of the pool that runs
// under the same id are taken over when they are found again; those that are
// not found leave when every source has answered, or the grace is over.
func (c *Collector) start(run context.Context, p *pool) {
	ctx, cancel := context.WithCancel(run)
	p.cancel, p.done = cancel, make(chan struct{})
	c.mu.Lock()
	if before := c.running[p.cfg.PoolID]; before != nil {
		before.release()
	}
	c.running[p.cfg.PoolID] = p
	c.renew()
	c.mu.Unlock()
	var settling sync.WaitGroup
	settling.Go(func() {
		timer := time.NewTimer(c.grace)
		defer timer.Stop()
		select {
		case <-ctx.Done():
		case <-timer.C:
			c.settle(run, p)
		}
	})
	go func() {
		defer close(p.done)
		p.sources.Run(ctx, func(groups []*targetgroup.Group) {
			if ctx.Err() == nil {
				// Replicas outlive the search that found them, so that another
				// search of the pool leaves no gap on the page.
				c.sync(run, p, groups)
			}
		})
		settling.Wait()
	}()
}

// settle waits no longer for sources that have not answered. When none has,
// the first that does decides.
func (c *Collector) settle(ctx context.Context, p *pool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p.late = true
	if p.synced {
		c.drop(ctx, p)
		c.countRefused()
	}
}

// sync makes the replicas of a pool those of the targets found.
func (c *Collector) sync(ctx context.Context, p *pool, groups []*targetgroup.Group) {
	found, became := p.targets(groups, c.opts.Logger)
	c.mu.Lock()
	defer c.mu.Unlock()
	p.synced, c.named = true, 0
	p.wanted, p.refused = make(map[string]*target.Target, len(found)), nil
	for _, t := range found {
		if other, taken := p.wanted[t.Key()]; taken {
			p.refused = append(p.refused, t)
			c.refuse(t, hasName(other))
			continue
		}
		p.wanted[t.Key()] = t
	}
	c.drop(ctx, p)
	for key, t := range p.wanted {
		if l := c.replicas[key]; l != nil && c.replaces(p, t, l) {
			c.end(l) // All of them, so that they are waited for together.
		}
	}
	for _, t := range found {
		if p.wanted[t.Key()] == t {
			c.keep(ctx, p, t)
		}
	}
	became.Targets = len(p.wanted)
	c.searched(p, &became)
	c.countRefused()
}

// drop ends the replicas of the pool's targets that are not wanted any more. The
// keys that become free go to other pools' targets that were refused them.
func (c *Collector) drop(ctx context.Context, p *pool) {
	var ending []*running
	awaits := p.awaits()
	for key, l := range c.replicas {
		leftover := l.search != p && awaits
		if l.search.cfg.PoolID == p.cfg.PoolID && p.wanted[key] == nil && !leftover {
			c.end(l)
			ending = append(ending, l)
			delete(c.replicas, key)
		}
	}
	for _, l := range ending {
		l.Close()
		c.opts.Store.Remove(l.slot)
		l.pool.release()
	}
	if len(ending) == 0 {
		return
	}
	c.tidy.Reset(tidyAfter)
	for id, other := range c.running {
		for key, t := range other.wanted {
			if id != p.cfg.PoolID && c.replicas[key] == nil {
				c.keep(ctx, other, t)
			}
		}
	}
}

// replaces reports whether a target of a pool takes the place of a replica of the
// same pool and name, which has to be asked otherwise.
func (*Collector) replaces(p *pool, t *target.Target, l *running) bool {
	same := reflect.DeepEqual(l.Target(), t) && (l.search == p || l.pool.alike(p))
	return l.search.cfg.PoolID == p.cfg.PoolID && !same
}

// keep lets a target's replica go on, replaces it, or starts it.
func (c *Collector) keep(ctx context.Context, p *pool, t *target.Target) {
	l, runs := c.replicas[t.Key()]
	switch {
	case runs && l.search.cfg.PoolID != p.cfg.PoolID:
		c.refuse(t, hasName(l.Target()))
		return
	case runs && !c.replaces(p, t, l):
		l.search = p
		return
	case runs:
		c.stop(l)
		l.pool.release()
		l.slot.SetTarget(t)
		var past replica.Past
		if l.Target().MetricsURL == t.MetricsURL {
			past = l.Past()
		}
		c.launch(ctx, p, t, l.slot, past)
		return
	}
	slot, err := c.opts.Store.Add(t)
	if err != nil {
		c.refuse(t, err.Error())
		return
	}
	c.launch(ctx, p, t, slot, replica.Past{})
}

// mostNamed is how many targets that are left out the log names of one change.
const mostNamed = 10

// hasName says that a target has the name of another.
func hasName(t *target.Target) string {
	return "another has its pool_id and replica_id: " + target.Public(t.MetricsURL)
}

// refuse leaves a target out.
func (c *Collector) refuse(t *target.Target, why string) {
	c.named++
	if c.named <= mostNamed {
		c.opts.Logger.Warn("Target refused", "pool_id", t.PoolID, "replica_id", t.ReplicaID, "url", target.Public(t.MetricsURL), "reason", why)
	}
}

// launch starts a replica on the clock, with the past of one before it.
func (c *Collector) launch(ctx context.Context, p *pool, t *target.Target, slot *snapshot.Slot, past replica.Past) {
	ctx, cancel := context.WithCancel(ctx)
	l := &running{Replica: replica.New(t, p.shared, slot, c.opts.Logger), slot: slot, pool: p, search: p, cancel: cancel}
	c.replicas[t.Key()] = l
	p.users++
	c.tidy.Reset(tidyAfter)
	l.Remember(past)
	if t.Silent {
		l.Present()
	}
	for _, s := range l.Schedules() {
		l.alarms = append(l.alarms, c.clock.add(s.Key, s.Every, s.Soon, func(missed uint64, b *lane.Batch) { s.Due(ctx, missed, b) }))
	}
}

// stopAll ends everything and waits for it.
func (c *Collector) stopAll() {
	for _, p := range c.running {
		p.cancel()
		<-p.done
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tidy.Stop()
	for _, l := range c.replicas {
		c.end(l)
	}
	for key, l := range c.replicas {
		l.Close()
		c.opts.Store.Remove(l.slot)
		l.pool.release()
		delete(c.replicas, key)
	}
	for id, p := range c.running {
		p.release()
		delete(c.running, id)
	}
}
