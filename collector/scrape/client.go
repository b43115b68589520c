package scrape

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape/lane"
	"github.com/trtllm-exporter/trtllm_exporter/collector/secret"
)

// Scraper sends requests to the servers of one pool. It is a [Client] or a fake in tests. It
// is safe for concurrent use.
type Scraper interface {
	engine.BriefClient

	// Scrape requests one page; see [Client.Scrape].
	Scrape(ctx context.Context, url string, buf []byte) (Page, error)
	// ScrapeFirst is Scrape for a server without an open connection; see [Client.ScrapeFirst].
	ScrapeFirst(ctx context.Context, url string, buf []byte) (Page, error)
	// ScrapeFresh is Scrape over a connection of its own; see [Client.ScrapeFresh].
	ScrapeFresh(ctx context.Context, url string, buf []byte) (Page, error)
	// Open returns a response that is streamed; see [Client.Open].
	Open(ctx context.Context, method, url string, body []byte) (*http.Response, error)
	// Secrets knows what must not be shown of what a server sends.
	Secrets() *secret.Store
	// PageLane and QuestionLane return lanes, or nil; see [Client.PageLane].
	PageLane(url string, timeout time.Duration) *lane.Lane
	QuestionLane(url string, keepAlive bool) *lane.Lane
	// CloseIdle and Close close idle connections; running scrapes are not affected.
	CloseIdle()
	Close()
}

// Page is the response to one scrape.
type Page struct {
	// Body is the decompressed page, in the buffer that was passed to Scrape or in a
	// larger one; the caller calls Release when done. After a failure it is empty.
	Body []byte
	// ContentType is the header as the server sent it, empty if it sent none.
	ContentType string
	// Unframed is true if only the end of the connection delimits the body, so that a
	// truncated body cannot be told from a complete one: HTTP/1 without Content-Length,
	// chunks or compression.
	Unframed bool
	// Kept is true if the page came over a connection that was open before, and that leads to
	// the server unless there is a proxy nobody told of.
	Kept bool
	// Cached is true if a cache says that it stored the page, Age how long ago the server made it, in
	// whole seconds.
	Cached bool
	Age    time.Duration

	memory reservation
	// secrets knows what must not be shown of the page.
	secrets *secret.Store
}

// Release frees the memory of the body, which must not be used afterwards.
func (p *Page) Release() { p.memory.release() }

// Client sends requests to the targets of one pool. It is safe for concurrent use.
type Client struct {
	rt http.RoundTripper
	// brief is rt with connections that close soon after a request.
	brief http.RoundTripper
	// fresh is rt with a connection for each request.
	fresh      http.RoundTripper
	transports []http.RoundTripper
	dial       dialFunc
	// signer adds the credentials to a request without sending it; elsewhere has those not in the configuration.
	signer    http.RoundTripper
	elsewhere secret.Elsewhere
	guard     *guard
	config    Config
	resources *Resources
	proxied   bool
	// plain is true if requests are sent without credentials.
	plain bool
}

// Client builds the client of a pool. It fails if a certificate file cannot be used.
// Configured files are read again when they change.
func (r *Resources) Client(cfg Config, logger *slog.Logger) (*Client, error) {
	return r.client(cfg, logger, func(control controlFunc) dialFunc {
		dialer := net.Dialer{ControlContext: control}
		return dialer.DialContext
	})
}

func (r *Resources) client(cfg Config, logger *slog.Logger, dialer func(controlFunc) dialFunc) (*Client, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	guard, err := cfg.Dial.guard()
	if err != nil {
		return nil, err
	}
	proxied := cfg.Proxy.Proxy() != nil
	c := &Client{
		guard: guard, config: cfg, resources: r, proxied: proxied, elsewhere: r.Secrets.AddConfig(cfg),
		plain: !proxied && cfg.Authorization == nil && cfg.BasicAuth == nil && cfg.OAuth2 == nil && cfg.Headers == nil,
	}
	c.dial = r.limitDial(dialer(guard.control))
	var token *tokenSource
	if cfg.OAuth2 != nil {
		login, err := newTransport(&cfg, &cfg.OAuth2.TLSConfig, &cfg.OAuth2.ProxyConfig, c.dial, idleTimeout)
		if err != nil {
			return nil, fmt.Errorf("oauth2: %w", err)
		}
		c.transports = append(c.transports, login)
		token = newTokenSource(cfg.OAuth2, login, r.Secrets)
	}
	if c.rt, err = c.roundTripper(&cfg, idleTimeout, token); err != nil {
		return nil, err
	}
	if c.brief, err = c.roundTripper(&cfg, briefIdleTimeout, token); err != nil {
		return nil, err
	}
	if c.fresh, err = c.roundTripper(&cfg, notIdle, token); err != nil {
		return nil, err
	}
	c.signer = c.elsewhere.Checked(credentials(&cfg, unsent{}, token))
	r.connections.Add(c)
	if cfg.TLS.InsecureSkipVerify {
		logger.Warn("Certificates of targets are not verified", "key", "tls_config.insecure_skip_verify")
	}
	return c, nil
}

func (c *Client) roundTripper(cfg *Config, idle time.Duration, token *tokenSource) (http.RoundTripper, error) {
	base, err := newTransport(cfg, &cfg.TLS, &cfg.Proxy, c.dial, idle)
	if err != nil {
		return nil, err
	}
	c.transports = append(c.transports, base)
	return c.elsewhere.Checked(credentials(cfg, base, token)), nil
}

// Secrets returns what must not be shown of what a server sends.
func (c *Client) Secrets() *secret.Store { return c.resources.Secrets }

// Close closes the idle connections; running scrapes are not affected.
func (c *Client) Close() {
	c.CloseIdle()
	c.resources.connections.Remove(c)
}

// CloseIdle closes the connections that no request uses.
func (c *Client) CloseIdle() {
	for _, t := range c.transports {
		(&http.Client{Transport: t}).CloseIdleConnections()
	}
}

// Scrape requests one page. The deadline of ctx covers everything from the dial to the last
// byte. The body overwrites buf. Every error is an *Error; the other fields of the page then
// hold what was known when it failed.
func (c *Client) Scrape(ctx context.Context, url string, buf []byte) (Page, error) {
	return c.scrapeOver(ctx, c.rt, url, buf)
}

// ScrapeFirst is Scrape for a server without an open connection. The one that it opens is closed
// afterwards if a lane can request the following pages: net/http would keep it for minutes, unused, with
// two goroutines, which for a thousand servers took a tenth of the exporter's memory.
func (c *Client) ScrapeFirst(ctx context.Context, url string, buf []byte) (Page, error) {
	if req, failure := newPageRequest(ctx, url); failure == nil {
		if _, ok := c.laneAddress(req); ok {
			return c.ScrapeFresh(ctx, url, buf)
		}
	}
	return c.Scrape(ctx, url, buf)
}

// ScrapeFresh is Scrape over a new connection, which is closed afterwards: it may lead to another
// process than those that are open.
func (c *Client) ScrapeFresh(ctx context.Context, url string, buf []byte) (Page, error) {
	return c.scrapeOver(ctx, c.fresh, url, buf)
}

func (c *Client) scrapeOver(ctx context.Context, rt http.RoundTripper, url string, buf []byte) (Page, error) {
	s, end := c.begin(ctx)
	defer end()
	page := Page{Body: buf[:0], memory: reservation{resources: c.resources}}
	failure := c.scrape(s, rt, url, &page).hidden(s.secrets) //nolint:contextcheck // A scope is a context.
	if failure == nil {
		return page, nil
	}
	page.Body = page.Body[:0]
	if page.memory.large > 0 {
		page.Body = nil
		page.Release()
	}
	return page, failure
}

func (c *Client) scrape(s *scope, rt http.RoundTripper, url string, page *Page) *Error {
	trace := &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) { page.Kept = got.Reused && !c.proxied }}
	req, failure := newPageRequest(httptrace.WithClientTrace(s, trace), url)
	if failure != nil {
		return failure
	}
	resp, failure := c.send(s, rt, req)
	if failure != nil {
		return failure
	}
	defer closeBody(resp)
	page.secrets = s.secrets
	return c.readPage(s, resp, page)
}

// begin starts a request, whose scope is canceled when the lease of its connection is
// reclaimed. The caller calls end after the request.
func (c *Client) begin(ctx context.Context) (s *scope, end func()) {
	connections := c.resources.connections
	l := &lease{grace: connectionGrace}
	if deadline, ok := ctx.Deadline(); ok {
		l.grace = min(l.grace, time.Until(deadline)/graceShare)
	}
	l.renew()
	s = &scope{lease: l, secrets: c.resources.Secrets}
	s.Context, l.cancel = context.WithCancelCause(ctx)
	connections.join(l)
	return s, func() {
		l.cancel(nil)
		connections.leave(l)
	}
}

func (c *Client) readPage(s *scope, resp *http.Response, page *Page) (failure *Error) {
	page.ContentType = resp.Header.Get("Content-Type")
	page.Age, page.Cached = ageOf(resp)
	if failure := checkStatus(s, resp); failure != nil {
		return failure
	}
	if failure := checkContentType(page.ContentType); failure != nil {
		return failure
	}
	page.Body, failure = c.readBody(s, resp, &page.memory, page.Body, int64(c.config.Limits.Body))
	if failure != nil {
		return failure
	}
	page.Unframed = unframed(resp)
	return checkEnd(page)
}

// closeBody closes a response, and its connection unless the body was read to its end.
func closeBody(resp *http.Response) { _ = resp.Body.Close() }

// Do sends one of the small requests about identity and health. No status is an error; every
// error is an *Error. A body other than nil is sent as JSON. The response may have up to
// limit bytes, or limits.body if limit is 0. URLs with scheme grpc or grpcs are called over
// gRPC, without headers and body.
func (c *Client) Do(
	ctx context.Context,
	method, url string,
	body []byte,
	limit int64,
) (status int, header http.Header, answer []byte, err error) {
	return c.do(ctx, c.rt, method, url, body, limit)
}

// DoBrief is Do over a connection that is kept only for the other requests of a round. A Triton
// that shuts down waits for every open connection of its API, up to --exit-timeout-secs, and still
// reports over them that it is ready (server src/http_server.cc; seen on 2.51): a connection that
// stays open would delay and hide the shutdown.
func (c *Client) DoBrief(
	ctx context.Context,
	method, url string,
	body []byte,
	limit int64,
) (status int, header http.Header, answer []byte, err error) {
	return c.do(ctx, c.brief, method, url, body, limit)
}

func (c *Client) do(
	ctx context.Context,
	rt http.RoundTripper,
	method, url string,
	body []byte,
	limit int64,
) (status int, header http.Header, answer []byte, err error) {
	s, end := c.begin(ctx)
	defer end()
	if limit <= 0 {
		limit = int64(c.config.Limits.Body)
	}
	var failure *Error
	if isGRPC(url) {
		//nolint:contextcheck // A scope is a context.
		status, answer, failure = c.doGRPC(s, method, url, c.maxBody(limit))
		header = http.Header{}
	} else {
		//nolint:contextcheck // A scope is a context.
		status, header, answer, failure = c.doHTTP(s, rt, method, url, body, limit)
	}
	if failure != nil {
		return status, header, nil, failure.hidden(s.secrets)
	}
	return status, header, s.secrets.HideInAnswer(answer), nil
}

func (c *Client) doHTTP(
	s *scope,
	rt http.RoundTripper,
	method, url string,
	body []byte,
	limit int64,
) (status int, header http.Header, answer []byte, failure *Error) {
	req, failure := newRequest(s, method, url, acceptJSON, body)
	if failure != nil {
		return 0, nil, nil, failure
	}
	resp, failure := c.send(s, rt, req)
	if failure != nil {
		return 0, nil, nil, failure
	}
	defer closeBody(resp)
	memory := reservation{resources: c.resources}
	defer memory.release()
	answer, failure = c.readBody(s, resp, &memory, nil, limit)
	return resp.StatusCode, resp.Header, answer, failure
}

// Open is [Client.DoBrief] for streamed responses: it returns the response with its body unread,
// bounded by ctx alone. Unless the status is 200, the body is replaced by its beginning, quoted,
// without the secrets of the request. Over gRPC only GET, whose response is not streamed and
// bounded by limits.body, and POST to a generate_stream of Triton are supported.
func (c *Client) Open(ctx context.Context, method, url string, body []byte) (*http.Response, error) {
	s, end := c.begin(ctx)
	resp, failure := c.open(s, method, url, body) //nolint:contextcheck // A scope is a context.
	if failure != nil {
		if s.lease.lastProgress.Load() == nil {
			failure = c.resources.noConnection() // It was still waiting for a connection.
		}
		end()
		return nil, failure.hidden(s.secrets)
	}
	stream := &streamBody{ReadCloser: resp.Body, scope: s, end: end}
	resp.Body = stream
	if resp.StatusCode != http.StatusOK {
		resp.Body = io.NopCloser(strings.NewReader(quoteBody(s, resp)))
		_ = stream.Close()
	}
	return resp, nil
}

func (c *Client) open(s *scope, method, url string, body []byte) (*http.Response, *Error) {
	if isGRPC(url) {
		return c.openGRPC(s, method, url, body, c.maxBody(int64(c.config.Limits.Body)))
	}
	req, failure := newRequest(s, method, url, acceptStream, body)
	if failure != nil {
		return nil, failure
	}
	return c.send(s, c.brief, req)
}
