package lane

import (
	"net/netip"
	"sync"
	"time"
)

// rest is how long a lane is not used after two failures in a row, so that few requests are sent
// twice: a server that compresses its page, or is slow, always does so.
const rest = 5 * time.Minute

// Options configure a lane.
type Options struct {
	Address netip.AddrPort
	// Request is the complete request as it is sent.
	Request []byte
	// KeepAlive keeps the connection open between requests.
	KeepAlive bool
	// MaxHeader and MaxBody limit the size of an answer, in bytes.
	MaxHeader, MaxBody int
	Connections        Connections
}

// Connections limits the connections of the process. It is safe for concurrent use.
type Connections interface {
	// TryAcquire acquires connections without waiting and reports whether it succeeded.
	// Release returns them.
	TryAcquire(n int64) bool
	Release(n int64)
	// Add and Remove register holders of connections that may be idle.
	Add(holder IdleCloser)
	Remove(holder IdleCloser)
}

// IdleCloser closes its connections that no request uses.
type IdleCloser interface{ CloseIdle() }

// Lane repeats one request to one address. It is safe for concurrent use.
type Lane struct {
	opts Options

	mu sync.Mutex
	// fd is the connection, -1 for none.
	fd           int
	busy, closed bool
	// failed is true after a failure, restsUntil is when the lane can be used again.
	failed     bool
	restsUntil time.Time
}

// New returns a lane, or nil if the operating system is not supported. The caller closes it.
func New(o Options) *Lane {
	if !supported {
		return nil
	}
	l := &Lane{opts: o, fd: -1}
	o.Connections.Add(l)
	return l
}

// Close closes the lane. The answer to a request in flight is still read.
func (l *Lane) Close() {
	l.opts.Connections.Remove(l)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.drop()
}

// CloseIdle closes the connection unless it is in use.
func (l *Lane) CloseIdle() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drop()
}

func (l *Lane) drop() {
	if l.busy || l.fd < 0 {
		return
	}
	disconnect(l.fd)
	l.opts.Connections.Release(1)
	l.fd = -1
}

// acquire returns the connection, dialing a fresh one if there is none; ok is false if the
// lane cannot be used now.
func (l *Lane) acquire() (fd int, fresh, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy || l.closed || time.Now().Before(l.restsUntil) {
		return -1, false, false
	}
	if fresh = l.fd < 0; fresh {
		if !l.opts.Connections.TryAcquire(1) {
			return -1, false, false
		}
		if l.fd = l.dial(); l.fd < 0 {
			return -1, false, false
		}
	}
	l.busy = true
	return l.fd, fresh, true
}

func (l *Lane) dial() int {
	fd, err := connect(l.opts.Address)
	if err != nil {
		l.opts.Connections.Release(1)
		return -1
	}
	return fd
}

func (l *Lane) reconnect() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	disconnect(l.fd)
	l.fd = l.dial()
	return l.fd
}

// release returns the connection after an answer; reusable is false if the server closes it.
func (l *Lane) release(reusable bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy, l.failed = false, false
	if !reusable || !l.opts.KeepAlive || l.closed {
		l.drop()
	}
}

// fail closes the connection. One failure is ignored: the machine may be busy, and a server may
// close a kept connection at any time.
func (l *Lane) fail() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy = false
	l.drop()
	if l.failed {
		l.restsUntil = time.Now().Add(rest)
	}
	l.failed = true
}
