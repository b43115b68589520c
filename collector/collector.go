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
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/discovery/targetgroup"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/replica"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/secret"
	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Options configures a collector.
type Options struct {
	// Store receives the replicas' snapshots.
	Store *snapshot.Store
	// Logger logs targets that appear, disappear, fail and recover.
	Logger *slog.Logger
	// Registerer registers the collector's own metrics.
	Registerer prometheus.Registerer
	// Secrets learns the secrets of all configurations; nil for a store of its own.
	Secrets *secret.Store
}

// Collector scrapes every target of the configuration.
type Collector struct {
	opts Options
	// base holds the settings that the replicas of all pools share.
	base replica.Pool
	// kinds are the kinds of servers of the last configuration.
	kinds     atomic.Pointer[engine.Kinds]
	metrics   *metrics
	scheduler *scheduler
	// poolChanges counts changes of the running pools.
	poolChanges atomic.Uint64
	newScraper  func(scrape.Config, *slog.Logger) (scrape.Scraper, error)
	// grace is how long the replicas of a pool stay after its discovery was restarted, until all
	// of its sources have answered.
	grace time.Duration

	// applied holds the pools of the last configuration until Run receives them.
	applied chan []*pool

	// changing is held during each change of the replicas, also while one ends, so that no other
	// takes over its key before. It is locked before mu, which guards the fields below and is not
	// held while waiting. What is known of running pools changes under both, so that either is
	// enough to read it.
	changing sync.Mutex
	mu       sync.Mutex
	// configured are the pools of the last configuration.
	configured []*pool
	running    map[string]*pool
	replicas   map[string]*runningReplica
	contests   contests
	// freeMemory returns memory to the system freeMemoryAfter the last change of the replicas.
	freeMemory *time.Timer
	// refusalsLogged is the number of targets refused by the last change.
	refusalsLogged int
}

// freeMemoryAfter is how long it takes until new replicas have their first pages and answers.
// They need more memory than what is retained of them, and the exporter then allocates so little
// that the garbage collector would keep that memory for minutes.
const freeMemoryAfter = 45 * time.Second

// startsPerCPU is the number of replicas per CPU that may start at once, more than a CPU can work
// on.
const startsPerCPU = 16

// New returns a collector without configuration.
func New(opts Options) (*Collector, error) {
	shared := scrape.NewResources()
	if opts.Secrets == nil {
		opts.Secrets = shared.Secrets
	}
	shared.Secrets = opts.Secrets
	c := &Collector{
		opts:    opts,
		applied: make(chan []*pool, 1),
		grace:   handover,
		newScraper: func(cfg scrape.Config, log *slog.Logger) (scrape.Scraper, error) {
			return shared.Client(cfg, log)
		},
		running:  make(map[string]*pool),
		replicas: make(map[string]*runningReplica),
		contests: make(contests),
	}
	id := rand.Text()
	m, err := newMetrics(opts.Registerer, id, shared)
	if err != nil {
		return nil, fmt.Errorf("registering the collector's metrics: %w", err)
	}
	c.base = replica.Pool{
		Starts:    scrape.NewStarts(int64(startsPerCPU * runtime.GOMAXPROCS(0))),
		Resources: shared,
		Origin:    time.Now(),
		Kinds:     &c.kinds,
		Marker:    fmt.Sprintf("%sinstance_info{instance_id=%q}", assess.MetricPrefix, id),
		Panicked:  m.panics.Inc,
	}
	c.metrics, c.scheduler = m, newScheduler(c.base.Origin)
	c.freeMemory = time.AfterFunc(freeMemoryAfter, debug.FreeOSMemory)
	c.freeMemory.Stop()
	return c, nil
}

// ApplyConfig applies a configuration before or while the collector runs. Everything that can
// fail is built first, so that an error changes nothing. Unchanged targets keep their replicas
// with their schedules and windows.
func (c *Collector) ApplyConfig(cfg *config.File) error {
	if err := cfg.Sharding.Place(""); err != nil {
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
		built = append(built, p)
	}
	if !c.kinds.Load().Equal(cfg.Kinds) {
		c.kinds.Store(cfg.Kinds)
	}
	c.metrics.shards.Reset()
	if s := cfg.Sharding; s.Total > 1 {
		c.metrics.shards.WithLabelValues(strconv.Itoa(*s.Index)).Set(float64(s.Total))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case unused := <-c.applied:
		for _, p := range unused {
			p.release()
		}
	default:
	}
	c.configured = built
	c.applied <- built
	return nil
}

// Run runs the configured pools until ctx is done, and returns after all of their work has ended.
func (c *Collector) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var background sync.WaitGroup
	background.Go(func() { c.scheduler.run(ctx) })
	background.Go(func() { c.publishPoolSeries(ctx) })
	background.Go(func() { c.settleNames(ctx) })
	defer background.Wait()
	for {
		select {
		case <-ctx.Done():
			c.stopAll()
			return nil
		case configured := <-c.applied:
			c.swap(ctx, configured)
		}
	}
}

// Ready reports whether discovery has answered for every configured pool.
func (c *Collector) Ready() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.configured {
		if running := c.running[p.cfg.PoolID]; running == nil || !running.synced {
			return false
		}
	}
	return len(c.configured) > 0
}

// scrapeConcurrency is the number of targets that ScrapeOnce scrapes at once.
const scrapeConcurrency = 16

// ScrapeOnce discovers the targets of every pool, without Run, and scrapes each target once. It
// waits for each pool's sources for at most timeout. It returns what discovery found and the
// errors of the scrapes; the snapshots stay in the store.
func (c *Collector) ScrapeOnce(ctx context.Context, timeout time.Duration) ([]target.PoolDiscovery, error) {
	c.mu.Lock()
	pools := c.configured
	c.mu.Unlock()
	searches, failed := make([]target.PoolDiscovery, len(pools)), make([][]error, len(pools))
	slots := make(chan struct{}, scrapeConcurrency)
	var running sync.WaitGroup
	for i, p := range pools {
		running.Go(func() {
			groups, answered := p.discoverOnce(ctx, timeout)
			found, search := targetsOf(&p.cfg, p.shard, groups, c.opts.Logger)
			found = p.named(found)
			search.Answered, search.Sources, search.Targets = answered, p.sources.Sources(), len(found)
			searches[i], failed[i] = search, make([]error, len(found))
			for j, t := range found {
				slots <- struct{}{}
				running.Go(func() {
					defer func() { <-slots }()
					failed[i][j] = c.scrapeTarget(ctx, p, t)
				})
			}
		})
	}
	running.Wait()
	return searches, errors.Join(slices.Concat(failed...)...)
}

// discoverOnce runs the sources of a pool until all have answered, and returns what they found;
// answered is false if none has.
func (p *pool) discoverOnce(ctx context.Context, timeout time.Duration) (found []*targetgroup.Group, answered bool) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	p.sources.Run(ctx, func(groups []*targetgroup.Group) {
		found, answered = groups, true
		if !p.hasUnanswered() {
			cancel()
		}
	})
	return found, answered
}

func (c *Collector) scrapeTarget(ctx context.Context, p *pool, t *target.Target) error {
	slot, err := c.opts.Store.Add(t)
	if err != nil {
		return err
	}
	r := replica.New(t, p.shared, slot, c.opts.Logger)
	scraping, cancel := context.WithCancel(ctx)
	status := r.ScrapeOnce(scraping)
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
