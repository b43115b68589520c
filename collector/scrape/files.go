package scrape

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"
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
)

// files bounds the connections to targets by the open files that the process may
// have. When they are used up, idle connections are closed first; then a dial
// waits for one that ends. Safe for concurrent use.
type files struct {
	bound int

	mu      sync.Mutex
	open    int
	queue   []chan struct{}
	clients map[*Client]struct{}
	waits   uint64
}

func newFiles(bound int) *files {
	return &files{bound: bound, clients: make(map[*Client]struct{})}
}

// filesBound is how many connections targets may have of so many open files.
func filesBound(limit int) int {
	return max(limit-max(limit/filesReserve, leastReserve), leastFiles)
}

// dialing bounds the connections that a dial opens.
func (f *files) dialing(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if err := f.take(ctx); err != nil {
			return nil, err
		}
		conn, err := dial(ctx, network, address)
		if err != nil && (errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)) {
			f.closeIdle()
			conn, err = dial(ctx, network, address)
		}
		if err != nil {
			f.give()
			return nil, err
		}
		return &counted{Conn: conn, gone: sync.OnceFunc(f.give)}, nil
	}
}

// take waits until one more connection may be opened.
func (f *files) take(ctx context.Context) error {
	if f.enter() {
		return nil
	}
	f.closeIdle()
	free := f.join()
	if free == nil {
		return nil
	}
	over := time.NewTimer(patience(ctx))
	defer over.Stop()
	select {
	case <-free:
		return nil
	case <-over.C:
	case <-ctx.Done():
	}
	f.mu.Lock()
	i := slices.Index(f.queue, free)
	if i >= 0 {
		f.queue = slices.Delete(f.queue, i, i+1)
	}
	f.mu.Unlock()
	if i < 0 {
		f.give()
	}
	return failf(ReasonResource, "", "all %d connections that targets may have are in use; raise the limit of open files (ulimit -n) of the exporter", f.bound)
}

// patience is how long a dial waits for a connection that ends: less than its
// request, so that it can say why it failed.
func patience(ctx context.Context) time.Duration {
	if scope := scopeOf(ctx); scope != nil {
		if deadline, ok := scope.Deadline(); ok {
			return time.Until(deadline) * 3 / 4
		}
	}
	return dialTimeout
}

// enter takes a connection if there is one.
func (f *files) enter() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open >= f.bound {
		f.waits++
		return false
	}
	f.open++
	return true
}

// join takes a connection, or queues for the one that the channel brings.
func (f *files) join() chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open < f.bound {
		f.open++
		return nil
	}
	free := make(chan struct{})
	f.queue = append(f.queue, free)
	return free
}

// give hands a connection on to the first that waits.
func (f *files) give() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.queue) == 0 {
		f.open--
		return
	}
	close(f.queue[0])
	f.queue = slices.Delete(f.queue, 0, 1)
}

// closeIdle closes the connections that no client uses at the moment.
func (f *files) closeIdle() {
	f.mu.Lock()
	clients := make([]*Client, 0, len(f.clients))
	for c := range f.clients {
		clients = append(clients, c)
	}
	f.mu.Unlock()
	for _, c := range clients {
		c.closeIdle()
	}
}

// add and remove say which clients have connections that may be idle.
func (f *files) add(c *Client) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.clients[c] = struct{}{}
}

func (f *files) remove(c *Client) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.clients, c)
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
