package web

import (
	"cmp"
	"context"
	"crypto/tls"
	"maps"
	"math"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// patience is how long a client may take to read an answer before it counts as slow. When
	// slow clients hold too much memory, the oldest answers are cut off.
	patience = 250 * time.Millisecond
	// maxWait is how long a request waits for a slot: most of the timeout of a scrape at the
	// shortest intervals in use.
	maxWait = 3 * time.Second
	// memoryShare is the part of the memory limit for slow clients, minMemory to maxMemory bytes.
	memoryShare, maxMemory, minMemory = 8, 64 << 20, 4 << 20
	// answerOverhead approximates the memory of an answer besides its body. It also limits the
	// number of answers: connections do not, as one of HTTP/2 has many.
	answerOverhead = 16 << 10
)

// gate limits concurrent requests, each of which has a slot. An answer releases its slot at its
// first byte: writing costs memory but no CPU, so that slow clients cannot block the others.
type gate struct {
	slots chan struct{}
	// waiting counts the requests that wait for a slot.
	waiting atomic.Int64

	mu sync.Mutex
	// writers are the answers being written, the oldest first.
	writers []*answer
}

func newGate(slots int) *gate { return &gate{slots: make(chan struct{}, slots)} }

// enter waits for a slot. It returns false when none is free within maxWait, or when too many
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

// write releases the slot of an answer when only writing it remains.
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

// trim cuts off the oldest answers to slow clients while all together hold too much memory.
func (g *gate) trim() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for len(g.writers) > 1 {
		held := int64(0)
		for _, w := range g.writers {
			held += w.bytes + answerOverhead
		}
		if held <= sharedMemory() || time.Since(g.writers[0].since) < patience {
			return
		}
		g.writers[0].cut()
		g.writers = slices.Delete(g.writers, 0, 1)
	}
}

// sharedMemory returns how many bytes answers to slow clients, and shared pages, may have each.
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

// connectionsPerSlot limits the connections of clients as a multiple of concurrent requests: for
// answers being written, as many waiting requests, and idle connections.
const connectionsPerSlot = 12

// connections limits how many clients are connected, before anything is known about them. A new
// connection beyond the limit closes the one that was idle longest or, if none is idle, the one
// whose request is oldest. Safe for concurrent use.
type connections struct {
	limit int
	start time.Time

	mu   sync.Mutex
	open map[*connection]struct{}
}

func newConnections(limit int) *connections {
	return &connections{limit: limit, start: time.Now(), open: make(map[*connection]struct{})}
}

type connection struct {
	net.Conn

	all *connections
	// rank is the time of the last request or write since start, plus busy between a request and
	// the next write. The lowest rank is closed first.
	rank atomic.Int64
}

// busy is longer than any process runs.
const busy = int64(math.MaxInt64 / 2)

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

// admit adds a connection, and closes another one beyond the limit.
func (a *connections) admit(conn net.Conn) *connection {
	admitted := &connection{Conn: conn, all: a}
	admitted.setRank(0)
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.open) >= a.limit {
		lowest := slices.MinFunc(slices.Collect(maps.Keys(a.open)), func(b, c *connection) int { return cmp.Compare(b.rank.Load(), c.rank.Load()) })
		delete(a.open, lowest)
		_ = lowest.Conn.Close()
	}
	a.open[admitted] = struct{}{}
	return admitted
}

func (c *connection) setRank(offset int64) { c.rank.Store(int64(time.Since(c.all.start)) + offset) }

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
		c.setRank(0)
	}
	return n, err
}

func (c *connection) Close() error {
	c.all.mu.Lock()
	delete(c.all.open, c)
	c.all.mu.Unlock()
	return c.Conn.Close()
}
