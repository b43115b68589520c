package scrape

import (
	"bytes"
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"net/url"
	"strconv"
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
	// timeoutStep is what the timeout in the header is rounded to, so that the
	// headers of two scrapes are the same.
	timeoutStep = 100 * time.Millisecond
)

// requests builds the requests of a client.
type requests struct{ agent string }

func newRequests() *requests {
	agent := "trtllm_exporter/devel"
	if version.Version != "" {
		agent = "trtllm_exporter/" + version.Version
	}
	return &requests{agent: agent}
}

// page returns the request for a page.
func (r *requests) page(ctx context.Context, rawURL string) (*http.Request, *Error) {
	req, failure := r.base(http.MethodGet, rawURL, acceptPage)
	if failure != nil {
		return nil, failure
	}
	req.Header.Set("Accept-Encoding", "gzip")
	if deadline, ok := ctx.Deadline(); ok {
		timeout := max(0, time.Until(deadline)+timeoutStep-1).Truncate(timeoutStep)
		if timeout > 0 {
			req.Header.Set(timeoutHeader, strconv.FormatFloat(timeout.Seconds(), 'f', -1, 64))
		}
	}
	return req.WithContext(withScope(ctx)), nil
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
