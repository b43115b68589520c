package web

import (
	"bytes"
	"cmp"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"golang.org/x/sync/singleflight"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
)

type pages struct {
	store   *snapshot.Store
	self    *selfPage
	config  func() exposition.Config
	metrics *metrics

	// size is the size of the last complete page; growing a buffer takes four times the memory.
	size atomic.Int64
	// slots limits the pages that are built at once. With flight, clients that request the same
	// page wait for one build.
	slots  chan struct{}
	flight singleflight.Group

	// merging guards the fields about the complete page: its last layout, and how targets differ,
	// by key.
	merging     sync.Mutex
	merger      exposition.Merger
	layout      *exposition.Layout
	conflicts   exposition.MergeStats
	differences map[string][]difference

	mu sync.Mutex
	// shared holds the pages that are young enough for other clients, bytes is their size.
	shared map[string]*page
	bytes  int64
}

// offer is what was negotiated: how names are escaped that need it, and the encoding.
type offer struct {
	escaping model.EscapingScheme
	encoding exposition.Encoding
}

// page is a compressed page. Once built, it is immutable.
type page struct {
	contentType string
	body        bytes.Buffer
}

func newPages(opts *Options, logger *slog.Logger, m *metrics) *pages {
	self := &selfPage{gatherer: opts.Registry, logger: logger, cache: exposition.NewCache(exposition.Options{})}
	return &pages{
		store:   opts.Store,
		self:    self,
		config:  opts.Exposition,
		metrics: m,
		slots:   make(chan struct{}, runtime.GOMAXPROCS(0)),
		shared:  make(map[string]*page),
	}
}

func negotiate(header http.Header) offer {
	return offer{
		escaping: exposition.NegotiateEscaping(header),
		encoding: exposition.NegotiateEncoding(strings.Join(header.Values("Accept-Encoding"), ",")),
	}
}

// encoded returns a page in the negotiated encoding. Clients share a page while it is being built
// and for a short time afterwards.
func (p *pages) encoded(q *query, o *offer) (*page, error) {
	maxAge, key := time.Duration(p.config().PageMaxAge), fmt.Sprintf("%q %v", *q, *o)
	p.mu.Lock()
	pg := p.shared[key]
	p.mu.Unlock()
	if pg != nil {
		return pg, nil
	}
	built, err, _ := p.flight.Do(key, func() (any, error) {
		pg, err := p.build(q, o)
		if err == nil {
			p.share(key, pg, maxAge)
		}
		return pg, err
	})
	pg, _ = built.(*page)
	return pg, err
}

func (p *pages) build(q *query, o *offer) (*page, error) {
	p.slots <- struct{}{}
	defer func() { <-p.slots }()
	pg, begin := &page{}, time.Now()
	plan := p.plan(q, o)
	pg.contentType = plan.layout.ContentType()
	if q.all() {
		pg.body.Grow(int(p.size.Load() * 17 / 16))
		defer func() { p.size.Store(int64(pg.body.Len())) }()
	}
	length, err := plan.layout.Compress(&pg.body, o.encoding, plan.blocks, q.only())
	p.observe(q, length)
	p.metrics.buildTime.Observe(time.Since(begin).Seconds())
	return pg, err
}

func (p *pages) observe(q *query, length int64) {
	if q.all() {
		p.metrics.pageBytes.Set(float64(length))
	}
}

const (
	// pageOverhead approximates the memory of a page besides its body.
	pageOverhead         = 1 << 10
	maxLoggedDifferences = 10
)

// share keeps a page until maxAge, if there is memory for it.
func (p *pages) share(key string, pg *page, maxAge time.Duration) {
	size := int64(pg.body.Cap() + len(key) + pageOverhead)
	p.mu.Lock()
	defer p.mu.Unlock()
	if maxAge == 0 || p.bytes+size > sharedMemory() {
		return
	}
	p.shared[key], p.bytes = pg, p.bytes+size
	time.AfterFunc(maxAge, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.bytes -= size
		if p.shared[key] == pg {
			delete(p.shared, key)
		}
	})
}

// pagePlan is the content of a page: blocks and their layout.
type pagePlan struct {
	blocks []*exposition.Block
	layout *exposition.Layout
}

// plan plans the page of a query. Only the merger for all replicas is kept: others would keep
// pages in memory until the same part is requested again. If the conflicts of the complete page
// changed, the exporter's own series are read again, so that the page shows them.
func (p *pages) plan(q *query, o *offer) *pagePlan {
	targets := p.store.Blocks(q.filter())
	if !q.allReplicas() {
		return p.merge(new(exposition.Merger), q, o, targets)
	}
	p.merging.Lock()
	defer p.merging.Unlock()
	pl := p.merge(&p.merger, q, o, targets)
	if q.all() && p.compare(pl.blocks) {
		pl = p.merge(&p.merger, q, o, targets)
	}
	return pl
}

func (p *pages) merge(m *exposition.Merger, q *query, o *offer, targets []*exposition.Block) *pagePlan {
	pl := &pagePlan{blocks: targets}
	if q.self() {
		if self := p.self.block(); self != nil {
			pl.blocks = slices.Concat([]*exposition.Block{self}, targets)
		}
	}
	pl.layout = m.Escaped(pl.blocks, o.escaping)
	return pl
}

// difference is a family whose metadata on a target differs from the page.
type difference struct {
	Family string `json:"family"`
	// In is the metadata that differs: help or type.
	In    string `json:"in"`
	Value string `json:"says"`
}

func (p *pages) differencesOf(key string) []difference {
	p.merging.Lock()
	defer p.merging.Unlock()
	return p.differences[key]
}

// compare records how the targets of the complete page differ. It logs the first differences if
// their numbers changed, and reports whether they did.
func (p *pages) compare(blocks []*exposition.Block) bool {
	layout := p.merger.Layout(blocks)
	if p.layout == layout {
		return false
	}
	stats := layout.Stats()
	changed := stats != p.conflicts
	p.layout, p.conflicts, p.differences = layout, stats, map[string][]difference{}
	p.metrics.merged(stats)
	for i, c := range layout.Conflicts() {
		if c.Kind == exposition.ConflictHelp {
			c.Value = "a different text" // It may be long and contain secrets.
		}
		lset := blocks[c.Block].Shape().Labels(0)
		pool, replica := lset.Get("pool_id"), lset.Get("replica_id")
		if changed && i < maxLoggedDifferences {
			p.self.logger.Info(
				"Target differs from others",
				"pool_id", pool,
				"replica_id", replica,
				"family", c.Family,
				"in", c.Kind,
				"says", c.Value,
			)
		}
		p.differences[pool+"/"+replica] = append(p.differences[pool+"/"+replica], difference{c.Family, c.Kind, c.Value})
	}
	return changed
}

// selfPage converts the metrics of the exporter's process to a block. The block is merged with
// families of targets that have the same name, such as process_* of Python servers; text appended
// to the page would repeat such families.
type selfPage struct {
	gatherer prometheus.Gatherer
	logger   *slog.Logger

	mu    sync.Mutex
	cache *exposition.Cache
}

// block returns the current metrics, nil if they cannot be read, which is a bug but does not
// affect the targets.
func (o *selfPage) block() *exposition.Block {
	o.mu.Lock()
	defer o.mu.Unlock()
	families, err := o.gatherer.Gather()
	var text bytes.Buffer
	for _, family := range families {
		_, e := expfmt.MetricFamilyToText(&text, family)
		err = cmp.Or(err, e)
	}
	b, e := o.cache.Parse(text.Bytes(), "", nil)
	if err = cmp.Or(e, err); err != nil {
		o.logger.Error("Own metrics are incomplete", "err", err)
	}
	return b
}

type metrics struct {
	requests  *prometheus.CounterVec
	aborted   prometheus.Counter
	panics    prometheus.Counter
	pageBytes prometheus.Gauge
	buildTime prometheus.Histogram
	conflicts *prometheus.GaugeVec
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		requests: assess.MetricHTTPRequests.NewCounterVec(), aborted: assess.MetricHTTPAborted.NewCounter(),
		panics: assess.MetricHTTPPanics.NewCounter(), pageBytes: assess.MetricPageBytes.NewGauge(),
		buildTime: assess.MetricPageBuildTime.NewHistogram(
			0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5,
		),
		conflicts: assess.MetricMetadataConflicts.NewGaugeVec(),
	}
	for _, c := range []prometheus.Collector{m.requests, m.aborted, m.panics, m.pageBytes, m.buildTime, m.conflicts} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("metrics of the web server: %w", err)
		}
	}
	m.merged(exposition.MergeStats{})
	return m, nil
}

func (m *metrics) merged(s exposition.MergeStats) {
	m.conflicts.WithLabelValues(exposition.ConflictHelp).Set(float64(s.HelpConflicts))
	m.conflicts.WithLabelValues(exposition.ConflictType).Set(float64(s.TypeConflicts))
}
