package scrape

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// moved looks again at a server that failed before and answers now, with a page
// or without one: another kind of server may be there, or its page elsewhere. True
// when it is, so that the page has to be asked for again. The server is asked no more often than
// about its identity.
func (f *Fetcher) moved(ctx context.Context, body []byte, failed error) bool {
	if !f.Server.Uncertain || !answering(failed) || failed == nil && !f.Server.Known() {
		return false
	}
	u, err := url.Parse(f.Target.MetricsURL)
	if err != nil || !pathless(u) || !f.Target.Auto() {
		// The operator's kind and path stay; recognize sees what the page shows.
		f.Server.Uncertain = failed != nil
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
	found := engine.Detect(ctx, f.Scraper, bare(u))
	if found.Kind == engine.Unknown {
		return false
	}
	f.Server.Uncertain = false
	page := withPath(u, found.Path)
	if !f.Server.setKind(found) && (page == f.Server.URL || !misplaced(failed)) {
		return false
	}
	f.Server.URL = page
	return true
}

// misplaced reports whether a server that answers says that its page is not there. One
// that is not ready may answer with a failure where it is.
func misplaced(failed error) bool {
	failure, ok := errors.AsType[*Error](failed)
	return ok && (failure.Reason != ReasonHTTPStatus || failure.Class == strconv.Itoa(http.StatusNotFound))
}

// recognize settles the kind of a server by what is on its page, else by what
// its API answers, and sees when the page is of another kind than is configured.
// It looks at a page that is new, or back after a fault.
func (f *Fetcher) recognize(ctx context.Context, body []byte, failed error) {
	if f.Server.Known() && f.Up || !answering(failed) {
		return
	}
	found := engine.Marked(body)
	seen := found.Kind
	if found.Companion == "" && f.Server.Companion != "" && !f.Target.Auto() {
		f.Server.setKind(engine.Found{Kind: engine.Kind(f.Target.Engine)})
	}
	switch {
	case found.Companion != "":
		// It is none of the configured kind either.
		f.Server.setKind(found)
	case seen == engine.Unknown && (f.Server.Known() || !f.Target.Auto()):
		return
	case seen == engine.Unknown:
		seen = f.byAPI(ctx, body, failed)
	case f.Target.Auto() && !engine.Alike(f.Server.Engine.Kind(), seen):
		found = engine.Recognise(ctx, f.Scraper, f.base(), body)
		f.Server.setKind(found)
		seen = found.Kind
	}
	f.Server.pageOf = seen
}

// byAPI settles the kind of a server whose page shows none. The server is asked
// no more often than about its identity.
func (f *Fetcher) byAPI(ctx context.Context, body []byte, failed error) engine.Kind {
	if time.Since(f.Server.asked) < f.Patience {
		return engine.Unknown
	}
	f.Server.asked = time.Now()
	base := f.base()
	found := engine.FromAPI(ctx, f.Scraper, base)
	if u, err := url.Parse(f.Server.URL); err == nil && found.Kind == engine.Unknown && failed == nil && len(bytes.TrimSpace(body)) == 0 {
		found = engine.FromEmptyPage(ctx, f.Scraper, base, strings.TrimPrefix(u.Path, engine.BasePath(engine.None(), u.Path)))
	}
	f.Server.setKind(found)
	return found.Kind
}

// base is where the server has both its page and its API: another may be at the root
// of the host of a page under a longer path.
func (f *Fetcher) base() string {
	u, err := url.Parse(f.Server.URL)
	if err != nil {
		return ""
	}
	return bare(u) + engine.BasePath(engine.None(), u.Path)
}

// bare is a URL without path and query.
func bare(u *url.URL) string {
	base := url.URL{Scheme: u.Scheme, User: u.User, Host: u.Host}
	return base.String()
}

// withPath is a URL with another path, and the same query.
func withPath(u *url.URL, path string) string {
	page := *u
	page.Path, page.RawPath = path, ""
	return page.String()
}

// answering reports whether a server answered at all, be it with a failure.
func answering(failed error) bool {
	if failed == nil {
		return true
	}
	switch ReasonOf(failed) { //nolint:exhaustive // The others say nothing of who answers.
	case ReasonHTTPStatus, ReasonContentType, ReasonRedirect, ReasonEmpty:
		return true
	}
	return false
}

// pathless reports whether the target leaves the path of its page to the engine.
func pathless(u *url.URL) bool { return u.Path == "" || u.Path == "/" }
