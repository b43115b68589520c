package scrape

import (
	"bytes"
	"cmp"
	"context"
	"net/http"

	"github.com/prometheus/common/version"
)

const (
	// acceptPage names only the text format: prometheus_client (0.26, as in vLLM and SGLang)
	// ignores q, sends OpenMetrics to any request that names it, and writes the TYPE of sglang:x
	// over samples of sglang_x there. In the text format names arrive unchanged, with UTF-8
	// characters if a server can write them. A server that supports only OpenMetrics may send it.
	acceptPage   = "text/plain;version=0.0.4;escaping=allow-utf-8,*/*;q=0.1"
	acceptJSON   = "application/json,*/*;q=0.1"
	acceptStream = "text/event-stream,application/json;q=0.9,*/*;q=0.1"
)

func userAgent() string { return "trtllm_exporter/" + cmp.Or(version.Version, "devel") }

func newPageRequest(ctx context.Context, rawURL string) (*http.Request, *Error) {
	req, failure := newRequest(ctx, http.MethodGet, rawURL, acceptPage, nil)
	if failure != nil {
		return nil, failure
	}
	req.Header.Set("Accept-Encoding", "gzip")
	req.Header.Set("Cache-Control", "no-cache") // A page that a cache stored shows nothing of now.
	return req, nil
}

// newRequest returns a request with the headers that all requests have. A body other than nil
// is JSON. Credentials in the URL become a header, like in net/http's client.
func newRequest(ctx context.Context, method, rawURL, accept string, body []byte) (*http.Request, *Error) {
	req, err := http.NewRequestWithContext(ctx, method, rawURL, bytes.NewReader(body))
	if err != nil || req.URL.Host == "" || req.URL.Scheme != "http" && req.URL.Scheme != "https" {
		// The cause is left out because it repeats the URL, which may contain credentials.
		return nil, failf(
			ReasonProtocol, "", "the URL of the target is not valid; write it like http://host:8002/metrics",
		)
	}
	req.Header.Set("Accept", accept)
	req.Header.Set("User-Agent", userAgent())
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if user := req.URL.User; user != nil {
		password, _ := user.Password()
		req.SetBasicAuth(user.Username(), password)
	}
	return req, nil
}
