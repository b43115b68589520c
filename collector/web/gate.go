package web

import (
	"cmp"
	"context"
	"crypto/tls"
	"maps"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// patience is how long a client may take to read an answer before it counts as slow. If
	// answers to slow clients hold too much memory, the oldest are aborted.
	patience = 250 * time.Millisecond
	// maxWait is how long a request waits for a slot: most of the timeout of a scrape at the
	// shortest intervals in use.
	maxWait = 3 * time.Second
	// One in memoryShare of the memory limit, between minMemory and maxMemory, is for slow
	// clients.
	memoryShare, maxMemory, minMemory = 8, 64 << 20, 4 << 20
	// answerOverhead approximates the memory of an answer besides its body. It also limits the
	// number of answers, which connections do not: an HTTP/2 connection carries many.
	answerOverhead = 16 << 10
)

// gate limits concurrent requests, each of which takes a slot. An answer releases its slot with
// its first byte: writing takes memory but no CPU, so that slow clients cannot block others.
type gate struct {
	slots chan struct{}
	// waiting counts the requests that wait for a slot.
	waiting atomic.Int64

	mu sync.Mutex
	// writers holds the answers that are being written, the oldest first.
	writers []*answer
}

func newGate(slots int) *gate { return &gate{slots: make(chan struct{}, slots)} }

// enter waits for a slot. It returns false if none becomes free within maxWait, or if too many
// requests wait.
func (g *gate) enter(ctx context.Context) bool {
	defer g.waiting.Add(-1)
	if g.waiting.Add(1) > int64(connectionsPerSlot*cap(g.slots)) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	select {
	case g.slots <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// write releases the slot of an answer that only remains to be written.
func (g *gate) write(a *answer) {
	a.since, a.slow = time.Now(), time.AfterFunc(patience, g.trim)
	g.mu.Lock()
	g.writers = append(g.writers, a)
	g.mu.Unlock()
	<-g.slots
}

func (g *gate) leave(a *answer) {
	if a.slow == nil {
		<-g.slots
		return
	}
	a.slow.Stop()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.writers = slices.DeleteFunc(g.writers, func(o *answer) bool { return o == a })
}

// trim aborts the oldest answers to slow clients until the rest fits their memory.
func (g *gate) trim() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for len(g.writers) > 1 {
		size := int64(0)
		for _, w := range g.writers {
			size += w.bytes + answerOverhead
		}
		if size <= sharedMemory() || time.Since(g.writers[0].since) < patience {
			return
		}
		g.writers[0].cut()
		g.writers = slices.Delete(g.writers, 0, 1)
	}
}

// sharedMemory returns how many bytes answers to slow clients may hold, and as many for shared
// pages.
func sharedMemory() int64 {
	return min(max(debug.SetMemoryLimit(-1)/memoryShare, minMemory), maxMemory)
}

func (s *Server) gated(w *answer, r *http.Request, serve func(http.ResponseWriter, *http.Request)) {
	if !s.gate.enter(r.Context()) {
		w.Header().Set("Retry-After", "1")
		http.Error(w, "Too many requests at once; try again in a second", http.StatusServiceUnavailable)
		return
	}
	w.gate = s.gate
	defer s.gate.leave(w)
	serve(w, r)
	if r.Method != http.MethodHead && w.Header().Get("Content-Length") != "" {
		w.flush()
	}
}

// connectionsPerSlot limits the connections of clients as a multiple of the concurrent requests,
// with room for answers being written, waiting requests and idle connections.
const connectionsPerSlot = 12

// connections limits the number of connected clients. A new connection beyond the limit waits until it can
// close one that keeps nobody: the one that got nothing for the longest time, of those that are idle, that
// do not read their answer, or that send no request. One whose request the server still works on is never
// closed for another, nor one that reads, nor one that has just come. It is safe for concurrent use.
type connections struct {
	limit int

	mu   sync.Mutex
	open map[*connection]struct{}
	// draining is true once the server stops, and nobody waits any more.
	draining atomic.Bool
}

func newConnections(limit int) *connections {
	return &connections{limit: limit, open: make(map[*connection]struct{})}
}

type connection struct {
	net.Conn

	all *connections
	// phase is what the connection does, changed when it last began that or got something.
	phase   atomic.Int32
	changed atomic.Pointer[time.Time]
}

// Phases of a connection.
const (
	phaseNew     = int32(iota) // No request came yet.
	phaseWorking               // Its request waits for its answer.
	phaseReading               // It has got a part of its answer.
	phaseIdle                  // It has got its answer.
)

// quietTime is how long a connection may get nothing in a phase before another one may take its place.
func quietTime(phase int32) time.Duration {
	switch phase {
	case phaseNew:
		return patience
	case phaseReading:
		return time.Second
	case phaseIdle:
		return 0
	}
	return maxWait // Most requests have ended by then.
}

type listener struct {
	net.Listener
	*connections
}

func (l listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.admit(conn), nil
}

// admitPause is the time between two attempts to find a place for a connection.
const admitPause = 10 * time.Millisecond

// admit adds a connection as soon as there is a place. Until then others wait behind it in the system.
func (a *connections) admit(conn net.Conn) *connection {
	admitted := &connection{Conn: conn, all: a}
	admitted.enter(phaseNew)
	began, ticker := time.Now(), time.NewTicker(admitPause)
	defer ticker.Stop()
	for !a.add(admitted, time.Since(began) >= maxWait || a.draining.Load()) {
		<-ticker.C
	}
	return admitted
}

// add adds a connection if there is a place, or one can be closed. If force is true, it closes the one that
// got nothing for the longest time in any case.
func (a *connections) add(admitted *connection, force bool) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.open) >= a.limit {
		now := time.Now()
		quietest := slices.MaxFunc(slices.Collect(maps.Keys(a.open)), func(b, c *connection) int {
			return cmp.Compare(b.overdue(now), c.overdue(now))
		})
		if quietest.overdue(now) < 0 && !force {
			return false
		}
		delete(a.open, quietest)
		_ = quietest.Conn.Close()
	}
	admitted.enter(phaseNew)
	a.open[admitted] = struct{}{}
	return true
}

func (c *connection) enter(phase int32) {
	now := time.Now()
	c.phase.Store(phase)
	c.changed.Store(&now)
}

// overdue returns for how long another one may have taken its place, negative if it may not yet.
func (c *connection) overdue(now time.Time) time.Duration {
	return now.Sub(*c.changed.Load()) - quietTime(c.phase.Load())
}

// connectionKey finds the connection of a request in its context.
type connectionKey struct{}

func withConnection(ctx context.Context, conn net.Conn) context.Context {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	return context.WithValue(ctx, connectionKey{}, conn)
}

func (c *connection) Write(from []byte) (int, error) {
	n, err := c.Conn.Write(from)
	if n > 0 {
		c.enter(max(c.phase.Load(), phaseReading))
	}
	return n, err
}

func (c *connection) Close() error {
	c.all.mu.Lock()
	delete(c.all.open, c)
	c.all.mu.Unlock()
	return c.Conn.Close()
}
