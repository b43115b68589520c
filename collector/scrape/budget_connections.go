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
	// reservedShare is the fraction of the open files that connections to targets leave
	// to the listener, to name resolution and to files, minReserved the least of it;
	// minConnections is what they have in any case.
	reservedShare  = 4
	minReserved    = 64
	minConnections = 16
	// defaultOpenFiles is the limit where the system has none to read.
	defaultOpenFiles = 4096
	// While others wait, a request keeps its connection for connectionGrace, or for
	// that fraction of its time if that is less.
	connectionGrace = time.Second
	graceShare      = 4
)

// connections limits the connections to targets by the open files that the process may
// have. When all are in use, idle ones are closed. While requests still wait, those that have
// had their connections for long lose them, so that targets that hang do not keep the others
// from being scraped. Safe for concurrent use.
type connections struct {
	*budget

	mu      sync.Mutex
	holders map[lane.IdleCloser]struct{}
}

func newConnections(limit int) *connections {
	return &connections{budget: newBudget(int64(limit)), holders: make(map[lane.IdleCloser]struct{})}
}

// maxConnections returns how many of the open files connections to targets may use.
func maxConnections(openFiles int) int {
	return max(openFiles-max(openFiles/reservedShare, minReserved), minConnections)
}

// MaxReaderConnections returns how many connections readers may have: half of the open
// files that those to targets leave.
func MaxReaderConnections() int {
	limit := openFiles()
	return max(limit-maxConnections(limit), minConnections) / 2
}

// begin gives a request a lease of its connection; when that is reclaimed the context of
// s ends. The caller calls end when the request is over.
func (c *connections) begin(s *scope) (end func()) {
	l := &lease{grace: connectionGrace}
	if deadline, ok := s.Deadline(); ok {
		l.grace = min(l.grace, time.Until(deadline)/graceShare)
	}
	l.renew()
	s.Context, l.cancel = context.WithCancelCause(s.Context)
	s.lease = l
	c.join(l)
	return func() {
		l.cancel(nil)
		c.leave(l)
	}
}

// limitDial returns a dial function that counts and limits the connections of dial.
func (c *connections) limitDial(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if err := c.acquire(ctx); err != nil {
			return nil, err
		}
		conn, err := dial(ctx, network, address)
		if err != nil && (errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)) {
			c.closeIdle()
			conn, err = dial(ctx, network, address)
		}
		if err != nil {
			c.Release()
			return nil, err
		}
		return &countedConn{Conn: conn, release: sync.OnceFunc(c.Release)}, nil
	}
}

// acquire waits until one more connection may be opened.
func (c *connections) acquire(ctx context.Context) error {
	if c.TryAcquire() {
		return nil
	}
	patience := dialTimeout
	s := scopeOf(ctx)
	if s != nil {
		// Less than the request has, so that it can report why it failed.
		if deadline, ok := s.Deadline(); ok {
			patience = time.Until(deadline) * 3 / 4
		}
		s.lease.suspend()
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	reclaimed := shortage("the response took long while others waited for one of the %d connections to targets", c.limit)
	if !c.wait(ctx, 1, reclaimed, c.closeIdle) {
		return c.exhausted()
	}
	if s != nil {
		s.lease.renew()
	}
	return nil
}

// closeIdle closes the connections that no request uses.
func (c *connections) closeIdle() {
	c.mu.Lock()
	holders := slices.Collect(maps.Keys(c.holders))
	c.mu.Unlock()
	for _, holder := range holders {
		holder.CloseIdle()
	}
}

// Add registers a holder of connections that may be idle.
func (c *connections) Add(holder lane.IdleCloser) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.holders[holder] = struct{}{}
}

// Remove undoes Add.
func (c *connections) Remove(holder lane.IdleCloser) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.holders, holder)
}

// TryAcquire takes one connection and reports whether there was one.
func (c *connections) TryAcquire() bool { return c.try(1) }

// Release gives one connection back.
func (c *connections) Release() { c.release(1) }

// Contended reports whether a request waits for a connection.
func (c *connections) Contended() bool { return c.waiting.Load() > 0 }

// exhausted returns the failure of a request that got no connection in time.
func (c *connections) exhausted() *Error {
	return shortage("all %d connections to targets are in use", c.limit)
}

// shortageError is a failure for which the server is not to blame.
type shortageError struct{ error }

// Short reports that the exporter ran out of a resource.
func (shortageError) Short() bool { return true }

// shortage returns the failure of a request without a connection; format follows
// fmt.Errorf.
func shortage(format string, limit int64) *Error {
	return failf(ReasonResource, "", "%w", shortageError{fmt.Errorf(format+"; raise the limit of open files (ulimit -n) of the exporter", limit)})
}

// reclaimedFrom returns the failure of a request whose lease was reclaimed, nil for any
// other.
func reclaimedFrom(ctx context.Context) *Error {
	failure, _ := errors.AsType[*Error](context.Cause(ctx))
	return failure
}

// countedConn is a connection that counts until it is closed.
type countedConn struct {
	net.Conn

	release func()
}

// Close implements net.Conn.
func (c *countedConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}

// streamBody is the body of a response that may take any time while no other request needs
// its connection.
type streamBody struct {
	io.ReadCloser

	scope *scope
	end   func()
}

// Read implements io.Reader.
func (b *streamBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	if failure := reclaimedFrom(b.scope); err != nil && !errors.Is(err, io.EOF) && failure != nil {
		err = failure
	}
	return n, err
}

// Close implements io.Closer.
func (b *streamBody) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}
