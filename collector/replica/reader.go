package replica

import (
	"context"
	"errors"
	"fmt"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// pageReader is the state that is kept from page to page.
type pageReader struct {
	// cache parses pages, label labels their series; label is nil before the first page.
	cache *exposition.Cache
	label *exposition.Labeler
	// last is what the last good page says about its server, shape the shape of that page; both
	// are nil before the first.
	last  *engine.Page
	shape *exposition.Shape
	// truncated counts the pages in a row that may be truncated.
	truncated truncated
	// identity determines the labels; nil before the first page.
	identity *assess.Identity
	// unlisted is how many models the last good page counts of which the facts do not know.
	unlisted int
	// restarted is true if the last page waited because its process had restarted.
	restarted bool
	// repeats is true if the last new page repeated credentials.
	repeats bool
}

// reset starts over with a new cache and new windows.
func (r *Replica) reset() {
	r.deriver = derive.NewDeriver(derive.Options{
		Window:         r.pool.Window,
		Interval:       r.target.Interval,
		Engine:         r.server.Engine,
		StallAfter:     r.pool.StallAfter,
		FailingMin:     r.pool.FailingMin,
		Objectives:     r.pool.Objectives,
		Aliases:        r.pool.Page.Aliases,
		AliasesOnly:    r.pool.Page.Normalised == 0,
		NoWindowGauges: !r.pool.Page.WindowGauges,
		Off:            r.pool.Page.Off(),
		RawHidden:      r.pool.Page.Raw == exposition.RawNone,
		RawWhole:       r.pool.Page.Raw == exposition.RawAll,
		Output:         r.pool.Output,
		Stats:          &r.deriveStats,
	})
	r.reader = pageReader{cache: exposition.NewCache(exposition.Options{
		Limits:     r.pool.limits(),
		Reserved:   []string{assess.MetricPrefix, derive.Prefix},
		SelfMarker: r.pool.Marker,
		Watch:      engine.Watch(r.server.Engine),
	})}
	r.memory.ForgetPages()
	r.published.findings = nil
}

func (r *Replica) reserve(c exposition.Cost) error {
	var err error
	if r.pageMemory, err = r.pool.Resources.ReservePage(r.pageMemory, c.Bytes()); err != nil {
		return fmt.Errorf("%w; it has %d series of %d names", err, c.Series, c.Names)
	}
	return nil
}

// setServer sets the server that was detected, and forgets the previous one if it was of another
// kind.
func (r *Replica) setServer(ctx context.Context, s scrape.Server) {
	changed := s.Epoch != r.server.Epoch
	r.server = s
	if !changed {
		return
	}
	r.log.Debug("Server recognised", "engine", string(s.Engine.Name))
	r.reset()
	r.answers = engine.Answers{}
	r.answers.Inherit(r.history.health, r.api())
	r.memory.Canary.Forget()
	r.memory.NewProcess()
	r.goOn()
	r.jobs = jobs{page: r.jobs.page, releaseStart: r.jobs.releaseStart}
	r.queryHealth(ctx)
	r.queryIdentity(ctx)
}

// updateIdentity updates the labels from the answers of the API and from a page, and reports
// whether they changed. Later answers apply to the next page.
func (r *Replica) updateIdentity(page *engine.Page) bool {
	r.answers.Reconcile(r.api(), page)
	if page != nil && page.LearnRanks(r.server.Engine.RanksBy(r.answers.Facts)) {
		r.published.findings = nil
	}
	current := r.reader.identity
	if current != nil && current.Describes(r.described) && current.Facts == r.answers.Facts && current.Page == page {
		return false
	}
	r.reader.unlisted = page.Unlisted(r.answers.Facts)
	next := assess.NewIdentity(r.described, &r.pool.Labels, r.server.Engine, page, r.answers.Facts)
	if next.Equal(current) {
		current.Take(next)
		return false
	}
	r.reader.identity = next
	r.status.DetectedEngine = string(r.server.PageKind())
	r.status.EngineVersion, r.status.TRTLLMVersion = next.EngineVersion, next.TRTLLMVersion
	r.status.VersionSource = string(next.Source)
	r.status.Worker = next.Labels.Get(assess.LabelTier) == string(engine.TierWorker)
	r.reader.label = new(next.Labeler())
	r.deriver.Rename(next.Naming)
	return true
}

// read parses a page with the current labels and, once per shape, reads what it says about its
// server. The first page is read before its series are labeled, and a page that changes the
// identity is parsed again, so that no page has mixed labels.
func (r *Replica) read(p *scrape.Fetched) (*exposition.Block, error) {
	reader := &r.reader
	if err := reader.checkTruncated(&p.Page, r.status.LastReason == string(scrape.ReasonConnect)); err != nil {
		return nil, err
	}
	r.updateIdentity(reader.last)
	page, err := r.readText(&p.Page)
	var raw *exposition.Block
	if err == nil {
		raw, err = r.add(&page)
	}
	switch {
	case err != nil:
		return nil, parseError(&p.Page, err)
	case raw.Shape() != reader.shape:
		return r.readShape(raw, p)
	case reader.last.Refresh(raw):
		reader.identity.Page, r.published.findings = reader.last, nil
		r.answers.Reconcile(r.api(), reader.last)
	}
	return raw, nil
}

// readText reads the text of a page, without series that have a secret. A page that differs from the
// previous one in values only lacks the same series.
func (r *Replica) readText(p *scrape.Page) (exposition.Page, error) {
	reader := &r.reader
	if page, ok := reader.cache.Match(p.Body, p.ContentType, reader.label); ok {
		return page, nil
	}
	secret := p.Secret()
	if secret != nil && !reader.repeats {
		r.log.Warn("Page repeats credentials; series with one are left out")
	}
	reader.repeats = secret != nil
	return reader.cache.Read(p.Body, p.ContentType, secret)
}

// add labels a page that was read. A new page reserves its memory first, and the first one
// determines the labels.
func (r *Replica) add(page *exposition.Page) (*exposition.Block, error) {
	if page.New() {
		if err := r.reserve(page.Cost()); err != nil {
			return nil, err
		}
		if r.reader.shape == nil {
			if watched, err := page.Watched(); err == nil {
				r.updateIdentity(engine.ReadPage(r.server.Engine, watched))
			}
		}
	}
	return r.reader.cache.Add(page, r.reader.label)
}

// readShape reads what a page of a new shape says about its server.
func (r *Replica) readShape(raw *exposition.Block, p *scrape.Fetched) (*exposition.Block, error) {
	reader, shape := &r.reader, raw.Shape()
	drops := shape.Drops()
	empty := shape.Lines() == 0 && drops.Total() == 0 && shape.LeftOut().Series == 0
	if empty && !r.server.Engine.EmptyPage && !exposition.IsOpenMetrics(p.Page.ContentType) {
		return nil, noPage(p, "a sample: Triton does so on any path but /metrics, check the path of the target")
	}
	page := engine.ReadNext(r.server.Engine, raw, reader.last)
	if r.lostAll(page) {
		return nil, noPage(p, "any of the series that it had: %s", r.whyLost())
	}
	if !page.ReadsAny() && r.notStarted() {
		return nil, noPage(p, "any of the series of %s, and nothing listens at %s, where its API is by api_port",
			r.target.Engine, target.Scrub(r.api().URL()))
	}
	if r.updateIdentity(page) {
		again, err := r.readText(&p.Page)
		if err == nil {
			raw, err = reader.cache.Add(&again, reader.label)
		}
		if err != nil {
			return nil, parseError(&p.Page, err)
		}
		page = engine.ReadNext(r.server.Engine, raw, reader.last)
	}
	// Several processes behind one address have different series each.
	if reader.shape != nil && r.deriver.Processes() == 0 {
		r.counters.reshaped++
	}
	reader.shape, reader.last = raw.Shape(), page
	reader.identity.Page, r.published.findings = page, nil
	r.status.CountersAppear = r.server.Engine.Quirks(page).CountersAppear
	return raw, nil
}

// noPage returns the failure of an answer that is no page, since it comes without something.
func noPage(p *scrape.Fetched, without string, args ...any) error {
	answer := target.Scrub(p.Server.URL) + " answered 200 without " + fmt.Sprintf(without, args...)
	return &scrape.Error{Reason: scrape.ReasonEmpty, Err: errors.New(answer)}
}

// whyLost returns what may have happened to the series of a page that has none any more.
func (r *Replica) whyLost() string {
	if r.api().Apart() && r.server.Engine.SamePort() {
		return "an agent that merges pages of a pod may have answered alone; see whether the server runs"
	}
	return "an agent that merges pages may have answered alone, or the files are gone by which processes of the server " +
		"share counters: then restart it"
}

// lostAll reports whether a page has no series that its kind of server reads, while the one before it had, and
// nothing says that the process is another one. Such a page says no more about a server than none.
func (r *Replica) lostAll(page *engine.Page) bool {
	// After other failures it may have restarted.
	mayGoOn := r.status.LastReason == "" || r.status.LastReason == string(scrape.ReasonEmpty)
	last := r.reader.last
	return mayGoOn && last != nil && last.ReadsAny() && !page.ReadsAny()
}

func parseError(p *scrape.Page, err error) error {
	reason := scrape.ReasonParse
	switch {
	case errors.Is(err, scrape.ErrNoMemory):
		reason = scrape.ReasonMemory
	case errors.Is(err, exposition.ErrSampleLimit):
		reason = scrape.ReasonSampleLimit
	case errors.Is(err, exposition.ErrLabelLimit):
		reason = scrape.ReasonLabelLimit
	case errors.Is(err, exposition.ErrSelfScrape):
		reason = scrape.ReasonSelfScrape
	case errors.Is(err, exposition.ErrContentType):
		reason = scrape.ReasonContentType
	}
	return p.Failure(reason, err)
}
