package collector

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/discovery/targetgroup"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/replica"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/selfmetrics"
	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Options are what a collector works with.
type Options struct {
	// Store receives the replicas' snapshots.
	Store *snapshot.Store
	// Logger gets the changes: targets that come, go, fail and recover.
	Logger *slog.Logger
	// Registerer takes the collector's metrics about itself.
	Registerer prometheus.Registerer
}

// Collector keeps one loop running for each target of the configuration.
type Collector struct {
	opts Options
	// all is what the replicas of all pools have in common.
	all     replica.Pool
	metrics *metrics
	clock   *clock
	// pools counts the changes of the pools that run, renewed says so.
	pools   atomic.Uint64
	renewed chan struct{}
	// scraper makes the client of a pool.
	scraper func(scrape.Config, *slog.Logger) (scrape.Scraper, error)
	// grace is how long replicas of a pool whose discovery starts again are kept
	// while not all of its sources have answered.
	grace time.Duration

	// waiting has the pools of the last configuration until they are begun to be run.
	waiting chan []*pool

	mu sync.Mutex
	// wanted are the pools of the last configuration.
	wanted   []*pool
	running  map[string]*pool
	replicas map[string]*running
	// tidy gives memory back to the system, tidyAfter the last change of the fleet.
	tidy *time.Timer
	// named is how many targets were refused by the last change.
	named int
}

// tidyAfter is how long it takes until new replicas have their first pages and their
// answers. What it takes to get to know a server is more than what is kept of it,
// and an exporter that then makes next to no garbage would have it for minutes more.
const tidyAfter = 45 * time.Second

// startsAtOnce is how many replicas may start at a time for each processor, which is
// more than it can work on.
const startsAtOnce = 16

// New returns a collector without configuration.
func New(opts Options) (*Collector, error) {
	shared := scrape.NewResources()
	c := &Collector{
		opts:    opts,
		waiting: make(chan []*pool, 1), renewed: make(chan struct{}, 1), scraper: newScraper(shared), grace: handover,
		running: make(map[string]*pool), replicas: make(map[string]*running),
	}
	id := rand.Text()
	m, err := newMetrics(opts.Registerer, id, shared)
	if err != nil {
		return nil, fmt.Errorf("registering the collector's metrics: %w", err)
	}
	c.all = replica.Pool{
		Starts: replica.NewStarts(startsAtOnce * runtime.GOMAXPROCS(0)), Resources: shared, Origin: time.Now(),
		Marker: fmt.Sprintf("%sinstance_info{instance_id=%q}", selfmetrics.Prefix, id), Panicked: m.panics.Inc,
	}
	c.metrics, c.clock = m, newClock(c.all.Origin)
	c.tidy = time.AfterFunc(tidyAfter, debug.FreeOSMemory)
	c.tidy.Stop()
	return c, nil
}

// ApplyConfig takes a configuration over, before or while the collector runs.
// Everything that can fail is built first; on error nothing changes. Targets
// that are the same before and after keep their loops, their clocks and their
// windows.
func (c *Collector) ApplyConfig(cfg *config.File) error {
	part, err := shardOf(cfg.Sharding)
	if err != nil {
		return err
	}
	var built []*pool
	for i := range cfg.Pools {
		p, err := c.build(cfg, &cfg.Pools[i])
		if err != nil {
			for _, b := range built {
				b.release()
			}
			return fmt.Errorf("pool %q: %w", cfg.Pools[i].PoolID, err)
		}
		p.shard = part
		built = append(built, p)
	}
	c.metrics.part(part)
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case overtaken := <-c.waiting:
		for _, p := range overtaken {
			p.release()
		}
	default:
	}
	c.wanted = built
	c.waiting <- built
	return nil
}

// Run runs the configured pools until ctx ends, and returns when all of their
// work has ended.
func (c *Collector) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var others sync.WaitGroup
	others.Go(func() { c.clock.run(ctx) })
	others.Go(func() { c.runSkew(ctx) })
	defer others.Wait()
	for {
		select {
		case <-ctx.Done():
			c.stopAll()
			return nil
		case wanted := <-c.waiting:
			c.swap(ctx, wanted)
		}
	}
}

// Ready reports whether every pool's targets were looked for and every target
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
		if l.slot.Status().Health == target.HealthUnknown && !l.Target().Silent {
			return false
		}
	}
	return true
}

// ScrapeOnce tries every target of the configuration once, without starting loops,
// and joins what failed. The snapshots stay in the store.
func (c *Collector) ScrapeOnce(ctx context.Context) error {
	_, err := c.walk(ctx, handover)
	return err
}

// Walk looks for the targets of every pool, for at most the given time where a
// source does not answer, and tries each of them once. It says what was found; the
// snapshots stay in the store. Nothing goes on running.
func (c *Collector) Walk(ctx context.Context, patience time.Duration) []target.PoolDiscovery {
	all, _ := c.walk(ctx, patience)
	return all
}

// atOnce is how many targets are tried at once by a walk.
const atOnce = 16

// walk gives what was found of each pool, and what failed.
func (c *Collector) walk(ctx context.Context, patience time.Duration) ([]target.PoolDiscovery, error) {
	c.mu.Lock()
	wanted := c.wanted
	c.mu.Unlock()
	all, failed := make([]target.PoolDiscovery, len(wanted)), make([][]error, len(wanted))
	slots := make(chan struct{}, atOnce)
	var walks sync.WaitGroup
	for i, p := range wanted {
		walks.Go(func() {
			groups, answered := p.lookOnce(ctx, patience)
			found, became := p.targets(groups, c.opts.Logger)
			became.Answered, became.Sources, became.Targets = answered, p.sources.Sources(), len(found)
			all[i], failed[i] = became, make([]error, len(found))
			for j, t := range found {
				slots <- struct{}{}
				walks.Go(func() {
					defer func() { <-slots }()
					failed[i][j] = c.once(ctx, p, t)
				})
			}
		})
	}
	walks.Wait()
	return all, errors.Join(slices.Concat(failed...)...)
}

// lookOnce runs the sources of a pool until each has answered, and gives what
// they found; answered is false where none has.
func (p *pool) lookOnce(ctx context.Context, patience time.Duration) (found []*targetgroup.Group, answered bool) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	p.sources.Run(ctx, func(groups []*targetgroup.Group) {
		found, answered = groups, true
		if !p.unanswered() {
			cancel()
		}
	})
	return found, answered
}

// once scrapes one target and gives its failure back.
func (c *Collector) once(ctx context.Context, p *pool, t *target.Target) error {
	slot, err := c.opts.Store.Add(t)
	if err != nil {
		return err
	}
	r := replica.New(t, p.shared, slot, c.opts.Logger)
	asking, cancel := context.WithCancel(ctx)
	status := r.Once(asking)
	cancel()
	r.Close()
	switch {
	case status.Health == target.HealthUp || t.Silent:
		return nil
	case status.LastError == "":
		return fmt.Errorf("%s: given up: %w", target.Public(t.MetricsURL), ctx.Err())
	}
	return fmt.Errorf("%s: %s", target.Public(t.MetricsURL), status.LastError)
}
