package scrape

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// moved repeats the detection of a server that failed before and answers now, but no more
// often than its identity is requested. It reports whether the kind of server or the path of
// its page changed, so that the page must be requested again.
func (f *Fetcher) moved(ctx context.Context, body []byte, scrapeErr error) bool {
	if !f.Server.Uncertain || !answering(scrapeErr) || scrapeErr == nil && !f.Server.Known() {
		return false
	}
	u, err := url.Parse(f.Target.MetricsURL)
	if err != nil || !pathless(u) || !f.Target.Auto() {
		// The operator's kind and path stay; recognize compares them with the page.
		f.Server.Uncertain = scrapeErr != nil
		return false
	}
	if kind := f.Kinds.FromPage(body).Kind; kind != engine.Unknown && engine.Shows(f.Server.Engine.Name, kind) {
		f.Server.Uncertain = false
		return false
	}
	detected, _ := f.detect(ctx, root(u).String(), true)
	if detected.Kind == engine.Unknown {
		return false
	}
	f.Server.Uncertain = false
	address := withPath(u, detected.Path)
	if !f.setKind(detected) && (address == f.Server.URL || !misplaced(scrapeErr)) {
		return false
	}
	f.Server.URL = address
	return true
}

// misplaced reports whether a failure means that the server has no page at the URL, rather
// than that it is not ready.
func misplaced(scrapeErr error) bool {
	failure, ok := errors.AsType[*Error](scrapeErr)
	return ok && (failure.Reason != ReasonHTTPStatus || failure.Class == strconv.Itoa(http.StatusNotFound))
}

// recognize determines the kind of a server by its page or else by its API. It does so for
// the first page, the first after a failure, and again while the kind is provisional.
func (f *Fetcher) recognize(ctx context.Context, body []byte, scrapeErr error) {
	retry := f.Server.Provisional && time.Since(f.Server.detected) >= f.Patience
	if f.Server.Known() && f.Up && !retry || !answering(scrapeErr) {
		return
	}
	detected := f.Kinds.FromPage(body)
	if detected.Within != "" && engine.Shows(engine.Name(f.Target.Engine), detected.Within) {
		// A server with such a program inside shows the same, and the operator says that it is one.
		detected = engine.Detection{Kind: detected.Within}
	}
	kind := detected.Kind
	if detected.Companion == "" && f.Server.Companion != "" && !f.Target.Auto() {
		f.setKind(engine.Detection{Kind: engine.Name(f.Target.Engine)})
	}
	switch {
	case f.Target.Engine == string(engine.Unknown):
		// The operator knows it, whatever its page looks like.
	case detected.Companion != "":
		// It is not of the configured kind either.
		f.setKind(detected)
	case kind == engine.Unknown && !f.Target.Auto():
		if blank(body, scrapeErr) || scrapeErr != nil && misplaced(scrapeErr) {
			f.elsewhere(ctx)
		}
		return
	case kind == engine.Unknown && f.Server.Known():
		return
	case kind == engine.Unknown:
		kind = f.kindByAPI(ctx, body, scrapeErr)
	case f.Target.Auto() && (retry || !engine.Shows(f.Server.Engine.Name, kind)):
		f.Server.detected = time.Now()
		detected = f.Kinds.Recognize(ctx, f.Scraper, f.base(), body)
		f.setKind(detected)
		kind = detected.Kind
	}
	f.Server.pageKind = kind
}

func (f *Fetcher) kindByAPI(ctx context.Context, body []byte, scrapeErr error) engine.Name {
	base := f.base()
	detected, asked := f.detect(ctx, base, false)
	if !asked {
		return engine.Unknown
	}
	if u, err := url.Parse(f.Server.URL); err == nil && detected.Kind == engine.Unknown && blank(body, scrapeErr) {
		detected = engine.FromEmptyPage(
			ctx, f.Scraper, base, strings.TrimPrefix(u.Path, engine.BasePath(engine.None(), u.Path)),
		)
	}
	f.setKind(detected)
	return detected.Kind
}

// elsewhere asks what the server of a configured kind is that shows no page at the path of that kind, and
// remembers it if it is another one.
func (f *Fetcher) elsewhere(ctx context.Context) {
	u, err := url.Parse(f.Target.MetricsURL)
	if err != nil || !pathless(u) {
		return
	}
	detected, _ := f.detect(ctx, root(u).String(), true)
	if detected.Kind == engine.Unknown || engine.Shows(f.Server.Engine.Name, detected.Kind) {
		return
	}
	f.Server.pageKind = detected.Kind
}

// detect asks what runs at an address, unless it did so within Patience: then the kind is unknown, and asked false.
func (f *Fetcher) detect(ctx context.Context, address string, pages bool) (detected engine.Detection, asked bool) {
	if time.Since(f.Server.detected) < f.Patience {
		return engine.Detection{Kind: engine.Unknown}, false
	}
	f.Server.detected = time.Now()
	detected = f.Kinds.Detect(ctx, f.sparing(ctx, address), address, pages)
	f.Server.answers = detected.Answers || detected.Kind != engine.Unknown
	return detected, true
}

// sparing returns a client that leaves alone what a server of the kind returns only once, which whoever reads it
// takes from its readers. A server that lists no models of the kind is another one.
func (f *Fetcher) sparing(ctx context.Context, address string) engine.Client {
	if f.Server.Engine.Iterations == "" || !f.Server.Engine.Lists(ctx, f.Scraper, address) {
		return f.Scraper
	}
	return sparing{Client: f.Scraper, url: address + f.Server.Engine.Iterations}
}

type sparing struct {
	engine.Client

	url string
}

// errSpared is the error of a request that is not sent.
var errSpared = errors.New("not requested: the server returns it only once")

// Do implements [engine.Client].
func (s sparing) Do(
	ctx context.Context, method, address string, body []byte, limit int64,
) (int, http.Header, []byte, error) {
	if address == s.url {
		return 0, nil, nil, errSpared
	}
	return s.Client.Do(ctx, method, address, body, limit)
}

// blank reports whether a page came that has no text.
func blank(body []byte, scrapeErr error) bool {
	return scrapeErr == nil && len(bytes.TrimSpace(body)) == 0
}

// base returns the URL under which the server has both its page and its API: the root of the
// host may belong to another server.
func (f *Fetcher) base() string {
	u, err := url.Parse(f.Server.URL)
	if err != nil {
		return ""
	}
	return root(u).String() + engine.BasePath(engine.None(), u.Path)
}

func root(u *url.URL) *url.URL { return &url.URL{Scheme: u.Scheme, User: u.User, Host: u.Host} }

func withPath(u *url.URL, path string) string {
	page := *u
	page.Path, page.RawPath = path, ""
	return page.String()
}

func answering(scrapeErr error) bool {
	// The other reasons do not show who answers.
	revealing := []Reason{ReasonHTTPStatus, ReasonContentType, ReasonRedirect, ReasonEmpty}
	return scrapeErr == nil || slices.Contains(revealing, ReasonOf(scrapeErr))
}

// pathless reports whether the target's URL has no path, so that the engine's path is used.
func pathless(u *url.URL) bool { return u.Path == "" || u.Path == "/" }
