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

// Fetched is a page as it came, or why none did.
type Fetched struct {
	// Server is what was found at the address on the way.
	Server Server
	Body   Page
	Err    error
	// Start is when the page was asked for, Took how long the answer to
	// the last question for it took, Came when that was there.
	Start time.Time
	Took  time.Duration
	Came  time.Time

	buffer *buffer
}

// Keep has the body last until Release.
func (p *Fetched) Keep() {
	if p.buffer == nil && p.Body.Body != nil {
		p.buffer = borrow()
		p.buffer.memory = append(p.buffer.memory[:0], p.Body.Body...)
		p.Body.Body = p.buffer.memory
	}
}

// Release ends the use of the page's body.
func (p *Fetched) Release() {
	p.Body.Release()
	if p.buffer != nil {
		buffers.Put(p.buffer)
		p.buffer, p.Body = nil, Page{}
	}
}

// Fetcher asks for one page of a server, and finds out where it is and of what kind
// the server is.
type Fetcher struct {
	// Fetched is what comes of it. Server is what is known before, Start when the
	// page is asked for.
	Fetched

	Scraper Scraper
	Target  *target.Target
	// Up is true when the scrape before succeeded.
	Up bool
	// Marker is text that only the exporter's own page has.
	Marker string
	// Patience is the shortest time between two looks at which kind of server it
	// is that failed before.
	Patience time.Duration

	// unrecognized is true when the server was looked for and is of no known kind.
	unrecognized bool
}

// Fetch takes the page from the answer that came over a lane, if there is one, whose
// memory it uses; else it asks for the page, in the time that is left since it began.
func (f *Fetcher) Fetch(ctx context.Context, answer *lane.Answer) *Fetched {
	if answer != nil {
		f.Body, f.Err = LanePage(*answer)
		f.Body.sent = queryIn(f.Server.URL)
		f.Took, f.Came = answer.Took, answer.Came
		return &f.Fetched
	}
	ctx, cancel := context.WithDeadline(ctx, f.Start.Add(f.Target.Timeout))
	defer cancel()
	f.buffer = borrow()
	if f.Body, f.Err = f.ask(ctx); f.Came.IsZero() {
		f.Came = time.Now() // No page was asked for.
	}
	return &f.Fetched
}

// Settled reports whether nothing is to be found out but the page, so that it can
// be asked for over a lane.
func (f *Fetcher) Settled() bool {
	return f.Up && f.Server.Known() && !f.Server.Uncertain && f.Server.URL != ""
}

// ask finds the page, asks for it, and asks again when another kind of server
// turns out to be there.
func (f *Fetcher) ask(ctx context.Context) (Page, error) {
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

// scrape asks for one page; what it takes is the time of the scrape, and what is
// asked afterwards makes the page no younger.
func (f *Fetcher) scrape(ctx context.Context, address string) (Page, error) {
	begun := time.Now()
	page, err := f.Scraper.Scrape(ctx, address, f.buffer.memory)
	if f.Came = page.Came; f.Came.IsZero() {
		f.Came = time.Now()
	}
	f.Took = f.Came.Sub(begun)
	f.buffer.keep(page.Body)
	return page, err
}

// locate finds out where the page is and what kind of server shows it, unless
// the target says so. A server of which nothing is known has its page where most
// have it.
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
	f.Server.asked = time.Now()
	found := engine.Detect(ctx, f.Scraper, bare(u))
	if f.unrecognized = found.Kind == engine.Unknown; f.unrecognized {
		found.Path = engine.None().MetricsPath()
	}
	f.Server.setKind(found)
	f.Server.URL = withPath(u, found.Path)
	return nil
}

// explain says why there is no page of a server of no known kind: it has none, or none with
// a sample, or the address is a known server's, but not that of its page. The
// server is looked for again then.
func (f *Fetcher) explain(ctx context.Context, body []byte, failed error) error {
	if f.Server.Known() || bytes.Contains(body, []byte(f.Marker)) {
		return failed
	}
	hint := engine.Hint(ctx, f.Scraper, f.base())
	if failed == nil && (hint != "" || len(bytes.TrimSpace(body)) == 0) {
		failed = &Error{Reason: ReasonEmpty, Err: fmt.Errorf("no page of a known server at %s: set engine and metrics_path", f.redacted())}
	}
	if hint != "" {
		failed = hinted(failed, hint)
	}
	if failed != nil {
		f.Server.URL = ""
	}
	return failed
}

// hinted puts a hint behind a failure.
func hinted(failed error, hint string) error {
	more := Error{Reason: ReasonOf(failed), Err: failed}
	if failure, ok := errors.AsType[*Error](failed); ok {
		more = *failure
	}
	more.Err = fmt.Errorf("%w; %s", more.Err, hint)
	return &more
}

// redacted is the page's URL without path, for people.
func (f *Fetcher) redacted() string {
	u, err := url.Parse(f.Server.URL)
	if err != nil {
		return ""
	}
	u, _ = url.Parse(bare(u))
	return u.Redacted()
}

// buffers are lent to the scrapes that are under way. A page is needed only
// until it is parsed, and few replicas read one at the same moment, so all share
// them.
//
//nolint:gochecknoglobals // memory only; it says nothing of any replica.
var buffers = sync.Pool{New: func() any { return new(buffer) }}

// buffer is memory for the body of one page.
type buffer struct{ memory []byte }

// borrow lends a buffer for one page.
func borrow() *buffer {
	b, _ := buffers.Get().(*buffer)
	return b
}

// kept bounds the memory that is kept for the next page: that of larger bodies
// is bounded over all targets, and has to be free when they are done with.
const kept = 256 << 10

// keep takes the memory over that a page was read into.
func (b *buffer) keep(body []byte) {
	if cap(body) > cap(b.memory) && cap(body) <= kept {
		b.memory = body[:0]
	}
}
