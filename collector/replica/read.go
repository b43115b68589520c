package replica

import (
	"errors"
	"fmt"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
)

// read parses a page with the labels of now, and reads what it says of its server
// once for each shape. What a first page says is read before its series are labelled,
// and another one that shows its server in a new light is parsed again with the right
// labels, so that no page is ever mixed. Errors are of [scrape.Error].
func (r *Replica) read(p *scrape.Fetched) (*exposition.Block, error) {
	g := &r.page
	if err := g.whole(&p.Page, r.status.LastReason == string(scrape.ReasonConnect)); err != nil {
		return nil, err
	}
	r.identify(g.last)
	if g.shape == nil {
		if failed := p.Page.Secret(); failed != nil {
			return nil, failed
		}
		if watched, err := g.cache.ParseWatched(p.Page.Body, p.Page.ContentType); err == nil {
			r.identify(engine.ReadPage(r.server.Engine, watched))
		}
	}
	raw, err := g.cache.Parse(p.Page.Body, p.Page.ContentType)
	if g.shape != nil && (err != nil || raw.Shape() != g.shape) {
		// The text is new, and may be quoted.
		if failed := p.Page.Secret(); failed != nil {
			return nil, failed
		}
	}
	switch {
	case err != nil:
		return nil, failure(err)
	case raw.Shape() != g.shape:
		return r.reshape(raw, p)
	case g.last.Refresh(raw):
		g.identity.Page, r.shown.known = g.last, nil
	}
	return raw, nil
}

// reshape reads what a page of another shape says. One that is refused says nothing.
func (r *Replica) reshape(raw *exposition.Block, p *scrape.Fetched) (*exposition.Block, error) {
	g := &r.page
	if empty(raw.Shape()) && !r.server.Engine.EmptyPage() && !exposition.IsOpenMetrics(p.Page.ContentType) {
		return nil, &scrape.Error{Reason: scrape.ReasonEmpty, Err: fmt.Errorf("%s answered 200 without a sample: Triton does so on any path but /metrics, check the path of the target", p.Server.RedactedURL())}
	}
	says := engine.ReadNext(r.server.Engine, raw, g.last)
	if r.identify(says) {
		var err error
		if raw, err = g.cache.Parse(p.Page.Body, p.Page.ContentType); err != nil {
			return nil, failure(err)
		}
		says = engine.ReadNext(r.server.Engine, raw, g.last)
	}
	// Of several processes each has series of its own: that is no news.
	if g.shape != nil && r.numbers.deriver.Processes() == 0 {
		r.tally.Reshaped++
	}
	g.shape, g.last = raw.Shape(), says
	g.identity.Page, r.shown.known = says, nil
	return raw, nil
}

// empty reports whether a page has no sample, not even one that is left out.
func empty(s *exposition.Shape) bool {
	drops := s.Drops()
	return s.Lines() == 0 && drops.Total() == 0 && s.LeftOut().Series == 0
}

// failure gives an error of the parser its reason.
func failure(err error) error {
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
	return &scrape.Error{Reason: reason, Err: err}
}
