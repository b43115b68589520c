package scrape

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape/lane"
)

const (
	// filesReserve is the part of the open files that connections to targets
	// leave to the listener, to name resolution and to files; leastReserve is
	// the least of it, leastFiles what they have in any case.
	filesReserve = 4
	leastReserve = 64
	leastFiles   = 16
	// usualFiles is the limit where the system has none to read.
	usualFiles = 4096
	// longUse is how long a request keeps its connection in any case while others
	// wait; it is less where it is more than this part of the time that it has.
	longUse  = time.Second
	useShare = 4
)

// connections bounds the connections to targets by the open files that the
// process may have. When all are in use those without a request are closed.
// While somebody still waits, requests that have had their connections for long
// give them up, the longest first: so targets that hang do not keep the others
// from being scraped. Safe for concurrent use.
type connections struct {
	*budget

	mu   sync.Mutex
	idle map[closer]struct{}
}

// closer keeps connections between requests.
type closer interface {
	// CloseIdle closes those that no request uses.
	CloseIdle()
}

func newConnections(bound int) *connections {
	return &connections{budget: newBudget(int64(bound)), idle: make(map[closer]struct{})}
}

// filesBound returns how many connections targets may have of so many open files.
func filesBound(limit int) int {
	return max(limit-max(limit/filesReserve, leastReserve), leastFiles)
}

// ReadersBound returns how many connections readers may have of the files that this
// process may open: half of what those to targets leave.
func ReadersBound() int {
	limit := openFiles()
	return max(limit-filesBound(limit), leastFiles) / 2
}

// begin notes the request of a scope, whose context ends when its connection is
// taken back. The caller calls end when it is over.
func (c *connections) begin(s *scope) (end func()) {
	u := &use{since: time.Now(), long: longUse}
	if deadline, ok := s.Deadline(); ok {
		u.long = min(u.long, time.Until(deadline)/useShare)
	}
	s.Context, u.cancel = context.WithCancelCause(s.Context)
	s.use = u
	c.join(u)
	return func() {
		u.cancel(nil)
		c.leave(u)
	}
}

// dialing bounds the connections that a dial opens.
func (c *connections) dialing(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if err := c.wait(ctx); err != nil {
			return nil, err
		}
		conn, err := dial(ctx, network, address)
		if err != nil && (errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)) {
			c.closeIdle()
			conn, err = dial(ctx, network, address)
		}
		if err != nil {
			c.release(1)
			return nil, err
		}
		return &counted{Conn: conn, gone: sync.OnceFunc(func() { c.release(1) })}, nil
	}
}

// wait waits until one more connection may be opened.
func (c *connections) wait(ctx context.Context) error {
	if c.try(1) {
		return nil
	}
	patience := dialTimeout
	s := scopeOf(ctx)
	if s != nil {
		// Less than the request has, so that it can say why it failed.
		if deadline, ok := s.Deadline(); ok {
			patience = time.Until(deadline) * 3 / 4
		}
		c.since(s.use, time.Time{})
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	taken := shortage("the answer took long, and others waited while all %d connections that targets may have were in use", c.bound)
	if !c.budget.wait(ctx, 1, taken, c.closeIdle) {
		return c.short()
	}
	if s != nil {
		c.since(s.use, time.Now())
	}
	return nil
}

// closeIdle closes the connections that no request uses at the moment.
func (c *connections) closeIdle() {
	c.mu.Lock()
	idle := slices.Collect(maps.Keys(c.idle))
	c.mu.Unlock()
	for _, i := range idle {
		i.CloseIdle()
	}
}

// add and remove say who has connections that may be idle.
func (c *connections) add(i closer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle[i] = struct{}{}
}

func (c *connections) remove(i closer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.idle, i)
}

// Take and the others implement [lane.Connections].
func (c *connections) Take() bool { return c.try(1) }

// Give gives back what Take took.
func (c *connections) Give() { c.release(1) }

// Crowded reports whether somebody waits for a connection.
func (c *connections) Crowded() bool { return c.waiting.Load() > 0 }

// Add and Remove say which lanes have connections that may be idle.
func (c *connections) Add(l *lane.Lane) { c.add(l) }

// Remove is the opposite of Add.
func (c *connections) Remove(l *lane.Lane) { c.remove(l) }

// short is the failure of a request that had no connection in time.
func (c *connections) short() *Error {
	return shortage("all %d connections that targets may have are in use", c.bound)
}

// missed is that failure for a request that still waits for its connection, nil
// for any other.
func (c *connections) missed(u *use) *Error {
	c.budget.mu.Lock()
	defer c.budget.mu.Unlock()
	if u.since.IsZero() {
		return c.short()
	}
	return nil
}

// missing marks a failure for want of connections, of which the server knows
// nothing.
type missing struct{ error }

// Short reports that the exporter ran out of a resource.
func (missing) Short() bool { return true }

// shortage returns such a failure; format follows fmt.Errorf.
func shortage(format string, bound int64) *Error {
	return failf(ReasonResource, "", "%w", missing{fmt.Errorf(format+"; raise the limit of open files (ulimit -n) of the exporter", bound)})
}

// takenFrom returns the failure of a request whose connection was taken back, nil
// for any other.
func takenFrom(ctx context.Context) *Error {
	failure, _ := errors.AsType[*Error](context.Cause(ctx))
	return failure
}

// counted is a connection that says when it is gone.
type counted struct {
	net.Conn

	gone func()
}

// Close closes the connection.
func (c *counted) Close() error {
	defer c.gone()
	return c.Conn.Close()
}

// stream is the body of an answer that may take as long as it likes, while nobody
// else needs its connection.
type stream struct {
	io.ReadCloser

	scope *scope
	end   func()
}

// Read implements io.Reader.
func (s *stream) Read(into []byte) (int, error) {
	n, err := s.ReadCloser.Read(into)
	if failure := takenFrom(s.scope); err != nil && !errors.Is(err, io.EOF) && failure != nil {
		err = failure
	}
	return n, err
}

// Close implements io.Closer.
func (s *stream) Close() error {
	defer s.end()
	return s.ReadCloser.Close()
}
