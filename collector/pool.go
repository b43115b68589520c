package collector

import (
	"context"
	"log/slog"
	"reflect"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/discovery/targetgroup"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/discovery"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/replica"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// MostReaders is how many connections readers may have, so that targets have theirs.
func MostReaders() int { return scrape.MaxReaderConnections() }

// newScraper makes clients that ask over the network, and share resources.
func newScraper(shared *scrape.Resources) func(scrape.Config, *slog.Logger) (scrape.Scraper, error) {
	return func(cfg scrape.Config, log *slog.Logger) (scrape.Scraper, error) { return shared.Client(cfg, log) }
}

// pool is a pool of the configuration with everything that was built for it.
type pool struct {
	cfg     config.Pool
	shard   shard
	shared  *replica.Pool
	scraper scrape.Scraper
	sources *discovery.Manager
	// users are how many ask with the scraper: the search while it is wanted, and each
	// replica.
	users int

	cancel context.CancelFunc
	done   chan struct{}
	// synced is true when targets were found once; late says that no source is waited
	// for any more. Wanted are the targets found last, by their keys.
	synced, late bool
	wanted       map[string]*target.Target
	// refused are the targets found last whose key another of them has.
	refused []*target.Target
	// search is what became of all that discovery found last.
	search target.PoolDiscovery
}

// build makes what a pool needs to run.
func (c *Collector) build(cfg *config.File, pc *config.Pool) (*pool, error) {
	log := c.opts.Logger.With("pool_id", pc.PoolID)
	scraper, err := c.scraper(pc.HTTP, log)
	if err != nil {
		return nil, err
	}
	sources, err := discovery.New(pc.Discovery, log, prometheus.WrapRegistererWith(prometheus.Labels{"pool_id": pc.PoolID}, c.opts.Registerer))
	if err != nil {
		scraper.Close()
		return nil, err
	}
	return &pool{cfg: *pc, shared: c.shared(cfg, pc, scraper), scraper: scraper, sources: sources, users: 1}, nil
}

// shared is what the replicas of a pool have in common.
func (c *Collector) shared(cfg *config.File, pc *config.Pool, scraper scrape.Scraper) *replica.Pool {
	p := c.all
	p.Scraper, p.Canary = scraper, pc.Canary
	p.Window, p.StallAfter, p.FailingMin = time.Duration(cfg.Global.Derive.Window), time.Duration(pc.StallAfter), pc.FailingMin
	p.Page, p.Limits, p.Output = cfg.Exposition, pc.Limits.Series, pc.Limits.Output.Budget()
	p.Labels = assess.Labels{
		Versions: cfg.Identity.Versions, Rules: pc.MetricRelabelConfigs, Honor: pc.HonorLabels, ModelIDs: pc.ModelIDs,
	}
	p.Promises = replica.Promises{
		StartBudget: time.Duration(pc.StartBudget), Objectives: pc.SLO.Objectives(),
		Expect: assess.Expectations{
			EngineVersion: pc.Expect.EngineVersion, TRTLLMVersion: pc.Expect.TRTLLMVersion, Determinism: pc.Expect.Determinism,
		},
	}
	p.Questions = replica.Questions{
		IdentityInterval: time.Duration(pc.IdentityInterval), EngineDir: pc.EngineDir,
		GRPC: pc.APIProtocol == config.ProtocolGRPC, IterationStats: pc.IterationStats,
	}
	return &p
}

// targets are those of what discovery found, see targetsOf.
func (p *pool) targets(groups []*targetgroup.Group, log *slog.Logger) ([]*target.Target, target.PoolDiscovery) {
	return targetsOf(&p.cfg, p.shard, groups, log)
}

// unanswered reports whether some source has not answered yet.
func (p *pool) unanswered() bool {
	return slices.ContainsFunc(p.sources.Sources(), func(s target.Source) bool { return s.LastSuccess.IsZero() })
}

// awaits reports whether some source has not answered yet, and is waited for.
func (p *pool) awaits() bool { return !p.late && p.unanswered() }

// release says that one user less asks with the scraper, and closes it after the
// last: a replica that goes on over a reload has that of the pool that began it.
func (p *pool) release() {
	p.users--
	if p.users == 0 {
		p.scraper.Close()
	}
}

// same reports whether both pools would run alike, so that the running one may
// stay as it is.
func (p *pool) same(o *pool) bool {
	return p.alike(o) && p.shard == o.shard && reflect.DeepEqual(p.cfg, o.cfg)
}

// alike reports whether both pools treat the same target alike, however they find
// it, so that its replica may go on when the search is another.
func (p *pool) alike(o *pool) bool {
	a, b := p.cfg, o.cfg
	for _, c := range []*config.Pool{&a, &b} {
		// What these say shows in the targets.
		c.Discovery, c.RelabelConfigs = discovery.Config{}, nil
		c.Scheme, c.MetricsPath, c.APIPort, c.APIPath, c.APIScheme = "", "", 0, "", ""
	}
	x, y := p.shared, o.shared
	vocabularies := func(e *exposition.Config) any { return []any{e.Raw, e.Normalised, e.WindowGauges, e.Aliases} }
	return x.Labels.Versions == y.Labels.Versions && x.Window == y.Window &&
		reflect.DeepEqual(vocabularies(&x.Page), vocabularies(&y.Page)) && reflect.DeepEqual(a, b)
}
