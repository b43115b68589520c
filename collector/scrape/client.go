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

	permit permit
	// memory is what the body is a part of, nil where it is the whole.
	memory []byte
	// sent are the headers of the request, open those whose values are shown.
	sent http.Header
	open map[string]bool
}

// Release says that the body is not used any more: others may have its memory.
func (p *Page) Release() { p.permit.end() }

// Memory is all of the memory that the body is in, to be handed to a later
// scrape.
func (p *Page) Memory() []byte {
	if p.memory != nil {
		return p.memory
	}
	return p.Body
}

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
	lanes     lanes
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
	dial := r.files.dialing(dialer(guard.control))
	base, err := connections(&cfg, &cfg.TLS, &cfg.Proxy, dial, idleTimeout)
	if err != nil {
		return nil, err
	}
	brief, err := connections(&cfg, &cfg.TLS, &cfg.Proxy, dial, briefIdleTimeout)
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
		login, err := connections(&cfg, &cfg.OAuth2.TLSConfig, &cfg.OAuth2.ProxyConfig, dial, idleTimeout)
		if err != nil {
			return nil, fmt.Errorf("oauth2: %w", err)
		}
		c.closers = append(c.closers, login)
		token = newTokenSource(cfg.OAuth2, login)
	}
	c.rt, c.brief = credentials(&cfg, witness{base}, token), credentials(&cfg, witness{brief}, token)
	c.callers = newCallers(&cfg, c.requests.agent, dial, token)
	r.files.add(c)
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
	c.closeIdle()
	c.resources.files.remove(c)
}

// closeIdle closes the connections that no request uses.
func (c *Client) closeIdle() {
	c.lanes.closeIdle()
	c.closeUnused()
}

// closeUnused closes those of them that are no lanes'.
func (c *Client) closeUnused() {
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
	page := Page{Body: buf[:0], permit: permit{memory: c.resources.memory, parsing: c.resources.parsing, most: int(c.most(int64(c.limits.Body)))}}
	failure := c.scrape(ctx, url, &page)
	if failure != nil {
		page.Came = time.Now()
	}
	page.Duration = page.Came.Sub(start)
	if failure != nil {
		page.Body = page.Body[:0]
		if page.permit.lease != nil {
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
	failure = c.inTurn(req, func(req *http.Request) *Error {
		resp, failure := c.send(c.rt, req)
		if failure != nil {
			return failure
		}
		defer closeBody(resp)
		page.sent, page.open, page.Body = sentWith(req), c.open, page.Body[:0]
		return conceal(req, c.read(req.Context(), req, resp, page))
	})
	if failure != nil {
		return failure
	}
	page.Came = time.Now() // It may wait until it is parsed.
	return page.permit.toParse(ctx, len(page.Body))
}

// inTurn does what a request is sent for; see [Client.turns]. One that has a body
// is sent once.
func (c *Client) inTurn(req *http.Request, do func(req *http.Request) *Error) *Error {
	s := scopeOf(req.Context())
	return c.turns(s, hostPort(req.URL), req.Body == nil, func(now *scope) *Error { //nolint:contextcheck // A scope is a context.
		if now != s {
			req = req.WithContext(now)
		}
		return do(req)
	})
}

// turns asks a host, until the scope ends. The connection is taken back when that
// takes long and others wait for one; a host that is not known to take long is
// asked once more then, if it may be.
func (c *Client) turns(s *scope, address string, repeat bool, do func(*scope) *Error) *Error {
	f, whole := c.resources.files, s.Context
	for {
		t, cancel := f.inTurn(s, address, false)
		failure, more := t.end(do(s))
		cancel(nil)
		c.yield()
		if !more || !repeat || whole.Err() != nil {
			return failure
		}
		// The dial of the first may still look at its scope.
		s = &scope{Context: whole}
	}
}

// yield closes what is not used when others wait for connections.
func (c *Client) yield() {
	if c.resources.files.crowded.Load() {
		c.closeUnused()
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
	page.Body, failure = c.readBody(ctx, resp, &page.permit, page.Body, int64(c.limits.Body))
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
	failure = c.inTurn(req, func(req *http.Request) *Error {
		resp, failure := c.send(rt, req)
		if failure != nil {
			return failure
		}
		defer closeBody(resp)
		status, header = resp.StatusCode, resp.Header
		permit := permit{memory: c.resources.memory}
		defer permit.end()
		answer, failure = c.readBody(req.Context(), resp, &permit, nil, limit)
		if failure == nil && echoes(sentWith(req), c.open, answer) {
			failure = echoed()
		}
		return conceal(req, failure)
	})
	if failure != nil {
		return status, header, nil, failure
	}
	return status, header, answer, nil
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
	resp, failure := c.begin(ctx, method, url, body)
	if failure != nil {
		return nil, failure
	}
	if resp.StatusCode != http.StatusOK {
		shown := quoteBody(resp)
		closeBody(resp)
		resp.Body = io.NopCloser(strings.NewReader(shown))
	}
	return resp, nil
}
