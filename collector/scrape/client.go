package scrape

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Page is the answer to one scrape.
type Page struct {
	// Body is the decompressed page. It is in the buffer that was handed to
	// Scrape, or in a larger one; the caller owns it, and calls Release when it
	// is done with. After a failure it is empty, and keeps the capacity of an
	// ordinary page only.
	Body []byte
	// ContentType is the header as the server sent it; empty when it sent none.
	ContentType string
	// Unframed is true when nothing but the end of the connection ends the body,
	// so that a part of a page which ends with a line looks like a whole
	// one: HTTP/1 without Content-Length, chunks or compression.
	Unframed bool
	// Duration is the time from the first byte out to the last byte in, Came when
	// that was.
	Duration time.Duration
	Came     time.Time

	room reservation
	// sent are the headers of the request, open those whose values are shown.
	sent http.Header
	open map[string]bool
}

// Release says that the body is not used any more: others may have its memory.
func (p *Page) Release() { p.room.release() }

// Client asks the targets of one pool. Safe for concurrent use.
type Client struct {
	rt http.RoundTripper
	// brief is rt with connections that end by themselves soon.
	brief     http.RoundTripper
	closers   []transport
	requests  *requests
	callers   *callers
	guard     *guard
	limits    Limits
	resources *Resources
	// open are the headers whose values are no secrets.
	open    map[string]bool
	follow  bool
	proxied bool
	// plain is true when requests are sent as they are, without credentials.
	plain     bool
	inflaters sync.Pool
}

// New is [Resources.Client] with resources of its own.
func New(cfg Config, logger *slog.Logger) (*Client, error) { return NewResources().Client(cfg, logger) }

// Client builds the client of a pool: connections are kept between scrapes, and
// files that the configuration names are read again when they change. It reads
// certificate files, and fails when one cannot be used.
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
	dial := r.connections.dialing(dialer(guard.control))
	base, err := newTransport(&cfg, &cfg.TLS, &cfg.Proxy, dial, idleTimeout)
	if err != nil {
		return nil, err
	}
	brief, err := newTransport(&cfg, &cfg.TLS, &cfg.Proxy, dial, briefIdleTimeout)
	if err != nil {
		return nil, err
	}
	c := &Client{
		closers:  []transport{base, brief},
		requests: newRequests(),
		guard:    guard,
		limits:   cfg.Limits, resources: r, open: openHeaders(&cfg),
		follow:  cfg.FollowRedirects,
		proxied: cfg.Proxy.Proxy() != nil,
		plain:   cfg.Proxy.Proxy() == nil && cfg.Authorization == nil && cfg.BasicAuth == nil && cfg.OAuth2 == nil && cfg.Headers == nil,
	}
	c.inflaters.New = newInflater
	var token *tokenSource
	if cfg.OAuth2 != nil {
		login, err := newTransport(&cfg, &cfg.OAuth2.TLSConfig, &cfg.OAuth2.ProxyConfig, dial, idleTimeout)
		if err != nil {
			return nil, fmt.Errorf("oauth2: %w", err)
		}
		c.closers = append(c.closers, login)
		token = newTokenSource(cfg.OAuth2, login)
	}
	c.rt, c.brief = credentials(&cfg, witness{base}, token), credentials(&cfg, witness{brief}, token)
	c.callers = newCallers(&cfg, c.requests.agent, dial, token)
	r.connections.add(c)
	if cfg.TLS.InsecureSkipVerify {
		logger.Warn("Certificates of targets are not verified", "key", "tls_config.insecure_skip_verify")
	}
	return c, nil
}

// Leave closes the connection to an API that is asked over gRPC and will not be
// asked again.
func (c *Client) Leave(base string) { c.callers.leave(base) }

// Close closes the idle connections and those to APIs; scrapes that run go on.
func (c *Client) Close() {
	c.callers.close()
	c.CloseIdle()
	c.resources.connections.remove(c)
}

// CloseIdle closes the connections that no request uses.
func (c *Client) CloseIdle() {
	for _, closer := range c.closers {
		closer.CloseIdleConnections()
	}
	c.callers.rest()
}

// Scrape asks for one page. The deadline of ctx bounds it all, from the dial to
// the last byte. The body is written over buf, which needs no allocation while
// its capacity lasts. Every error is an *Error; the rest of the page then says
// what was known when it failed.
func (c *Client) Scrape(ctx context.Context, url string, buf []byte) (Page, error) {
	start := time.Now()
	page := Page{Body: buf[:0], room: reservation{of: c.resources}}
	failure := c.scrape(ctx, url, &page)
	page.Came = time.Now()
	page.Duration = page.Came.Sub(start)
	if failure != nil {
		page.Body = page.Body[:0]
		if page.room.large.bytes > 0 {
			page.Body = nil
			page.Release()
		}
		return page, failure
	}
	return page, nil
}

func (c *Client) scrape(ctx context.Context, url string, page *Page) *Error {
	req, failure := c.requests.page(ctx, url)
	if failure != nil {
		return failure
	}
	defer c.begin(scopeOf(req.Context()))() //nolint:contextcheck // A scope is a context.
	resp, failure := c.send(c.rt, req)
	if failure != nil {
		return failure
	}
	defer closeBody(resp)
	page.sent, page.open = sentWith(req), c.open
	return conceal(req, c.read(req.Context(), req, resp, page)) //nolint:contextcheck // The request's is the scope.
}

// begin notes a request, whose context ends when its connection is taken back; the
// caller calls end when it is over.
func (c *Client) begin(s *scope) (end func()) {
	over := c.resources.connections.begin(s)
	return func() {
		over()
		if c.resources.connections.Crowded() {
			c.CloseIdle()
		}
	}
}

// read takes the page from its response.
func (c *Client) read(ctx context.Context, req *http.Request, resp *http.Response, page *Page) (failure *Error) {
	page.ContentType = resp.Header.Get("Content-Type")
	if failure := checkStatus(req, resp); failure != nil {
		return failure
	}
	if failure := checkContentType(page.ContentType); failure != nil {
		return cmp.Or(checkContentType(withoutSecrets(resp, page.ContentType)), failure)
	}
	page.Body, failure = c.readBody(ctx, resp, &page.room, page.Body, int64(c.limits.Body))
	if failure != nil {
		return failure
	}
	page.Unframed = unframed(resp)
	return checkEnd(page)
}

// closeBody ends a response. A body that was not read to its end takes the
// connection with it; how that ends is of no interest any more.
func closeBody(resp *http.Response) { _ = resp.Body.Close() }

// Get asks one of the small questions of identity and health. Every status is
// an answer; an error is an *Error and says that there was none. The body is
// bounded by limit bytes, by limits.body when that is 0.
func (c *Client) Get(ctx context.Context, url string, limit int64) (status int, header http.Header, body []byte, err error) {
	return c.Do(ctx, http.MethodGet, url, nil, limit)
}

// Do is Get with another method; a body that is not nil is sent as JSON. An URL
// of scheme grpc or grpcs is asked over gRPC, which has no headers and sends no
// body.
func (c *Client) Do(ctx context.Context, method, url string, body []byte, limit int64) (status int, header http.Header, answer []byte, err error) {
	return c.ask(ctx, c.rt, method, url, body, limit)
}

// Pass is Do over a connection that is kept from one question of a round to the
// next only. Triton waits for every open connection of its API until
// --exit-timeout-secs before it ends, and answers ready over them all the while
// (server src/http_server.cc; seen on 2.51): one that is kept would hold it up
// and hide that it ends.
func (c *Client) Pass(ctx context.Context, method, url string, body []byte, limit int64) (status int, header http.Header, answer []byte, err error) {
	return c.ask(ctx, c.brief, method, url, body, limit)
}

// ask puts a question over the given connections.
func (c *Client) ask(ctx context.Context, rt http.RoundTripper, method, url string, body []byte, limit int64) (status int, header http.Header, answer []byte, err error) {
	if limit <= 0 {
		limit = int64(c.limits.Body)
	}
	if isGRPC(url) {
		return c.call(ctx, method, url, limit)
	}
	req, failure := c.requests.question(ctx, method, url, body)
	if failure != nil {
		return 0, nil, nil, failure
	}
	defer c.begin(scopeOf(req.Context()))() //nolint:contextcheck // A scope is a context.
	resp, failure := c.send(rt, req)
	if failure != nil {
		return 0, nil, nil, failure
	}
	defer closeBody(resp)
	room := reservation{of: c.resources}
	defer room.release()
	answer, failure = c.readBody(req.Context(), resp, &room, nil, limit) //nolint:contextcheck // The request's is the scope.
	if failure == nil && echoes(sentWith(req), c.open, answer) {
		failure = echoed()
	}
	failure = conceal(req, failure)
	if failure != nil {
		return resp.StatusCode, resp.Header, nil, failure
	}
	return resp.StatusCode, resp.Header, answer, nil
}

// Open sends one request and hands the answer out with its body unread, for
// answers that are read as they come; the caller closes the body. Every status
// is an answer; an error is an *Error and says that there was none. A body that
// is not nil is sent as JSON. Nothing but ctx and the limit on headers bounds
// what comes. Of an answer other than 200 the body is what may be shown of it:
// its first words, quoted, without the secrets of the request. Connections are
// those of [Client.Pass]. An URL of scheme grpc or grpcs is asked over gRPC: a GET,
// whose answer comes in one part and is bounded by limits.body, or what is posted to
// a generate_stream of Triton.
func (c *Client) Open(ctx context.Context, method, url string, body []byte) (*http.Response, error) {
	s := &scope{Context: ctx}
	out := &stream{scope: s, end: c.begin(s)}
	resp, failure := c.reach(s, method, url, body) //nolint:contextcheck // It holds ctx.
	if failure != nil {
		failure = cmp.Or(c.resources.connections.missed(s.use), failure)
		out.end()
		return nil, failure
	}
	out.ReadCloser, resp.Body = resp.Body, out
	if resp.StatusCode != http.StatusOK {
		shown := quoteBody(resp)
		closeBody(resp)
		resp.Body = io.NopCloser(strings.NewReader(shown))
	}
	return resp, nil
}

// reach sends the request of an answer that is read as it comes.
func (c *Client) reach(s *scope, method, rawURL string, body []byte) (*http.Response, *Error) {
	if isGRPC(rawURL) {
		resp, failure := c.callers.open(s, method, rawURL, body, c.most(int64(c.limits.Body)))
		if failure != nil {
			return nil, blank(s.sent, failure)
		}
		// What the server repeats of it is not shown.
		resp.Request = &http.Request{Header: s.sent}
		return resp, nil
	}
	req, failure := c.requests.question(s, method, rawURL, body)
	if failure != nil {
		return nil, failure
	}
	req.Header.Set("Accept", acceptStream)
	return c.send(c.brief, req.WithContext(s))
}
