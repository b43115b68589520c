package collector

import (
	"context"
	"reflect"
	"slices"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/discovery"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/replica"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// MaxReaders returns the maximum number of connections from clients, which leaves enough for
// targets.
func MaxReaders() int { return scrape.MaxReaderConnections() }

// pool is a configured pool with everything that was built for it.
type pool struct {
	cfg     config.Pool
	shard   config.Sharding
	shared  *replica.Pool
	scraper scrape.Scraper
	sources *discovery.Manager
	// users counts the users of the scraper: each replica, and the pool itself while it is
	// configured.
	users int

	cancel context.CancelFunc
	done   chan struct{}
	// synced is true once discovery has answered, graceOver once the pool no longer waits for
	// sources.
	synced, graceOver bool
	// found holds the targets that were found last, targets those of them that have a name, by
	// key, duplicates the servers whose name another server has.
	found      []*target.Target
	targets    map[string]*target.Target
	duplicates []*target.Target
	// search summarizes what discovery found last.
	search target.PoolDiscovery
}

func (c *Collector) build(cfg *config.File, pc *config.Pool) (*pool, error) {
	log := c.opts.Logger.With("pool_id", pc.PoolID)
	scraper, err := c.newScraper(pc.HTTP, log)
	if err != nil {
		return nil, err
	}
	sources, err := discovery.New(pc.Discovery, c.opts.Secrets, log)
	if err != nil {
		scraper.Close()
		return nil, err
	}
	return &pool{
		cfg:     *pc,
		shard:   cfg.Sharding,
		shared:  c.shared(cfg, pc, scraper),
		scraper: scraper,
		sources: sources,
		users:   1,
	}, nil
}

// shared returns the settings that the replicas of a pool have in common.
func (c *Collector) shared(cfg *config.File, pc *config.Pool, scraper scrape.Scraper) *replica.Pool {
	p := c.base
	p.Scraper, p.Canary = scraper, pc.Canary
	p.Window, p.StallAfter, p.FailingMin = time.Duration(cfg.Global.Window), time.Duration(pc.StallAfter), pc.FailingMin
	p.Page, p.Limits, p.Output = cfg.Exposition, pc.Limits.Series, pc.Limits.Output.Derived()
	p.Labels = assess.Labels{
		Versions: cfg.Identity.Versions,
		Rules:    pc.MetricRelabelConfigs,
		Honor:    pc.HonorLabels,
		ModelIDs: pc.ModelIDs,
	}
	p.StartBudget, p.Objectives = time.Duration(pc.StartBudget), pc.SLO.Objectives()
	p.Expect = assess.Expectations{
		EngineVersion: pc.Expect.EngineVersion,
		TRTLLMVersion: pc.Expect.TRTLLMVersion,
		Determinism:   pc.Expect.Determinism,
	}
	p.IdentityInterval, p.EngineDir = time.Duration(pc.IdentityInterval), pc.EngineDir
	p.GRPC, p.IterationStats = pc.APIProtocol == config.ProtocolGRPC, pc.IterationStats
	return &p
}

func (p *pool) hasUnanswered() bool {
	return slices.ContainsFunc(p.sources.Sources(), func(s target.Source) bool { return s.LastSuccess.IsZero() })
}

// release removes one user of the scraper. It closes the idle connections, which may be the
// user's, and after the last user the scraper. A replica that survives a reload still uses the
// scraper of the pool that started it.
func (p *pool) release() {
	p.users--
	if p.users == 0 {
		p.scraper.Close()
		return
	}
	p.scraper.CloseIdle()
}

// redeclares reports whether a pool knows the kind of a running replica's server otherwise than the
// pool that found it, or may know one that was not recognised.
func (p *pool) redeclares(r *runningReplica) bool {
	before, now := r.foundBy.cfg.Kinds, p.cfg.Kinds
	if before.Equal(now) {
		return false
	}
	configured := r.Target().Engine
	alike := r.Target().Auto() || before.Alike(now, configured)
	return !alike || configured != string(engine.Unknown) && !before.Alike(now, r.slot.Status().DetectedEngine)
}

// equal reports whether both pools would run in the same way, so that the running pool can stay.
func (p *pool) equal(o *pool) bool {
	a, b := p.cfg, o.cfg
	alike := a.Kinds.Equal(b.Kinds)
	a.Kinds, b.Kinds = nil, nil
	return alike && p.treatsAlike(o) && reflect.DeepEqual(p.shard, o.shard) && reflect.DeepEqual(a, b)
}

// treatsAlike reports whether both pools scrape a target in the same way, no matter how they
// discover it, so that its replica can stay, unless its kind changed.
func (p *pool) treatsAlike(o *pool) bool {
	a, b := p.cfg, o.cfg
	for _, c := range []*config.Pool{&a, &b} {
		// These show in the targets.
		c.Discovery, c.RelabelConfigs = discovery.Config{}, nil
		c.Kinds, c.Cost = nil, nil
		c.Scheme = ""
		c.MetricsPath = ""
		c.APIPort = 0
		c.APIPath = ""
		c.APIScheme = ""
	}
	x, y := p.shared, o.shared
	vocabularies := func(e *exposition.Config) any { return []any{e.Raw, e.Normalised, e.WindowGauges, e.Aliases} }
	return x.Labels.Versions == y.Labels.Versions && x.Window == y.Window &&
		reflect.DeepEqual(vocabularies(&x.Page), vocabularies(&y.Page)) && reflect.DeepEqual(a, b)
}
