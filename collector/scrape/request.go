package scrape

import (
	"bytes"
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/common/version"
)

// HopHeader marks a request as coming from an exporter, which lets another one
// see that it is scraped by its own kind.
const HopHeader = "X-Trtllm-Exporter-Hop"

const (
	// acceptPage asks for text alone: prometheus_client (0.26, as in vLLM and
	// SGLang) takes no notice of q, answers OpenMetrics to whoever names it, and
	// writes TYPE of sglang:x over samples of sglang_x there. As text a name comes
	// as it is, with other characters too where a server can write them. A server that has OpenMetrics only is free to send it.
	acceptPage    = "text/plain;version=0.0.4;escaping=allow-utf-8,*/*;q=0.1"
	acceptJSON    = "application/json,*/*;q=0.1"
	acceptStream  = "text/event-stream,application/json;q=0.9,*/*;q=0.1"
	timeoutHeader = "X-Prometheus-Scrape-Timeout-Seconds"
	// timeoutStep is what the timeout in the header is rounded to; it is coarse,
	// so that the headers of two scrapes are the same.
	timeoutStep = 100 * time.Millisecond
	// maxTemplates bounds what is remembered of targets that are long gone.
	maxTemplates = 16384
)

// requests builds the requests of a client. It remembers those for pages, as
// URL and headers are the same at each scrape. Safe for concurrent use.
type requests struct {
	agent string

	mu        sync.Mutex
	templates map[templateKey]*http.Request
}

// templateKey names a page request; steps is its timeout in timeoutStep, 0 for
// none.
type templateKey struct {
	url   string
	steps int64
}

func newRequests() *requests {
	agent := "trtllm_exporter/devel"
	if version.Version != "" {
		agent = "trtllm_exporter/" + version.Version
	}
	return &requests{agent: agent, templates: map[templateKey]*http.Request{}}
}

// page is the request for a page. It shares URL and headers with other
// requests, so they must not be changed.
func (r *requests) page(ctx context.Context, rawURL string) (*http.Request, *Error) {
	key := templateKey{url: rawURL}
	if deadline, ok := ctx.Deadline(); ok {
		key.steps = int64(max(0, time.Until(deadline)+timeoutStep-1) / timeoutStep)
	}
	r.mu.Lock()
	template := r.templates[key]
	r.mu.Unlock()
	if template == nil {
		built, failure := r.build(key)
		if failure != nil {
			return nil, failure
		}
		template = built
	}
	return template.WithContext(withScope(ctx)), nil
}

func (r *requests) build(key templateKey) (*http.Request, *Error) {
	req, failure := r.base(http.MethodGet, key.url, acceptPage)
	if failure != nil {
		return nil, failure
	}
	req.Header.Set("Accept-Encoding", "gzip")
	if key.steps > 0 {
		timeout := time.Duration(key.steps) * timeoutStep
		req.Header.Set(timeoutHeader, strconv.FormatFloat(timeout.Seconds(), 'f', -1, 64))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.templates) >= maxTemplates {
		clear(r.templates)
	}
	r.templates[key] = req
	return req, nil
}

// question is a request for a small answer, mostly JSON.
func (r *requests) question(ctx context.Context, method, rawURL string, body []byte) (*http.Request, *Error) {
	req, failure := r.base(method, rawURL, acceptJSON)
	if failure != nil {
		return nil, failure
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
		req.ContentLength = int64(len(body))
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		req.Body, _ = req.GetBody()
	}
	return req.WithContext(withScope(ctx)), nil
}

// base builds a request with the headers that all have. Credentials in the URL
// go into a header here, as net/http does that in its client only.
func (r *requests) base(method, rawURL, accept string) (*http.Request, *Error) {
	u, err := url.Parse(rawURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		// The cause is left out: it repeats the URL, which may hold credentials.
		return nil, failf(ReasonProtocol, "", "the URL of the target is not valid; write it like http://host:8002/metrics")
	}
	header := http.Header{
		"Accept":     {accept},
		"User-Agent": {r.agent},
		HopHeader:    {"1"},
	}
	if u.User != nil {
		password, _ := u.User.Password()
		text := u.User.Username() + ":" + password
		header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(text)))
	}
	return &http.Request{
		Method: method, URL: u, Host: u.Host, Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}, nil
}
