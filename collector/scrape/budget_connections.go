package scrape

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"time"
)

const (
	// One in reservedShare of the open files, and at least minReserved, is kept for
	// everything but connections to targets, which get at least minConnections.
	reservedShare  = 4
	minReserved    = 64
	minConnections = 16
	// defaultOpenFiles is assumed if the limit of the system cannot be read.
	defaultOpenFiles = 4096
	// While others wait, a request keeps its connection for connectionGrace, or for one in
	// graceShare of its timeout if that is less.
	connectionGrace = time.Second
	graceShare      = 4
)

// maxConnections returns how many of the open files connections to targets may use.
func maxConnections(openFiles int) int {
	return max(openFiles-max(openFiles/reservedShare, minReserved), minConnections)
}

// MaxReaderConnections returns half of the open files that connections to targets may not use.
func MaxReaderConnections() int {
	limit := openFiles()
	return max(limit-maxConnections(limit), minConnections) / 2
}

// limitDial limits the connections to targets by the limit of open files, so that hanging
// targets do not keep the others from being scraped.
func (r *Resources) limitDial(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if err := r.acquireConnection(ctx); err != nil {
			return nil, err
		}
		conn, err := dial(ctx, network, address)
		if err != nil && (errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)) {
			r.connections.closeIdle()
			conn, err = dial(ctx, network, address)
		}
		if err != nil {
			r.connections.Release(1)
			return nil, err
		}
		return &countedConn{Conn: conn, release: sync.OnceFunc(func() { r.connections.Release(1) })}, nil
	}
}

func (r *Resources) acquireConnection(ctx context.Context) error {
	patience := dialTimeout
	var l *lease
	if s := scopeOf(ctx); s != nil {
		// Less than the request has left, so that it can report why it failed.
		if deadline, ok := s.Deadline(); ok {
			patience = time.Until(deadline) * 3 / 4
		}
		l = s.lease
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if !r.connections.acquire(ctx, 1, l) {
		return r.noConnection()
	}
	return nil
}

func (r *Resources) noConnection() *Error {
	return shortage("all %d connections to targets are in use", r.connections.limit)
}

type shortageError struct{ error }

// Short reports that the exporter, not the server, is to blame.
func (shortageError) Short() bool { return true }

func shortage(format string, limit int64) *Error {
	return failf(
		ReasonResource, "", "%w",
		shortageError{fmt.Errorf(format+"; raise the limit of open files (ulimit -n) of the exporter", limit)},
	)
}

// reclaimedFrom returns the failure of a request whose lease was reclaimed, else nil.
func reclaimedFrom(ctx context.Context) *Error {
	failure, _ := errors.AsType[*Error](context.Cause(ctx))
	return failure
}

type countedConn struct {
	net.Conn

	release  func()
	overhead overhead
}

func (c *countedConn) Read(into []byte) (int, error) {
	// What is read at once counts before it is delivered.
	n, err := c.Conn.Read(into[:min(len(into), maxOverhead/4)])
	if failure := c.overhead.received(n); failure != nil && err == nil {
		err = failure
	}
	return n, err
}

func (c *countedConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}

// streamBody is the body of a response that may last until its lease is reclaimed.
type streamBody struct {
	io.ReadCloser

	scope *scope
	end   func()
}

func (b *streamBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	if failure := reclaimedFrom(b.scope); err != nil && !errors.Is(err, io.EOF) && failure != nil {
		err = failure
	}
	return n, err
}

func (b *streamBody) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}
