package collector

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/discovery/targetgroup"

	"github.com/trtllm-exporter/trtllm_exporter/collector/discovery"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Options are what a collector works with.
type Options struct {
	// Store receives the replicas' snapshots.
	Store *snapshot.Store
	// Logger is told of changes: targets that come, go, fail and recover.
	Logger *slog.Logger
	// Registerer takes the collector's metrics about itself.
	Registerer prometheus.Registerer
}

// Collector keeps one loop running for each target of the configuration.
type Collector struct {
	opts    Options
	origin  time.Time
	marker  string
	metrics *metrics
	changed chan struct{}

	mu       sync.Mutex
	wanted   []*pool
	running  map[string]*pool
	replicas map[string]*loop
}

// loop is a replica whose goroutine runs.
type loop struct {
	*replica

	cancel context.CancelFunc
	done   chan struct{}
}

// stop ends the loop and waits for it.
func (l *loop) stop() {
	l.cancel()
	<-l.done
}

// New returns a collector without configuration.
func New(opts Options) (*Collector, error) {
	c := &Collector{
		opts: opts, origin: time.Now(),
		changed: make(chan struct{}, 1),
		running: make(map[string]*pool), replicas: make(map[string]*loop),
	}
	id := rand.Text()
	c.marker = fmt.Sprintf("%sinstance_info{instance_id=%q}", OwnPrefix, id)
	m, err := newMetrics(opts.Registerer, id)
	if err != nil {
		return nil, fmt.Errorf("registering the collector's metrics: %w", err)
	}
	c.metrics = m
	return c, nil
}

// ApplyConfig takes a configuration over, before or while the collector runs.
// Everything that can fail is built first; on error nothing changes. Targets
// that are the same before and after keep their loops, their clocks and their
// windows.
func (c *Collector) ApplyConfig(cfg *Config, page exposition.Config) error {
	var built []*pool
	for i := range cfg.Pools {
		p, err := c.build(cfg, &cfg.Pools[i], page)
		if err != nil {
			for _, b := range built {
				b.client.Close()
			}
			return fmt.Errorf("pool %q: %w", cfg.Pools[i].PoolID, err)
		}
		built = append(built, p)
	}
	c.mu.Lock()
	c.wanted = built
	c.mu.Unlock()
	select {
	case c.changed <- struct{}{}:
	default:
	}
	return nil
}

// build makes what a pool needs to run.
func (c *Collector) build(cfg *Config, pc *PoolConfig, page exposition.Config) (*pool, error) {
	p := &pool{
		cfg: *pc, page: page, versions: cfg.Identity.Versions,
		window: time.Duration(cfg.Global.Derive.Window), origin: c.origin, marker: c.marker,
	}
	log := c.opts.Logger.With("pool_id", pc.PoolID)
	client, err := scrape.New(pc.HTTP, log)
	if err != nil {
		return nil, err
	}
	p.client = client
	sources, err := discovery.New(pc.Discovery, log, prometheus.WrapRegistererWith(prometheus.Labels{"pool_id": pc.PoolID}, c.opts.Registerer))
	if err != nil {
		client.Close()
		return nil, err
	}
	p.sources = sources
	return p, nil
}

// Run runs the configured pools until ctx ends, and returns when every loop
// has ended.
func (c *Collector) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for {
		select {
		case <-ctx.Done():
			c.stop()
			return nil
		case <-c.changed:
			c.swap(ctx)
		}
	}
}

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
			c.sync(ctx, p, nil)
			p.client.Close()
			c.forget(id)
		}
	}
	for _, p := range wanted {
		if !keep[p.cfg.PoolID] {
			c.start(ctx, p)
		}
	}
}

// forget takes a pool out of the running ones.
func (c *Collector) forget(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.running, id)
}

// start begins to look for a pool's targets. Replicas of the pool that runs
// under the same id are taken over when the first of them are found.
func (c *Collector) start(run context.Context, p *pool) {
	ctx, cancel := context.WithCancel(run)
	p.cancel, p.done = cancel, make(chan struct{})
	c.mu.Lock()
	c.running[p.cfg.PoolID] = p
	c.mu.Unlock()
	go func() {
		defer close(p.done)
		p.sources.Run(ctx, func(groups []*targetgroup.Group) {
			if ctx.Err() == nil {
				// Loops outlive the search that found them, so that a pool
				// can be searched anew without a gap on the page.
				c.sync(run, p, groups)
			}
		})
	}()
}

// sync makes the loops of a pool those of the targets found.
func (c *Collector) sync(ctx context.Context, p *pool, groups []*targetgroup.Group) {
	found := p.targets(groups, c.opts.Logger)
	c.mu.Lock()
	defer c.mu.Unlock()
	p.synced = true
	wanted := make(map[string]*target.Target, len(found))
	for _, t := range found {
		if other, taken := wanted[t.Key()]; taken {
			c.refuse(t, other.MetricsURL)
			continue
		}
		wanted[t.Key()] = t
	}
	for key, l := range c.replicas {
		if l.pool.cfg.PoolID == p.cfg.PoolID && wanted[key] == nil {
			l.stop()
			c.opts.Store.Remove(l.slot)
			delete(c.replicas, key)
		}
	}
	for _, t := range found {
		if wanted[t.Key()] == t {
			c.keep(ctx, p, t)
		}
	}
	c.metrics.targets.WithLabelValues(p.cfg.PoolID).Set(float64(len(wanted)))
}

// keep lets a target's loop run on, starts it anew, or starts it.
func (c *Collector) keep(ctx context.Context, p *pool, t *target.Target) {
	l, runs := c.replicas[t.Key()]
	switch {
	case runs && l.pool.cfg.PoolID != p.cfg.PoolID:
		c.refuse(t, l.target.MetricsURL)
		return
	case runs && l.pool == p && reflect.DeepEqual(l.target, t):
		return
	case runs:
		l.stop()
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
	l := &loop{replica: r, cancel: cancel, done: make(chan struct{})}
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
		delete(c.replicas, key)
	}
	for id, p := range c.running {
		p.client.Close()
		delete(c.running, id)
	}
}

// Ready says whether every pool's targets were looked for and every target
// was tried once.
func (c *Collector) Ready() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.wanted) == 0 || len(c.running) == 0 {
		return false
	}
	for _, p := range c.running {
		if !p.synced {
			return false
		}
	}
	for _, l := range c.replicas {
		if l.slot.Status().Health == target.HealthUnknown {
			return false
		}
	}
	return true
}

// ScrapeOnce tries every static target of the configuration once, without
// starting loops, and joins what failed. The snapshots stay in the store.
func (c *Collector) ScrapeOnce(ctx context.Context) error {
	c.mu.Lock()
	wanted := c.wanted
	c.mu.Unlock()
	var errs []error
	for _, p := range wanted {
		ctx, cancel := context.WithCancel(ctx)
		p.sources.Run(ctx, func(groups []*targetgroup.Group) {
			if ctx.Err() != nil {
				return
			}
			cancel()
			for _, t := range p.targets(groups, c.opts.Logger) {
				errs = append(errs, c.once(context.WithoutCancel(ctx), p, t))
			}
		})
		cancel()
	}
	return errors.Join(errs...)
}

// once scrapes one target and gives its failure back.
func (c *Collector) once(ctx context.Context, p *pool, t *target.Target) error {
	slot, err := c.opts.Store.Add(t)
	if err != nil {
		return err
	}
	r := newReplica(t, p, slot, c.opts.Logger)
	ctx, cancel := context.WithCancel(ctx)
	var asking sync.WaitGroup
	asking.Go(func() { r.runAsk(ctx) })
	r.scrape(ctx)
	cancel()
	asking.Wait()
	if r.status.Health != target.HealthUp {
		return fmt.Errorf("%s: %s", t.MetricsURL, r.status.LastError)
	}
	return nil
}
