package scrape

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"time"
)

// BriefIdleTimeout is how long a connection is kept for the next question of a round.
const BriefIdleTimeout = briefIdleTimeout

// NewWithDial builds a client over a dialer of the test.
func NewWithDial(cfg Config, logger *slog.Logger, dialer func(control func(context.Context, string, string, syscall.RawConn) error) func(context.Context, string, string) (net.Conn, error)) (*Client, error) {
	return NewResources().client(cfg, logger, func(control controlFunc) dialFunc { return dialer(control) })
}

// Bounded are resources of so many bytes for large bodies and so many
// connections.
func Bounded(body int64, connections int) *Resources {
	m := newMemory()
	m.bound = func() int64 { return body }
	parsing := newParsing()
	parsing.bound = func() int64 { return body / parseShare }
	return &Resources{memory: m, parsing: parsing, files: newFiles(connections), alone: func() int64 { return 0 }}
}

// BoundOne bounds one body to so many bytes.
func BoundOne(r *Resources, most int64) { r.alone = func() int64 { return most } }

// BoundedClient is a client of these resources over a dialer of the test.
func BoundedClient(r *Resources, cfg Config, logger *slog.Logger, dial func(context.Context, string, string) (net.Conn, error)) (*Client, error) {
	return r.client(cfg, logger, func(controlFunc) dialFunc { return dial })
}

// Classify gives the failure of an error of the transport.
func Classify(ctx context.Context, inBody bool, err error) *Error {
	if inBody {
		return classify(ctx, stageBody, err)
	}
	return classify(ctx, stageHeaders, err)
}

// CheckContentType gives the failure of a content type, nil for none.
func CheckContentType(contentType string) *Error { return checkContentType(contentType) }

// LaneOver is a lane whose connection is there, as a descriptor that it closes.
func LaneOver(c *Client, fd int, timeout time.Duration) *Lane {
	c.resources.files.enter(nil)
	return &Lane{
		client: c, request: []byte("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n"),
		keep: true, most: freeBody, timeout: timeout, fd: fd, pauses: pauses{rest: shortRest},
	}
}

// Connected says whether a lane has a connection that it keeps.
func (l *Lane) Connected() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fd >= 0
}

// Inflated is a compressed body as a page has it.
func Inflated(c *Client, body []byte) ([]byte, error) {
	permit := permit{memory: c.resources.memory}
	defer permit.end()
	resp := &http.Response{Header: http.Header{"Content-Encoding": {"gzip"}}, ContentLength: int64(len(body)), Body: io.NopCloser(bytes.NewReader(body))}
	got, failure := c.readBody(context.Background(), resp, &permit, nil, int64(c.limits.Body))
	if failure != nil {
		return nil, failure
	}
	return got, nil
}

// TookOf is how long an answer took.
func TookOf(most time.Duration, begun, came, seen int64) time.Duration {
	return tookOf(most, begun, came, seen)
}

// WaitsOf is how many of so many requests of slow hosts wait for a connection, one
// after the other, soon after there were too few.
func WaitsOf(connections, slow int) uint64 {
	f := newFiles(connections)
	f.hosts["slow"], f.short = host{long: mostLong}, time.Now()
	for range slow {
		f.enter(f.begin("slow", time.Time{}, false, func(error) {}))
	}
	return f.waits
}

// CutsOf is how many of so many connections are taken back from requests of slow
// hosts that have some for long, and do not end at once, when others wait.
func CutsOf(connections, slow, wait int) uint64 {
	f := newFiles(connections)
	f.hosts["slow"] = host{long: mostLong}
	for range slow {
		t := f.begin("slow", time.Time{}, false, func(error) {})
		t.since = time.Now().Add(-time.Hour)
		f.open++
	}
	for range wait {
		f.join(nil)
	}
	return f.cuts
}

// Late has a lane note an answer that takes too long, and says how long it rests then.
func Late(l *Lane) time.Duration {
	l.mu.Lock()
	l.until = time.Time{}
	l.mu.Unlock()
	l.slow()
	l.mu.Lock()
	defer l.mu.Unlock()
	rest := time.Duration(0)
	if !l.until.IsZero() {
		rest = time.Until(l.until)
	}
	l.until = time.Time{}
	return rest
}
