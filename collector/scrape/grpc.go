package scrape

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"google.golang.org/grpc/metadata"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape/kserve"
)

func isGRPC(rawURL string) bool {
	return strings.HasPrefix(rawURL, engine.SchemeGRPC+"://") || strings.HasPrefix(rawURL, engine.SchemeGRPCS+"://")
}

func (c *Client) doGRPC(s *scope, method, rawURL string, limit int64) (status int, answer []byte, failure *Error) {
	server, path, failure := c.grpcServer(s, rawURL)
	if failure != nil {
		return 0, nil, failure
	}
	status, answer, err := server.Do(s, method, path, limit)
	if err != nil {
		return 0, nil, classifyCall(s, err)
	}
	return status, answer, nil
}

// openGRPC sends one request whose answer is streamed; see [kserve.Server.Stream]. An answer
// that is not streamed may have up to limit bytes.
func (c *Client) openGRPC(s *scope, method, rawURL string, body []byte, limit int64) (*http.Response, *Error) {
	if method != http.MethodPost {
		status, answer, failure := c.doGRPC(s, method, rawURL, limit)
		return &http.Response{
			StatusCode: status,
			Header:     http.Header{},
			Body:       io.NopCloser(bytes.NewReader(answer)),
		}, failure
	}
	server, path, failure := c.grpcServer(s, rawURL)
	if failure != nil {
		return nil, failure
	}
	status, contentType, answer, err := server.Stream(s, path, body)
	if err != nil {
		return nil, classifyCall(s, err)
	}
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {contentType}}, Body: answer}, nil
}

func classifyCall(ctx context.Context, err error) *Error {
	switch {
	case errors.Is(err, kserve.ErrNotGRPC):
		return advise(ReasonProtocol, "", err, "check api_port: Triton's --grpc-port is 8001 by default")
	case errors.Is(err, kserve.ErrTooLarge):
		return failf(ReasonBodyTooLarge, "", "%w", err)
	case errors.Is(err, kserve.ErrLost):
		return advise(ReasonReset, "", err, "the server may be restarting")
	}
	return classify(ctx, stageHeaders, err)
}

// grpcServer returns the server of a URL, with current certificates and credentials, and the path.
func (c *Client) grpcServer(s *scope, rawURL string) (server *kserve.Server, path string, failure *Error) {
	u, err := url.Parse(rawURL)
	if err != nil || u.Port() == "" {
		return nil, "", failf(ReasonProtocol, "", "the URL of the API is not valid; write it like grpc://host:8001")
	}
	server = &kserve.Server{
		Address:   u.Host,
		UserAgent: userAgent(),
		Dial:      c.dial,
		MaxHeader: uint32(min(int64(c.config.Limits.Headers), int64(1<<31))),
	}
	if server.Metadata, err = c.grpcMetadata(s); err != nil {
		return nil, "", classify(s, stageHeaders, err)
	}
	if u.Scheme == engine.SchemeGRPCS {
		// The files are read again, so that certificates may be renewed.
		if server.TLS, err = newTLSConfig(&c.config.TLS); err != nil {
			return nil, "", failf(ReasonResource, "", "tls_config: %w", err)
		}
	}
	return server, u.EscapedPath(), nil
}

// grpcMetadata returns the headers that a request for a page would have: credentials and
// http_headers.
func (c *Client) grpcMetadata(s *scope) (metadata.MD, error) {
	req := (&http.Request{Method: http.MethodPost, URL: &url.URL{}, Header: make(http.Header)}).WithContext(s)
	resp, err := c.signer.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	closeBody(resp)
	md := make(metadata.MD)
	for name, values := range resp.Request.Header {
		c.elsewhere.Note(name, values)
		md.Append(name, values...)
	}
	return md, nil
}

// unsent answers a request with itself.
type unsent struct{}

func (unsent) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusNoContent, Body: http.NoBody, Request: req}, nil
}
