package collector

import (
	"context"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/prometheus/discovery/targetgroup"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// loop is a replica whose goroutine runs.
type loop struct {
	*replica

	// search is the pool whose search found the target last. It may be younger
	// than the pool the loop works with, when the two treat targets alike.
	search *pool
	cancel context.CancelFunc
	done   chan struct{}
}

// stop ends the loop and waits for it.
func (l *loop) stop() {
	l.cancel()
	<-l.done
}

// handover is how long the replicas of a pool whose sources changed stay when
// some source of the new search has not answered: one refresh of most sources.
const handover = 30 * time.Second

// swap makes the wanted pools the running ones.
func (c *Collector) swap(ctx context.Context) {
	c.mu.Lock()
	wanted := c.wanted
	c.mu.Unlock()
	keep := make(map[string]bool)
	for _, p := range wanted {
		old := c.running[p.cfg.PoolID]
		if old != nil && old.same(p) {
			keep[p.cfg.PoolID] = true
			p.client.Close()
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

// forget ends the loops of a pool that is no longer wanted.
func (c *Collector) forget(ctx context.Context, p *pool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.running, p.cfg.PoolID)
	p.awaited, p.wanted = 0, nil
	c.drop(ctx, p)
	p.client.Close()
	c.metrics.forget(p.cfg.PoolID)
}

// start begins to look for a pool's targets. Replicas of the pool that runs
// under the same id are taken over when they are found again; those that are
// not found leave when every source has had its say, or the grace is over.
func (c *Collector) start(run context.Context, p *pool) {
	ctx, cancel := context.WithCancel(run)
	p.cancel, p.done = cancel, make(chan struct{})
	c.mu.Lock()
	p.awaited = p.cfg.Discovery.Sources()
	c.running[p.cfg.PoolID] = p
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
				// Loops outlive the search that found them, so that a pool
				// can be searched anew without a gap on the page.
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
	p.awaited = min(p.awaited, 1)
	if p.synced {
		p.awaited = 0
		c.drop(ctx, p)
	}
}

// sync makes the loops of a pool those of the targets found.
func (c *Collector) sync(ctx context.Context, p *pool, groups []*targetgroup.Group) {
	found := p.targets(groups, c.opts.Logger)
	c.mu.Lock()
	defer c.mu.Unlock()
	p.synced, p.awaited = true, p.awaited-1
	p.wanted = make(map[string]*target.Target, len(found))
	for _, t := range found {
		if other, taken := p.wanted[t.Key()]; taken {
			c.refuse(t, other.MetricsURL)
			continue
		}
		p.wanted[t.Key()] = t
	}
	c.drop(ctx, p)
	for _, t := range found {
		if p.wanted[t.Key()] == t {
			c.keep(ctx, p, t)
		}
	}
	c.metrics.targets.WithLabelValues(p.cfg.PoolID).Set(float64(len(p.wanted)))
}

// drop ends the loops of the pool's targets that are not wanted any more. The
// keys that become free go to other pools' targets that were refused them.
func (c *Collector) drop(ctx context.Context, p *pool) {
	var ending []*loop
	for key, l := range c.replicas {
		leftover := l.search != p && p.awaited > 0
		if l.search.cfg.PoolID == p.cfg.PoolID && p.wanted[key] == nil && !leftover {
			l.cancel()
			ending = append(ending, l)
			delete(c.replicas, key)
		}
	}
	for _, l := range ending {
		l.stop()
		c.opts.Store.Remove(l.slot)
		if l.pool != p {
			l.pool.client.Close()
		}
	}
	if len(ending) == 0 {
		return
	}
	for id, other := range c.running {
		for key, t := range other.wanted {
			if id != p.cfg.PoolID && c.replicas[key] == nil {
				c.keep(ctx, other, t)
			}
		}
	}
}

// keep lets a target's loop run on, starts it anew, or starts it.
func (c *Collector) keep(ctx context.Context, p *pool, t *target.Target) {
	l, runs := c.replicas[t.Key()]
	switch {
	case runs && l.search.cfg.PoolID != p.cfg.PoolID:
		c.refuse(t, l.target.MetricsURL)
		return
	case runs && reflect.DeepEqual(l.target, t) && (l.search == p || l.pool.alike(p)):
		l.search = p
		return
	case runs:
		l.stop()
		if l.pool != p {
			l.pool.client.Close()
		}
		l.slot.Retarget(t)
		c.launch(ctx, newReplica(t, p, l.slot, c.opts.Logger))
		return
	}
	slot, err := c.opts.Store.Add(t)
	if err != nil {
		c.refuse(t, err.Error())
		return
	}
	c.launch(ctx, newReplica(t, p, slot, c.opts.Logger))
}

// refuse leaves a target out whose pool_id and replica_id another has.
func (c *Collector) refuse(t *target.Target, other string) {
	c.metrics.refused.WithLabelValues(t.PoolID).Inc()
	c.opts.Logger.Warn("Target refused, another has its pool_id and replica_id",
		"pool_id", t.PoolID, "replica_id", t.ReplicaID, "url", t.MetricsURL, "other", other)
}

// launch runs a replica's loop.
func (c *Collector) launch(ctx context.Context, r *replica) {
	ctx, cancel := context.WithCancel(ctx)
	l := &loop{replica: r, search: r.pool, cancel: cancel, done: make(chan struct{})}
	c.replicas[r.target.Key()] = l
	go func() {
		defer close(l.done)
		l.run(ctx)
	}()
}

// stop ends everything and waits for it.
func (c *Collector) stop() {
	for _, p := range c.running {
		p.cancel()
		<-p.done
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.replicas {
		l.cancel()
	}
	for key, l := range c.replicas {
		<-l.done
		c.opts.Store.Remove(l.slot)
		l.pool.client.Close()
		delete(c.replicas, key)
	}
	for id, p := range c.running {
		p.client.Close()
		delete(c.running, id)
	}
}
