package lane

import (
	"net/netip"
	"sync"
	"time"
)

const (
	// restRefused is how long a lane rests after an answer that it does not accept:
	// servers that compress their pages always do so.
	restRefused = 5 * time.Minute
	// restLate is how long it rests after the second late answer in a row. A single one
	// is ignored, because the exporter's machine may be busy.
	restLate = time.Minute
)

// Options configure a lane.
type Options struct {
	Address netip.AddrPort
	// Request is the text of the whole request.
	Request []byte
	// KeepAlive keeps the connection from one request to the next.
	KeepAlive bool
	// MaxHeader and MaxBody limit an answer, in bytes.
	MaxHeader, MaxBody int
	Connections        Connections
}

// Connections are those that the process may have. They are safe for concurrent use.
type Connections interface {
	// TryAcquire takes one and reports whether there was one; Release gives one back.
	TryAcquire() bool
	Release()
	// Contended reports whether a request waits for one.
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
	// restUntil is when the lane can be used again, late is true after a late answer.
	restUntil time.Time
	late      bool
}

// New returns a lane; nil where the operating system is not supported. The caller closes
// it.
func New(o Options) *Lane {
	if !supported {
		return nil
	}
	l := &Lane{opts: o, fd: -1}
	o.Connections.Add(l)
	return l
}

// Close closes the lane; an answer that is under way is still read.
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
	l.opts.Connections.Release()
	l.fd = -1
}

// acquire returns the connection, a fresh one where there is none; not ok when the lane
// cannot be used now.
func (l *Lane) acquire() (fd int, fresh, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy || l.closed || time.Now().Before(l.restUntil) {
		return -1, false, false
	}
	if fresh = l.fd < 0; fresh {
		if !l.opts.Connections.TryAcquire() {
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
		l.opts.Connections.Release()
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

// release takes the connection back after an answer; reusable is false when the server
// closes it.
func (l *Lane) release(reusable bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy, l.late = false, false
	if !reusable || !l.opts.KeepAlive || l.closed || l.opts.Connections.Contended() {
		l.drop()
	}
}

// fail closes the connection, and lets the lane rest, except after a first late answer.
func (l *Lane) fail(rest time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy = false
	l.drop()
	if rest == restLate && !l.late {
		l.late, rest = true, 0
	}
	if rest > 0 {
		l.restUntil = time.Now().Add(rest)
	}
}
