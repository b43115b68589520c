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

// The schemes of APIs that are asked over gRPC, plain and with TLS. Paths and
// answers are those of Triton's HTTP API.
const (
	SchemeGRPC  = "grpc"
	SchemeGRPCS = "grpcs"
)

// isGRPC reports whether a URL has one of these schemes.
func isGRPC(rawURL string) bool {
	return strings.HasPrefix(rawURL, SchemeGRPC+"://") || strings.HasPrefix(rawURL, SchemeGRPCS+"://")
}

// callers asks servers over gRPC, with one connection for each. Safe for
// concurrent use.
type callers struct {
	agent  string
	dial   dialFunc
	tls    *promconfig.TLSConfig
	header uint32
	// signer puts the credentials of the configuration on a request.
	signer http.RoundTripper

	mu     sync.Mutex
	conns  map[string]*caller
	closed bool
}

// caller is the connection to a server.
type caller struct {
	*kserve.Conn

	open dialFunc
	// asking is who asked last, for whom a connection is opened.
	asking atomic.Pointer[scope]
}

// dial opens the connection for the request that asked last, whose connection it is.
func (c *caller) dial(ctx context.Context, network, address string) (net.Conn, error) {
	s := c.asking.Load()
	if s == nil {
		return c.open(ctx, network, address)
	}
	if until, ok := s.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, until)
		defer cancel()
	}
	return c.open(&scope{Context: ctx, use: s.use}, network, address) //nolint:contextcheck // It holds ctx.
}

// call puts a question over gRPC.
func (c *Client) call(ctx context.Context, method, rawURL string, limit int64) (status int, header http.Header, answer []byte, err error) {
	s := &scope{Context: ctx}
	defer c.begin(s)()
	status, answer, failure := c.callers.do(s, method, rawURL, c.most(limit)) //nolint:contextcheck // A scope is a context.
	failure = hide(s, c.open, answer, failure)
	if failure != nil {
		return 0, nil, nil, failure
	}
	return status, http.Header{}, answer, nil
}

// newCallers shares with the pages what says who may be asked and how.
func newCallers(cfg *Config, agent string, dial dialFunc, token *tokenSource) *callers {
	return &callers{
		agent: agent, dial: dial, tls: &cfg.TLS, header: uint32(min(int64(cfg.Limits.Headers), int64(1<<31))),
		signer: credentials(cfg, nowhere{}, token), conns: make(map[string]*caller),
	}
}

// do asks one question; see [kserve.Conn.Do].
func (c *callers) do(ctx context.Context, method, rawURL string, limit int64) (status int, answer []byte, failure *Error) {
	u, conn, failure := c.find(ctx, rawURL)
	if failure != nil {
		return 0, nil, failure
	}
	status, answer, err := conn.Do(ctx, method, u.EscapedPath(), limit)
	if err != nil {
		return 0, nil, classifyCall(ctx, err)
	}
	return status, answer, nil
}

// open begins to answer a request, whose answer is read as it comes; see
// [kserve.Conn.Stream]. One that comes in one part is bounded by limit bytes.
func (c *callers) open(ctx context.Context, method, rawURL string, body []byte, limit int64) (*http.Response, *Error) {
	if method != http.MethodPost {
		status, answer, failure := c.do(ctx, method, rawURL, limit)
		if failure != nil {
			return nil, failure
		}
		return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(answer))}, nil
	}
	u, conn, failure := c.find(ctx, rawURL)
	if failure != nil {
		return nil, failure
	}
	status, kind, answer, err := conn.Stream(ctx, u.EscapedPath(), body)
	if err != nil {
		return nil, classifyCall(ctx, err)
	}
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {kind}}, Body: answer}, nil
}

// find gives the connection for a URL, which ctx asks over.
func (c *callers) find(ctx context.Context, rawURL string) (*url.URL, *caller, *Error) {
	u, failure := apiURL(rawURL)
	if failure != nil {
		return nil, nil, failure
	}
	conn, failure := c.conn(u)
	if s := scopeOf(ctx); failure == nil && s != nil {
		conn.asking.Store(s)
	}
	return u, conn, failure
}

// apiURL reads the URL of an API that is asked over gRPC.
func apiURL(rawURL string) (*url.URL, *Error) {
	u, err := url.Parse(rawURL)
	if err != nil || u.Port() == "" {
		return nil, failf(ReasonProtocol, "", "the URL of the API is not valid; write it like grpc://host:8001")
	}
	return u, nil
}

// classifyCall gives the failures of gRPC their reasons.
func classifyCall(ctx context.Context, err error) *Error {
	switch {
	case takenFrom(ctx) != nil:
		return takenFrom(ctx)
	case errors.Is(err, kserve.ErrNotGRPC):
		return advise(ReasonProtocol, "", err, "check api_port: Triton's --grpc-port is 8001 unless set")
	case errors.Is(err, kserve.ErrTooLarge):
		return failf(ReasonBodyTooLarge, "", "%w", err)
	case errors.Is(err, kserve.ErrLost):
		return advise(ReasonReset, "", err, "the server may be restarting")
	}
	return classify(ctx, stageHeaders, err)
}

// conn is the connection to a server.
func (c *callers) conn(u *url.URL) (*caller, *Error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, failf(ReasonCanceled, "", "the scrape was given up: %w", net.ErrClosed)
	}
	key := u.Scheme + "://" + u.Host
	if conn := c.conns[key]; conn != nil {
		return conn, nil
	}
	conn := &caller{open: c.dial}
	options := kserve.Options{
		Address: u.Host, Agent: c.agent, Dial: conn.dial, Metadata: c.metadata, HeaderLimit: c.header,
	}
	if u.Scheme == SchemeGRPCS {
		options.TLS = &freshTLS{config: c.tls}
	}
	conn.Conn = kserve.Open(options)
	c.conns[key] = conn
	return conn, nil
}

// leave closes the connection to a server, given by any URL of its API, unless
// another target has the same one and asks over it: that one leaves it later.
func (c *callers) leave(rawURL string) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	key := u.Scheme + "://" + u.Host
	if conn := c.conns[key]; conn != nil && conn.Leave() {
		delete(c.conns, key)
	}
}

// rest closes the connections that no question uses.
func (c *callers) rest() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.conns {
		conn.Rest()
	}
}

// close closes all connections for good.
func (c *callers) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for key, conn := range c.conns {
		conn.Close()
		delete(c.conns, key)
	}
}

// metadata are the headers that a request for a page would have: credentials,
// read and renewed as there, and http_headers. The scope of the call notes them, for
// files may be others when it is answered.
func (c *callers) metadata(ctx context.Context) (metadata.MD, error) {
	header, err := c.signed(ctx)
	if err != nil {
		return nil, err
	}
	if s := scopeOf(ctx); s != nil {
		s.sent = header
	}
	md := metadata.Pairs(HopHeader, "1")
	for name, values := range header {
		md.Append(name, values...)
	}
	return md, nil
}

// signed are the headers that the configuration puts on a request.
func (c *callers) signed(ctx context.Context) (http.Header, error) {
	req := (&http.Request{Method: http.MethodPost, URL: &url.URL{}, Header: make(http.Header)}).WithContext(ctx)
	resp, err := c.signer.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	closeBody(resp)
	return resp.Request.Header, nil
}

// hide keeps secrets of a call out of what came of it: an answer that repeats one
// is refused, a failure blanks it.
func hide(s *scope, open map[string]bool, answer []byte, failure *Error) *Error {
	if failure == nil && echoes(s.sent, open, answer) {
		return echoed()
	}
	return blank(s.sent, failure)
}

// nowhere answers a request with the request itself.
type nowhere struct{}

// RoundTrip implements http.RoundTripper.
func (nowhere) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusNoContent, Request: req, Body: http.NoBody, Header: http.Header{}}, nil
}

// freshTLS reads the files of the TLS configuration for each connection, so
// that certificates may be renewed.
type freshTLS struct{ config *promconfig.TLSConfig }

// ClientHandshake implements credentials.TransportCredentials.
func (t *freshTLS) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, grpccredentials.AuthInfo, error) {
	client, err := handshake(t.config)
	if err != nil {
		_ = raw.Close()
		return nil, nil, failf(ReasonResource, "", "tls_config: %w", err)
	}
	return grpccredentials.NewTLS(client).ClientHandshake(ctx, authority, raw)
}

// ServerHandshake implements credentials.TransportCredentials; nobody is
// served.
func (*freshTLS) ServerHandshake(net.Conn) (net.Conn, grpccredentials.AuthInfo, error) {
	return nil, nil, errors.ErrUnsupported
}

// Info implements credentials.TransportCredentials.
func (*freshTLS) Info() grpccredentials.ProtocolInfo {
	return grpccredentials.ProtocolInfo{SecurityProtocol: "tls"}
}

// Clone implements credentials.TransportCredentials.
func (t *freshTLS) Clone() grpccredentials.TransportCredentials { return &freshTLS{t.config} }

// OverrideServerName implements credentials.TransportCredentials; the name is
// tls_config.server_name.
func (*freshTLS) OverrideServerName(string) error { return nil }
