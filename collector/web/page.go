package web

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
)

type pages struct {
	store   *snapshot.Store
	own     *ownPage
	config  func() exposition.Config
	metrics *metrics

	// slots limits the pages that are built at once, flight lets equal readers wait for one.
	slots  chan struct{}
	flight singleflight.Group

	// merging guards what belongs to the whole page.
	merging     sync.Mutex
	merger      exposition.Merger
	differences differences

	mu sync.Mutex
	// shared are the pages that are young enough for other readers, bytes their size.
	shared map[string]*page
	bytes  int64
}

// offer is what a client accepts: one encoding, and a format that depends on the names on the page.
type offer struct {
	// legacy is the format of a page whose names all use the classic character set, utf8 that of
	// other pages.
	legacy, utf8 exposition.Format
	encoding     exposition.Encoding
}

func (o *offer) format(l *exposition.Layout) *exposition.Format {
	if l.NeedsUTF8() {
		return &o.utf8
	}
	return &o.legacy
}

// page is a compressed page. It is immutable.
type page struct {
	begin       time.Time
	contentType string
	body        []byte
}

func newPages(store *snapshot.Store, own *ownPage, config func() exposition.Config, m *metrics) *pages {
	return &pages{store: store, own: own, config: config, metrics: m, slots: make(chan struct{}, runtime.GOMAXPROCS(0)), shared: make(map[string]*page)}
}

func (p *pages) negotiate(header http.Header) offer {
	openMetrics := p.config().OpenMetrics
	return offer{
		legacy:   exposition.Negotiate(header, openMetrics, false),
		utf8:     exposition.Negotiate(header, openMetrics, true),
		encoding: exposition.NegotiateEncoding(strings.Join(header.Values("Accept-Encoding"), ",")),
	}
}

// encoded returns a page in the offered encoding. Readers share a page while it is being built, and
// for a short time after that.
func (p *pages) encoded(q *query, o *offer) (*page, error) {
	maxAge, key := time.Duration(p.config().PageMaxAge), fmt.Sprintf("%q %q", *q, *o)
	p.mu.Lock()
	pg := p.shared[key]
	p.mu.Unlock()
	if pg != nil && time.Since(pg.begin) < maxAge {
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
	pg := &page{begin: time.Now()}
	plan := p.plan(q)
	format := o.format(plan.layout)
	pg.contentType = format.ContentType
	var length int64
	var err error
	pg.body, length, err = plan.layout.WithFormat(format.Expfmt).Compress(o.encoding, plan.blocks, q.only())
	p.observe(q, length)
	p.metrics.buildTime.Observe(time.Since(pg.begin).Seconds())
	return pg, err
}

func (p *pages) observe(q *query, length int64) {
	if q.all() {
		p.metrics.pageBytes.Set(float64(length))
	}
}

const pageOverhead = 1 << 10

// share keeps a page until it is too old, if there is memory for it. After that only its readers
// hold it.
func (p *pages) share(key string, pg *page, maxAge time.Duration) {
	size := int64(len(pg.body) + len(key) + pageOverhead)
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
