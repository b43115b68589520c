package collector

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/discovery/targetgroup"
	"golang.org/x/sync/semaphore"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/own"
	"github.com/trtllm-exporter/trtllm_exporter/collector/replica"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
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
	changed chan struct{}
	clock   *clock
	// pools counts the changes of the pools that run, renewed says so.
	pools   atomic.Uint64
	renewed chan struct{}
	// scraper makes the client of a pool.
	scraper func(scrape.Config, *slog.Logger) (scrape.Scraper, error)
	// grace is how long replicas of a pool whose discovery starts again are kept
	// while not all of its sources have answered.
	grace time.Duration

	mu sync.Mutex
	// wanted are the pools of the last configuration, taken says that they were begun
	// to be run.
	wanted   []*pool
	taken    bool
	running  map[string]*pool
	replicas map[string]*running
	tidy     tidy
}

// startsAtOnce is how many replicas may start at a time for each processor, which is
// more than it can work on.
const startsAtOnce = 16

// New returns a collector without configuration.
func New(opts Options) (*Collector, error) {
	shared := scrape.NewResources()
	c := &Collector{
		opts:    opts,
		changed: make(chan struct{}, 1), renewed: make(chan struct{}, 1), scraper: newScraper(shared), grace: handover,
		running: make(map[string]*pool), replicas: make(map[string]*running),
	}
	id := rand.Text()
	m, err := newMetrics(opts.Registerer, id, shared)
	if err != nil {
		return nil, fmt.Errorf("registering the collector's metrics: %w", err)
	}
	c.all = replica.Pool{
		Starts: semaphore.NewWeighted(int64(startsAtOnce * runtime.GOMAXPROCS(0))), Origin: time.Now(),
		Marker: fmt.Sprintf("%sinstance_info{instance_id=%q}", own.Prefix, id), Panicked: m.panics.Inc,
	}
	c.metrics, c.clock = m, newClock(c.all.Origin)
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
	c.want(built)
	select {
	case c.changed <- struct{}{}:
	default:
	}
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
		case <-c.changed:
			if wanted, ok := c.take(); ok {
				c.swap(ctx, wanted)
			}
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

// ScrapeOnce tries every static target of the configuration once, without
// starting loops, and joins what failed. The snapshots stay in the store.
func (c *Collector) ScrapeOnce(ctx context.Context) error {
	c.mu.Lock()
	wanted := c.wanted
	c.mu.Unlock()
	var errs []error
	for _, p := range wanted {
		looking, cancel := context.WithCancel(ctx)
		p.sources.Run(looking, func(groups []*targetgroup.Group) {
			if looking.Err() != nil {
				return
			}
			cancel()
			found, _ := p.targets(groups, c.opts.Logger)
			for _, t := range found {
				errs = append(errs, c.once(ctx, p, t))
			}
		})
		cancel()
	}
	return errors.Join(errs...)
}

// atOnce is how many targets are tried at once by a walk.
const atOnce = 16

// Walk looks for the targets of every pool, for at most the given time where a
// source does not answer, and tries each of them once. It says what was found; the
// snapshots stay in the store. Nothing goes on running.
func (c *Collector) Walk(ctx context.Context, patience time.Duration) []target.Search {
	c.mu.Lock()
	wanted := c.wanted
	c.mu.Unlock()
	all := make([]target.Search, len(wanted))
	slots := make(chan struct{}, atOnce)
	var walks sync.WaitGroup
	for i, p := range wanted {
		walks.Go(func() {
			groups, answered := p.lookOnce(ctx, patience)
			found, became := p.targets(groups, c.opts.Logger)
			became.Answered, became.Sources, became.Targets = answered, p.sources.Sources(), len(found)
			all[i] = became
			for _, t := range found {
				slots <- struct{}{}
				walks.Go(func() {
					defer func() { <-slots }()
					_ = c.once(ctx, p, t) // Its status says how it failed.
				})
			}
		})
	}
	walks.Wait()
	return all
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
		return fmt.Errorf("%s: given up: %w", t.MetricsURL, ctx.Err())
	}
	return fmt.Errorf("%s: %s", t.MetricsURL, status.LastError)
}
