package scrape

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape/lane"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Fetched is a page as it was received, or the reason why there is none.
type Fetched struct {
	// Server is what was found at the address on the way.
	Server Server
	Page   Page
	Err    error
	// Start is when the fetch began, Duration how long the last request for the page
	// took, and Received when its response ended.
	Start    time.Time
	Duration time.Duration
	Received time.Time

	buffer *buffer
}

// Retain makes the body last until Release, also that of a lane's answer.
func (p *Fetched) Retain() {
	if p.buffer == nil {
		p.Page.Body = bytes.Clone(p.Page.Body)
	}
}

// Release ends the use of the page's body.
func (p *Fetched) Release() {
	p.Page.Release()
	if p.buffer != nil {
		buffers.Put(p.buffer)
		p.buffer, p.Page = nil, Page{}
	}
}

// Fetcher requests one page of a server, and finds out where it is and whose.
type Fetcher struct {
	Fetched // The result. Server is what is known before, Start when the fetch begins.

	Scraper Scraper
	Target  *target.Target
	// Up is true when the previous scrape succeeded.
	Up bool
	// Marker is text that only the exporter's own page has.
	Marker string
	// Patience is the shortest time between two attempts to detect the kind of server.
	Patience time.Duration

	// unrecognized is true when detection found no known kind.
	unrecognized bool
}

// Fetch takes the page from the answer of a lane, if there is one, whose memory it uses.
// Otherwise it requests the page, in what remains of the timeout since Start.
func (f *Fetcher) Fetch(ctx context.Context, answer *lane.Answer) *Fetched {
	if answer != nil {
		f.Page, f.Err = lanePage(*answer, f.Server.URL)
		f.Duration, f.Received = answer.Duration, answer.Received
		return &f.Fetched
	}
	ctx, cancel := context.WithDeadline(ctx, f.Start.Add(f.Target.Timeout))
	defer cancel()
	f.buffer = buffers.Get().(*buffer) // The pool makes nothing else.
	if f.Page, f.Err = f.fetch(ctx); f.Received.IsZero() {
		f.Received = time.Now() // No page was requested.
	}
	return &f.Fetched
}

// Settled reports whether only the page is to be requested, so that a lane can do it.
func (f *Fetcher) Settled() bool {
	return f.Up && f.Server.Known() && !f.Server.Uncertain && !f.Server.Provisional && f.Server.URL != ""
}

// fetch locates the page, requests it, and requests it again when another kind of server
// turns out to be there.
func (f *Fetcher) fetch(ctx context.Context) (Page, error) {
	if err := f.locate(ctx); err != nil {
		return Page{}, err
	}
	page, err := f.scrape(ctx, f.Server.URL)
	if f.moved(ctx, page.Body, err) {
		page.Release()
		page, err = f.scrape(ctx, f.Server.URL)
	}
	f.recognize(ctx, page.Body, err)
	if f.unrecognized {
		err = f.explain(ctx, page.Body, err)
	}
	return page, err
}

// scrape requests one page. Later requests count neither for its duration nor its age.
func (f *Fetcher) scrape(ctx context.Context, address string) (Page, error) {
	start := time.Now()
	page, err := f.Scraper.Scrape(ctx, address, f.buffer.memory)
	f.Received = time.Now()
	f.Duration = f.Received.Sub(start)
	f.buffer.adopt(page.Body)
	return page, err
}

// locate finds out where the page is and which kind of server shows it, unless the
// target defines that. An unrecognized server is expected to have it where most have it.
func (f *Fetcher) locate(ctx context.Context) error {
	if f.Server.URL != "" {
		return nil
	}
	u, err := url.Parse(f.Target.MetricsURL)
	if err != nil {
		return &Error{Reason: ReasonProtocol, Err: err}
	}
	if !pathless(u) {
		f.Server.URL = u.String()
		return nil
	}
	if f.Server.Known() {
		f.Server.URL = withPath(u, f.Server.Engine.MetricsPath())
		return nil
	}
	f.Server.detected = time.Now()
	found := engine.Detect(ctx, f.Scraper, root(u).String(), true)
	if f.unrecognized = found.Kind == engine.Unknown; f.unrecognized {
		found.Path = engine.None().MetricsPath()
	}
	f.Server.setKind(found)
	f.Server.URL = withPath(u, found.Path)
	return nil
}

// explain completes the failure of an unrecognized server: it has no page, or none with
// a sample, or the address is that of a known server, but not of its page. The server is
// located again the next time.
func (f *Fetcher) explain(ctx context.Context, body []byte, scrapeErr error) error {
	if f.Server.Known() || bytes.Contains(body, []byte(f.Marker)) {
		return scrapeErr
	}
	hint := engine.Hint(ctx, f.Scraper, f.base())
	if u, err := url.Parse(f.Server.URL); scrapeErr == nil && err == nil && (hint != "" || len(bytes.TrimSpace(body)) == 0) {
		scrapeErr = &Error{Reason: ReasonEmpty, Err: fmt.Errorf("no page of a known server at %s: set engine and metrics_path", root(u).Redacted())}
	}
	if hint != "" {
		failure, ok := errors.AsType[*Error](scrapeErr)
		if !ok {
			failure = &Error{Reason: ReasonProtocol, Err: scrapeErr}
		}
		scrapeErr = advise(failure.Reason, failure.Class, failure.Err, hint)
	}
	if scrapeErr != nil {
		f.Server.URL = ""
	}
	return scrapeErr
}

// buffers are lent to the scrapes that are under way: a page is needed until it is parsed.
//
//nolint:gochecknoglobals // memory only; it holds no state of a replica.
var buffers = sync.Pool{New: func() any { return new(buffer) }}

type buffer struct{ memory []byte }

// maxPooled is the capacity of the largest buffer that is kept for the next page: the
// memory of larger bodies is limited over all targets.
const maxPooled = 256 << 10

func (b *buffer) adopt(body []byte) {
	if cap(body) > cap(b.memory) && cap(body) <= maxPooled {
		b.memory = body[:0]
	}
}
