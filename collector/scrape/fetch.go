package scrape

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape/lane"
	"github.com/trtllm-exporter/trtllm_exporter/collector/secret"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Fetched is a page as it was received, or the reason why there is none.
type Fetched struct {
	// Server is the server that was found at the address.
	Server Server
	Page   Page
	Err    error
	// Start is when the fetch began, Duration how long the last request for the page took,
	// and Received when its response was complete.
	Start    time.Time
	Duration time.Duration
	Received time.Time

	buffer *buffer
}

// Release frees the body of the page, which must not be used afterwards. Of the page only Kept stays.
func (p *Fetched) Release() {
	p.Page.Release()
	if p.buffer != nil {
		buffers.Put(p.buffer)
		p.buffer, p.Page = nil, Page{Kept: p.Page.Kept}
	}
}

// Made returns between which moments the server made the page: from when it was requested, or as much
// earlier as a cache says, until its last byte came.
func (p *Fetched) Made() (from, to time.Time) {
	from, to = p.Received.Add(-p.Duration), p.Received
	if p.Page.Cached {
		from, to = from.Add(-p.Page.Age-time.Second), to.Add(-p.Page.Age)
	}
	return from, to
}

// Fetcher requests one page of a server, after it located the page and detected the kind of
// server.
type Fetcher struct {
	Fetched // The result. The caller sets Server to what is known so far, and Start.

	Scraper Scraper
	Target  *target.Target
	// Kinds are those that the server may be of.
	Kinds *engine.Kinds
	// Up is true when the previous scrape succeeded.
	Up bool
	// Unconnected is true if no connection to the server can be open.
	Unconnected bool
	// Marker is a text that only the exporter's own page contains.
	Marker string
	// Patience is the minimum time between two attempts to detect the kind of server.
	Patience time.Duration

	// asked is true when detection was tried, unrecognized when it found no known kind.
	asked, unrecognized bool
}

// Fetch takes the page from the answer of a lane if there is one, without copying it.
// Otherwise it requests the page within the rest of the timeout, which began at Start.
func (f *Fetcher) Fetch(ctx context.Context, answer *lane.Answer) *Fetched {
	if answer != nil {
		f.Page, f.Err = lanePage(*answer, f.Server.URL, f.secrets())
		f.Duration, f.Received = answer.Duration, answer.Received
		return &f.Fetched
	}
	ctx, cancel := context.WithDeadline(ctx, f.Start.Add(f.Target.Timeout))
	defer cancel()
	f.buffer = buffers.Get().(*buffer) // The pool holds nothing else.
	if f.Page, f.Err = f.fetch(ctx); f.Received.IsZero() {
		f.Received = time.Now() // No page was requested.
	}
	return &f.Fetched
}

func (f *Fetcher) secrets() *secret.Store {
	if f.Scraper == nil {
		return nil
	}
	return f.Scraper.Secrets()
}

// FetchFresh requests a page over a connection of its own. The caller releases it.
func FetchFresh(ctx context.Context, s Scraper, pageURL string) *Fetched {
	f := &Fetched{Start: time.Now(), buffer: buffers.Get().(*buffer)} // The pool holds nothing else.
	f.Page, f.Err = s.ScrapeFresh(ctx, pageURL, f.buffer.memory)
	f.Received = time.Now()
	f.Duration = f.Received.Sub(f.Start)
	f.buffer.adopt(f.Page.Body)
	return f
}

// Settled reports whether nothing but the page has to be requested, which a lane can do.
func (f *Fetcher) Settled() bool {
	return f.Up && f.Server.Known() && !f.Server.Uncertain && !f.Server.Provisional && f.Server.URL != ""
}

// fetch locates the page, requests it, and requests it again if another kind of server turns
// out to run there.
func (f *Fetcher) fetch(ctx context.Context) (Page, error) {
	if err := f.locate(ctx); err != nil {
		return Page{}, err
	}
	f.ask(ctx)
	page, err := f.scrape(ctx, f.Server.URL)
	if f.moved(ctx, page.Body, err) {
		page.Release()
		page, err = f.scrape(ctx, f.Server.URL)
	}
	f.recognize(ctx, page.Body, err)
	if f.unrecognized {
		err = f.explain(ctx, page.Body, err)
	}
	f.Server.fails = f.failsWholly(ctx, err)
	return page, f.wantsTLS(ctx, f.pageAlone(err))
}

// failsWholly reports whether an address that answers with a server's error to the request for its page does so to
// another one, too. Of a server whose API has the same port, that tells.
func (f *Fetcher) failsWholly(ctx context.Context, scrapeErr error) bool {
	failure, ok := errors.AsType[*Error](scrapeErr)
	if !ok || !failure.ServerError() || f.Server.Known() && f.Server.Engine.SamePort() {
		return false
	}
	status, _, _, err := f.Scraper.Do(ctx, http.MethodGet, f.base()+"/", nil, 0)
	return err == nil && status >= http.StatusInternalServerError
}

// adviceTLS is what to do at a port that ends every plain connection.
const adviceTLS = "set scheme: https, or where a mesh demands mTLS let the exporter join it or except the port"

// wantsTLS replaces the failure of a request without TLS at a port that speaks TLS. A port that
// ended the connection and was never seen to answer may admit only its mesh.
func (f *Fetcher) wantsTLS(ctx context.Context, scrapeErr error) error {
	plain, ok := errors.AsType[*Error](scrapeErr)
	u, err := url.Parse(cmp.Or(f.Server.URL, f.Target.MetricsURL))
	if !ok || f.Up || err != nil || u.Scheme != "http" || !mayBeTLS(plain) {
		return scrapeErr
	}
	u.Scheme = "https"
	_, _, _, err = f.Scraper.Do(ctx, http.MethodGet, u.String(), nil, 0)
	secure, failed := errors.AsType[*Error](err)
	switch {
	case err == nil, failed && secure.Reason == ReasonTLS && secure.Class != ClassNotTLS,
		failed && secure.Reason == ReasonHTTPStatus:
		return failf(ReasonTLS, ClassWantsTLS, "the port speaks TLS, and was asked without; %s", adviceTLS)
	case plain.Reason == ReasonReset:
		return failf(ReasonReset, plain.Class, "%w, or admits only TLS: %s", plain.Err, adviceTLS)
	}
	return scrapeErr
}

// mayBeTLS reports whether a TLS server may have caused the failure of a plain request: most end
// the connection, send an alert, or answer 400.
func mayBeTLS(failure *Error) bool {
	return !failure.Denied() && (failure.Reason == ReasonReset || failure.Reason == ReasonProtocol ||
		failure.Reason == ReasonHTTPStatus && failure.Class == "400")
}

// scrape requests one page. Requests that follow it count neither in its duration nor in its age.
func (f *Fetcher) scrape(ctx context.Context, address string) (Page, error) {
	scrape := f.Scraper.Scrape
	if f.Unconnected {
		scrape = f.Scraper.ScrapeFirst
	}
	start := time.Now()
	page, err := scrape(ctx, address, f.buffer.memory)
	f.Received = time.Now()
	f.Duration = f.Received.Sub(start)
	f.buffer.adopt(page.Body)
	return page, err
}

// locate finds the path of the page and the kind of server, unless the target defines them.
// The page of an unrecognized server is expected at the most common path.
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
	if f.Server.Known() || !f.Target.Auto() {
		f.Server.URL = withPath(u, f.Server.Engine.Path)
		return nil
	}
	f.Server.detected = time.Now()
	detected := f.Kinds.Detect(ctx, f.Scraper, root(u).String(), true)
	f.asked, f.Server.answers = true, detected.Answers
	if f.unrecognized = detected.Kind == engine.Unknown; f.unrecognized {
		detected.Path = engine.None().Path
	}
	f.setKind(detected)
	f.Server.URL = withPath(u, detected.Path)
	return nil
}

// ask asks a server of an unknown kind who it is if it did not answer before, as its page may take all
// the time.
func (f *Fetcher) ask(ctx context.Context) {
	if f.asked || !f.Server.Uncertain || f.Server.Known() || !f.Target.Auto() {
		return
	}
	detected, asked := f.detect(ctx, f.base(), false)
	if !asked {
		return
	}
	f.setKind(detected)
	f.asked = true
}

// pageAlone narrows a timeout of the page if the server answers otherwise, as far as only detection knows.
func (f *Fetcher) pageAlone(scrapeErr error) error {
	failure, ok := errors.AsType[*Error](scrapeErr)
	if !ok || failure.Reason != ReasonTimeout || !f.Server.answers || f.Server.Known() && !f.asked {
		return scrapeErr
	}
	return &Error{Reason: failure.Reason, Class: ClassPage, Err: failure.Err}
}

// explain adds a hint to the failure of an unrecognized server: it has no page, or an empty
// one, or a known server listens at the address, but not with its page. The server is located
// again the next time.
func (f *Fetcher) explain(ctx context.Context, body []byte, scrapeErr error) error {
	if f.Server.Known() || bytes.Contains(body, []byte(f.Marker)) {
		return scrapeErr
	}
	hint := engine.Hint(ctx, f.Scraper, f.base())
	empty := len(bytes.TrimSpace(body)) == 0
	if u, err := url.Parse(f.Server.URL); scrapeErr == nil && err == nil && (hint != "" || empty) {
		scrapeErr = &Error{
			Reason: ReasonEmpty,
			Err:    fmt.Errorf("no page of a known server at %s: set engine and metrics_path", root(u).Redacted()),
		}
	}
	if hint != "" {
		failure, ok := errors.AsType[*Error](scrapeErr)
		if !ok {
			failure = &Error{Reason: ReasonProtocol, Err: scrapeErr}
		}
		// What the server answered may be long, and says less.
		scrapeErr = &Error{Reason: failure.Reason, Class: failure.Class, Err: fmt.Errorf("%s; %w", hint, failure.Err)}
	}
	if scrapeErr != nil {
		f.Server.URL = ""
	}
	return scrapeErr
}

// buffers are reused by scrapes: a page is needed only until it is parsed.
//
//nolint:gochecknoglobals // memory only; it holds no state of a replica.
var buffers = sync.Pool{New: func() any { return new(buffer) }}

type buffer struct{ memory []byte }

// maxPooled is the capacity of the largest buffer that is reused: larger bodies count against
// the memory budget.
const maxPooled = 256 << 10

func (b *buffer) adopt(body []byte) {
	if cap(body) > cap(b.memory) && cap(body) <= maxPooled {
		b.memory = body[:0]
	}
}
