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

// moved detects again a server that failed before and answers now, but no more often than
// its identity is requested. It reports whether another kind of server is there, or its
// page elsewhere, so that the page has to be requested again.
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
	if kind := engine.FromPage(body).Kind; kind != engine.Unknown && engine.SharePage(f.Server.Engine.Kind(), kind) {
		f.Server.Uncertain = false
		return false
	}
	if time.Since(f.Server.detected) < f.Patience {
		return false
	}
	f.Server.detected = time.Now()
	found := engine.Detect(ctx, f.Scraper, root(u).String(), true)
	if found.Kind == engine.Unknown {
		return false
	}
	f.Server.Uncertain = false
	address := withPath(u, found.Path)
	if !f.Server.setKind(found) && (address == f.Server.URL || !misplaced(scrapeErr)) {
		return false
	}
	f.Server.URL = address
	return true
}

// misplaced reports whether a failure shows that the server has no page at the URL,
// rather than that it is not ready.
func misplaced(scrapeErr error) bool {
	failure, ok := errors.AsType[*Error](scrapeErr)
	return ok && (failure.Reason != ReasonHTTPStatus || failure.Class == strconv.Itoa(http.StatusNotFound))
}

// recognize determines the kind of a server by its page, else by its API. It does so for
// a page that is new, or back after a failure, and again while the kind is provisional.
func (f *Fetcher) recognize(ctx context.Context, body []byte, scrapeErr error) {
	again := f.Server.Provisional && time.Since(f.Server.detected) >= f.Patience
	if f.Server.Known() && f.Up && !again || !answering(scrapeErr) {
		return
	}
	found := engine.FromPage(body)
	kind := found.Kind
	if found.Companion == "" && f.Server.Companion != "" && !f.Target.Auto() {
		f.Server.setKind(engine.Detection{Kind: engine.Kind(f.Target.Engine)})
	}
	switch {
	case found.Companion != "":
		// It is not of the configured kind either.
		f.Server.setKind(found)
	case kind == engine.Unknown && (f.Server.Known() || !f.Target.Auto()):
		return
	case kind == engine.Unknown:
		kind = f.kindByAPI(ctx, body, scrapeErr)
	case f.Target.Auto() && (again || !engine.SharePage(f.Server.Engine.Kind(), kind)):
		f.Server.detected = time.Now()
		found = engine.Recognize(ctx, f.Scraper, f.base(), body)
		f.Server.setKind(found)
		kind = found.Kind
	}
	f.Server.pageKind = kind
}

func (f *Fetcher) kindByAPI(ctx context.Context, body []byte, scrapeErr error) engine.Kind {
	if time.Since(f.Server.detected) < f.Patience {
		return engine.Unknown
	}
	f.Server.detected = time.Now()
	base := f.base()
	found := engine.Detect(ctx, f.Scraper, base, false)
	if u, err := url.Parse(f.Server.URL); err == nil && found.Kind == engine.Unknown && scrapeErr == nil && len(bytes.TrimSpace(body)) == 0 {
		found = engine.FromEmptyPage(ctx, f.Scraper, base, strings.TrimPrefix(u.Path, engine.BasePath(engine.None(), u.Path)))
	}
	f.Server.setKind(found)
	return found.Kind
}

// base returns the URL under which the server has both its page and its API: another
// server may be at the root of the host.
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
	shown := []Reason{ReasonHTTPStatus, ReasonContentType, ReasonRedirect, ReasonEmpty} // The others do not show who answers.
	return scrapeErr == nil || slices.Contains(shown, ReasonOf(scrapeErr))
}

// pathless reports whether the target leaves the path of its page to the engine.
func pathless(u *url.URL) bool { return u.Path == "" || u.Path == "/" }
