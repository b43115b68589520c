package lane

import (
	"net/netip"
	"sync"
	"time"
)

const (
	// pauseRefused is how long a lane pauses after an answer that it does not accept: a
	// server that compresses its page always does so.
	pauseRefused = 5 * time.Minute
	// pauseLate is how long it pauses after the second late answer in a row. The first is
	// ignored, because the exporter's machine may be busy.
	pauseLate = time.Minute
)

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
	// Contended reports whether a request waits for a connection.
	Contended() bool
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
	// pausedUntil is when the lane can be used again, late is true after a late answer.
	pausedUntil time.Time
	late        bool
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
	if l.busy || l.closed || time.Now().Before(l.pausedUntil) {
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
	l.busy, l.late = false, false
	if !reusable || !l.opts.KeepAlive || l.closed || l.opts.Connections.Contended() {
		l.drop()
	}
}

// fail closes the connection and pauses the lane, except after the first late answer.
func (l *Lane) fail(pause time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy = false
	l.drop()
	if pause == pauseLate && !l.late {
		l.late, pause = true, 0
	}
	if pause > 0 {
		l.pausedUntil = time.Now().Add(pause)
	}
}
