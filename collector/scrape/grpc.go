package scrape

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"

	promconfig "github.com/prometheus/common/config"
	grpccredentials "google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape/kserve"
)

// The schemes of APIs that are called over gRPC, plain and with TLS. Paths and answers
// correspond to Triton's HTTP API.
const (
	SchemeGRPC  = "grpc"
	SchemeGRPCS = "grpcs"
)

func isGRPC(rawURL string) bool {
	return strings.HasPrefix(rawURL, SchemeGRPC+"://") || strings.HasPrefix(rawURL, SchemeGRPCS+"://")
}

// grpcConns are the connections to servers that are called over gRPC, one for each. Safe
// for concurrent use.
type grpcConns struct {
	dial      dialFunc
	tls       *promconfig.TLSConfig
	maxHeader uint32
	// signer adds the configured credentials to a request.
	signer http.RoundTripper
	public map[string]bool

	mu     sync.Mutex
	conns  map[string]*grpcConn
	closed bool
}

// grpcConn is the connection to one server.
type grpcConn struct {
	*kserve.Conn

	dialServer dialFunc
	// caller is the last request, for which the connection is opened.
	caller atomic.Pointer[scope]
}

// dial opens the connection with the deadline and the lease of the last request.
func (c *grpcConn) dial(ctx context.Context, network, address string) (net.Conn, error) {
	s := c.caller.Load()
	if s == nil {
		return c.dialServer(ctx, network, address)
	}
	if deadline, ok := s.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline)
		defer cancel()
	}
	return c.dialServer(&scope{Context: ctx, lease: s.lease}, network, address) //nolint:contextcheck // It holds ctx.
}

// newGRPCConns returns connections with the rules and credentials of the pool's pages.
func newGRPCConns(cfg *Config, public map[string]bool, dial dialFunc, token *tokenSource) *grpcConns {
	return &grpcConns{
		dial: dial, tls: &cfg.TLS, maxHeader: uint32(min(int64(cfg.Limits.Headers), int64(1<<31))),
		signer: credentials(cfg, echoTransport{}, token), public: public, conns: make(map[string]*grpcConn),
	}
}

// do sends one request; see [kserve.Conn.Do].
func (c *grpcConns) do(s *scope, method, rawURL string, limit int64) (status int, answer []byte, failure *Error) {
	conn, path, failure := c.conn(s, rawURL)
	if failure != nil {
		return 0, nil, failure
	}
	status, answer, err := conn.Do(s, method, path, limit)
	if err != nil {
		return 0, nil, classifyCall(s, err)
	}
	return status, answer, nil
}

// open sends one request whose answer is streamed; see [kserve.Conn.Stream]. One that
// is not streamed is bounded by limit bytes.
func (c *grpcConns) open(s *scope, method, rawURL string, body []byte, limit int64) (*http.Response, *Error) {
	if method != http.MethodPost {
		status, answer, failure := c.do(s, method, rawURL, limit)
		return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(answer))}, failure
	}
	conn, path, failure := c.conn(s, rawURL)
	if failure != nil {
		return nil, failure
	}
	status, contentType, answer, err := conn.Stream(s, path, body)
	if err != nil {
		return nil, classifyCall(s, err)
	}
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {contentType}}, Body: answer}, nil
}

// classifyCall turns an error of gRPC into a failure with a reason.
func classifyCall(ctx context.Context, err error) *Error {
	switch {
	case reclaimedFrom(ctx) != nil:
		return reclaimedFrom(ctx)
	case errors.Is(err, kserve.ErrNotGRPC):
		return advise(ReasonProtocol, "", err, "check api_port: Triton's --grpc-port is 8001 by default")
	case errors.Is(err, kserve.ErrTooLarge):
		return failf(ReasonBodyTooLarge, "", "%w", err)
	case errors.Is(err, kserve.ErrLost):
		return advise(ReasonReset, "", err, "the server may be restarting")
	}
	return classify(ctx, stageHeaders, err)
}

// key returns what the connection to the server of a URL is stored under.
func key(u *url.URL) string { return u.Scheme + "://" + u.Host }

// conn returns the connection to the server of a URL for a request, with its path.
func (c *grpcConns) conn(s *scope, rawURL string) (conn *grpcConn, path string, failure *Error) {
	u, err := url.Parse(rawURL)
	if err != nil || u.Port() == "" {
		return nil, "", failf(ReasonProtocol, "", "the URL of the API is not valid; write it like grpc://host:8001")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, "", failf(ReasonCanceled, "", "the scrape was canceled: %w", net.ErrClosed)
	}
	conn = c.conns[key(u)]
	if conn == nil {
		conn = &grpcConn{dialServer: c.dial}
		options := kserve.Options{
			Address: u.Host, UserAgent: userAgent(), Dial: conn.dial, Metadata: c.metadata, MaxHeader: c.maxHeader,
		}
		if u.Scheme == SchemeGRPCS {
			options.TLS = &freshTLS{grpccredentials.NewTLS(nil), c.tls}
		}
		conn.Conn = kserve.Open(options)
		c.conns[key(u)] = conn
	}
	conn.caller.Store(s)
	return conn, u.EscapedPath(), nil
}

// disconnect closes the connection to the server of a URL, unless another target calls
// the same one at the moment: that one disconnects later.
func (c *grpcConns) disconnect(rawURL string) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if conn := c.conns[key(u)]; conn != nil && conn.CloseUnused() {
		delete(c.conns, key(u))
	}
}

// closeIdle closes the connections that no request uses.
func (c *grpcConns) closeIdle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.conns {
		conn.CloseIdle()
	}
}

// close closes all connections for good.
func (c *grpcConns) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for _, conn := range c.conns {
		conn.Close()
	}
	clear(c.conns)
}

// metadata returns the headers that a request for a page would have: credentials, read
// and renewed as for pages, and http_headers. The scope of the call notes them.
func (c *grpcConns) metadata(ctx context.Context) (metadata.MD, error) {
	req := (&http.Request{Method: http.MethodPost, URL: &url.URL{}, Header: make(http.Header)}).WithContext(ctx)
	resp, err := c.signer.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	closeBody(resp)
	header := resp.Request.Header
	if s := scopeOf(ctx); s != nil {
		s.sent = sent{header: header, public: c.public}
	}
	md := metadata.Pairs(HopHeader, "1")
	for name, values := range header {
		md.Append(name, values...)
	}
	return md, nil
}

// echoTransport answers a request with the request itself.
type echoTransport struct{}

// RoundTrip implements http.RoundTripper.
func (echoTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusNoContent, Request: req, Body: http.NoBody, Header: http.Header{}}, nil
}

// freshTLS reads the files of the TLS configuration for each connection, so that
// certificates may be renewed.
type freshTLS struct {
	grpccredentials.TransportCredentials

	config *promconfig.TLSConfig
}

// ClientHandshake implements credentials.TransportCredentials.
func (t *freshTLS) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, grpccredentials.AuthInfo, error) {
	client, err := newTLSConfig(t.config)
	if err != nil {
		_ = raw.Close()
		return nil, nil, failf(ReasonResource, "", "tls_config: %w", err)
	}
	return grpccredentials.NewTLS(client).ClientHandshake(ctx, authority, raw)
}

// Clone implements credentials.TransportCredentials.
func (t *freshTLS) Clone() grpccredentials.TransportCredentials {
	return &freshTLS{t.TransportCredentials.Clone(), t.config}
}
