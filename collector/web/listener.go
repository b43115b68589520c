package web

import (
	"math"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

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
	// rank is the time of the last read or write since start, plus busy between a read and the
	// next write. The lowest rank is closed first.
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
	var evicted *connection
	a.mu.Lock()
	if len(a.open) >= a.limit {
		for c := range a.open {
			if evicted == nil || c.rank.Load() < evicted.rank.Load() {
				evicted = c
			}
		}
		delete(a.open, evicted)
	}
	a.open[admitted] = struct{}{}
	a.mu.Unlock()
	if evicted != nil {
		_ = evicted.Conn.Close()
	}
	return admitted
}

func (c *connection) setRank(offset int64) { c.rank.Store(int64(time.Since(c.all.start)) + offset) }

func (c *connection) Read(into []byte) (int, error) {
	n, err := c.Conn.Read(into)
	if n > 0 {
		c.setRank(busy)
	}
	return n, err
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
