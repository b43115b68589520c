package fetch

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Scraper asks for pages, and puts the questions that distinguish kinds of
// servers. It is safe for concurrent use.
type Scraper interface {
	engine.Asker

	// Scrape asks for one page; see [scrape.Client.Scrape].
	Scrape(ctx context.Context, url string, buf []byte) (scrape.Page, error)
}

// Page is a page as it came, or why none did.
type Page struct {
	// Server is what was found at the address on the way.
	Server Server
	Body   scrape.Page
	Err    error
	// Start is when the page was asked for, Took how long the answer to
	// the last question took, Came when all was there.
	Start time.Time
	Took  time.Duration
	Came  time.Time

	buffer *buffer
}

// Release ends the use of the page's body.
func (p *Page) Release() {
	if p.buffer != nil {
		buffers.Put(p.buffer)
		p.buffer, p.Body.Body = nil, nil
	}
}

// Fetcher asks for one page of a server, and finds out where it is and of what
// kind. It is used once.
type Fetcher struct {
	// Page is what comes of it; Server is what is known so far, Start when the
	// page is asked for.
	Page

	Scraper Scraper
	Target  *target.Target
	// Up is true when the scrape before succeeded.
	Up bool
	// Marker is text that only the exporter's own page has.
	Marker string
	// Patience is the shortest time between two looks at which kind of server it
	// is that failed before.
	Patience time.Duration
}

// Fetch asks for the page.
func (f *Fetcher) Fetch(ctx context.Context) *Page {
	ctx, cancel := context.WithTimeout(ctx, f.Target.Timeout)
	defer cancel()
	f.buffer = borrow()
	f.Body, f.Err = f.ask(ctx)
	f.Came = time.Now()
	return &f.Page
}

// ask finds the page, asks for it, and asks again when another kind of server
// turns out to be there.
func (f *Fetcher) ask(ctx context.Context) (scrape.Page, error) {
	if err := f.locate(ctx); err != nil {
		return scrape.Page{}, err
	}
	page, err := f.scrape(ctx, f.Server.URL)
	if f.moved(ctx, page.Body, err) {
		page, err = f.scrape(ctx, f.Server.URL)
	}
	if err == nil {
		f.recognise(ctx, page.Body)
	}
	return page, err
}

// scrape asks for one page; what it takes is the time of the scrape.
func (f *Fetcher) scrape(ctx context.Context, address string) (scrape.Page, error) {
	begun := time.Now()
	page, err := f.Scraper.Scrape(ctx, address, f.buffer.memory)
	f.Took = time.Since(begun)
	f.buffer.keep(page.Body)
	return page, err
}

// locate finds out where the page is and what kind of server shows it, unless
// the target says so.
func (f *Fetcher) locate(ctx context.Context) error {
	if f.Server.URL != "" {
		return nil
	}
	u, err := url.Parse(f.Target.MetricsURL)
	if err != nil {
		return &scrape.Error{Reason: scrape.ReasonProtocol, Err: err}
	}
	if !pathless(u) {
		if !f.Server.Known() {
			f.Server.become(engine.FromURL(u.Path))
		}
		f.Server.URL = u.String()
		return nil
	}
	u.Path = ""
	if f.Server.Known() {
		f.Server.URL = u.String() + f.Server.Engine.MetricsPath()
		return nil
	}
	kind, path := engine.Detect(ctx, f.Scraper, u.String())
	if kind == engine.Unknown {
		return f.unrecognised(ctx, u)
	}
	f.Server.become(kind)
	f.Server.URL = u.String() + path
	return nil
}

// unrecognised says why no known server is at an address; the failure of its page
// says that best.
func (f *Fetcher) unrecognised(ctx context.Context, u *url.URL) error {
	page, err := f.scrape(ctx, u.String()+"/metrics")
	switch {
	case err == nil && bytes.Contains(page.Body, []byte(f.Marker)):
		err = &scrape.Error{Reason: scrape.ReasonSelfScrape, Err: exposition.ErrSelfScrape}
	case err == nil:
		err = &scrape.Error{Reason: scrape.ReasonEmpty, Err: fmt.Errorf("no page of a known server at %s: set engine and metrics_path", u.Redacted())}
	}
	if hint := engine.Hint(ctx, f.Scraper, u.String()); hint != "" {
		err = &scrape.Error{Reason: scrape.ReasonOf(err), Err: fmt.Errorf("%w; %s", err, hint)}
	}
	return err
}

// moved looks again at a server that failed before and answers now, with a page
// or without one: another kind of server may be there. True when it is, so that
// the page has to be asked for again. The server is asked no more often than
// about its identity.
func (f *Fetcher) moved(ctx context.Context, body []byte, failed error) bool {
	if !f.Server.Known() || !f.Server.Uncertain || !f.Target.Auto() || !answering(failed) {
		return false
	}
	u, err := url.Parse(f.Target.MetricsURL)
	if err != nil || !pathless(u) {
		// The operator's path stays; recognise sees what its page shows.
		return false
	}
	if seen := engine.FromPage(body); seen != engine.Unknown && engine.Alike(f.Server.Engine.Kind(), seen) {
		f.Server.Uncertain = false
		return false
	}
	if time.Since(f.Server.asked) < f.Patience {
		return false
	}
	f.Server.asked = time.Now()
	u.Path = ""
	kind, path := engine.Detect(ctx, f.Scraper, u.String())
	if kind == engine.Unknown {
		return false
	}
	f.Server.Uncertain = false
	if !f.Server.become(kind) {
		return false
	}
	f.Server.URL = u.String() + path
	return true
}

// recognise settles the kind of a server whose path was configured by what is on
// its page, and sees when the page is of another kind than is configured. It
// looks at a page that is new, or back after a fault.
func (f *Fetcher) recognise(ctx context.Context, body []byte) {
	if f.Server.Known() && f.Up {
		return
	}
	seen := engine.FromPage(body)
	if seen == engine.Unknown {
		return
	}
	if f.Target.Auto() && !engine.Alike(f.Server.Engine.Kind(), seen) {
		if u, err := url.Parse(f.Server.URL); err == nil {
			seen = engine.Recognise(ctx, f.Scraper, u.Scheme+"://"+u.Host, body)
		}
		f.Server.become(seen)
	}
	f.Server.pageOf = seen
}

// answering says whether a server answered at all, be it with a failure.
func answering(failed error) bool {
	if failed == nil {
		return true
	}
	switch scrape.ReasonOf(failed) { //nolint:exhaustive // The others say nothing of who answers.
	case scrape.ReasonHTTPStatus, scrape.ReasonContentType, scrape.ReasonRedirect, scrape.ReasonEmpty:
		return true
	}
	return false
}

// pathless says whether the target leaves the path of its page to the engine.
func pathless(u *url.URL) bool { return u.Path == "" || u.Path == "/" }
