// Package parse reads the pages of one server: it refuses what may be cut, has the
// series labelled as their owner is known just then, and reads what a page says of
// its server once for each shape. It knows neither replicas nor where pages come
// from.
package parse

import (
	"errors"
	"fmt"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/fetch"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
)

// Reader reads the pages of one server. It is not safe for concurrent use.
type Reader struct {
	// Cache parses, and labels the series.
	Cache *exposition.Cache

	engine engine.Engine
	// last is what the last good page says of its server; it is of shape.
	last  *engine.Page
	shape *exposition.Shape
	// cut is where the pages before may have been cut.
	cut cut
}

// NewReader returns a reader for the pages of a kind of server; what is watched of
// them is the kind's to say.
func NewReader(e engine.Engine, opts exposition.Options) *Reader {
	opts.Watch = engine.Watch(e)
	return &Reader{Cache: exposition.NewCache(opts), engine: e}
}

// Last is what the last good page says of its server, nil before there was one.
func (r *Reader) Last() *engine.Page { return r.last }

// News is what is new of a page that was read.
type News int

// What may be new: nothing but numbers, what some numbers say of the server, or
// the series, on the first page or on a later one.
const (
	Nothing News = iota
	OtherValues
	FirstShape
	AnotherShape
)

// Read parses a page and reads what it says of its server, once for
// each shape. Identify brings the labels up to date with what a page says, and is
// true when they changed: what a first page says is read before its series are
// labelled, and another one that shows its server in a new light is read again with
// the right labels, so that no page is ever mixed. Refused says that the server
// refused connections just before. Errors are of [scrape.Error].
func (r *Reader) Read(p *fetch.Page, refused bool, identify func(*engine.Page) bool) (*exposition.Block, News, error) {
	if err := r.whole(&p.Body, refused); err != nil {
		return nil, Nothing, err
	}
	identify(r.last)
	if r.shape == nil {
		if failed := p.Body.Secret(); failed != nil {
			return nil, Nothing, failed
		}
		if glanced, err := r.Cache.Glance(p.Body.Body, p.Body.ContentType); err == nil {
			identify(engine.ReadPage(r.engine, glanced))
		}
	}
	raw, err := r.Cache.Parse(p.Body.Body, p.Body.ContentType)
	if r.shape != nil && (err != nil || raw.Shape() != r.shape) {
		// The text is new, and may be quoted.
		if failed := p.Body.Secret(); failed != nil {
			return nil, Nothing, failed
		}
	}
	if err != nil {
		return nil, Nothing, failure(err)
	}
	if raw.Shape() == r.shape {
		if r.last.Refresh(raw) {
			return raw, OtherValues, nil
		}
		return raw, Nothing, nil
	}
	return r.reshape(raw, p, identify)
}

// reshape reads what a page of another shape says. One that is refused says nothing.
func (r *Reader) reshape(raw *exposition.Block, p *fetch.Page, identify func(*engine.Page) bool) (*exposition.Block, News, error) {
	if empty(raw.Shape()) && !r.engine.EmptyPage() && !exposition.SaysItsEnd(p.Body.ContentType) {
		return nil, Nothing, &scrape.Error{Reason: scrape.ReasonEmpty, Err: fmt.Errorf("%s answered 200 without a sample: Triton does so on any path but /metrics, check the path of the target", p.Server.Shown())}
	}
	says, news := engine.ReadNext(r.engine, raw, r.last), FirstShape
	if r.shape != nil {
		news = AnotherShape
		if identify(says) {
			var err error
			if raw, err = r.Cache.Parse(p.Body.Body, p.Body.ContentType); err != nil {
				return nil, Nothing, failure(err)
			}
			says = engine.ReadNext(r.engine, raw, r.last)
		}
	}
	r.shape, r.last = raw.Shape(), says
	return raw, news, nil
}

// empty says whether a page has no sample, not even one that is left out.
func empty(s *exposition.Shape) bool {
	drops := s.Drops()
	return s.Lines() == 0 && drops.Total() == 0 && s.LeftOut().Series == 0
}

// failure gives an error of the parser its reason.
func failure(err error) error {
	reason := scrape.ReasonParse
	switch {
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
