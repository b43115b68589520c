package lane

import (
	"net/netip"
	"sync"
	"time"
)

const (
	// restUnbelieved is how long a lane is not used after an answer that it does
	// not believe: servers that compress their pages do so always.
	restUnbelieved = 5 * time.Minute
	// restLate is how long it is not used after the second of two answers in a row that
	// took too long: the server may be as slow the next time, and would be asked twice.
	// One alone is late where the machine has too much to do.
	restLate = time.Minute
)

// Options say what a lane asks for, and how.
type Options struct {
	Address netip.AddrPort
	// Request is the text of the whole request.
	Request []byte
	// Keep says that the connection is kept from one request to the next.
	Keep bool
	// MostHead and MostBody bound an answer, in bytes.
	MostHead, MostBody int
	Connections        Connections
}

// Connections are those that the process may have. They are safe for concurrent
// use.
type Connections interface {
	// Take takes one and reports whether there was one; Give gives one back.
	Take() bool
	Give()
	// Crowded reports whether somebody waits for one.
	Crowded() bool
	// Add and Remove say which lanes have connections that may be idle.
	Add(l *Lane)
	Remove(l *Lane)
}

// Lane asks one address for the same thing again and again; see the package. It is
// safe for concurrent use.
type Lane struct {
	opts Options

	mu sync.Mutex
	// fd is the connection, -1 for none.
	fd           int
	busy, closed bool
	// until is when its rest ends; late is true after an answer that took too long.
	until time.Time
	late  bool
	// contentType is that of the answer before.
	contentType string
}

// New returns a lane; nil where the system has not what it takes. The caller
// closes it.
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

// CloseIdle closes the connection unless it is used.
func (l *Lane) CloseIdle() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drop()
}

// drop closes the connection unless it is used or there is none.
func (l *Lane) drop() {
	if l.busy || l.fd < 0 {
		return
	}
	disconnect(l.fd)
	l.opts.Connections.Give()
	l.fd = -1
}

// acquire gives the connection out, a fresh one where there is none; not ok when
// the lane cannot be used now.
func (l *Lane) acquire() (fd int, fresh, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy || l.closed || !l.until.IsZero() && time.Now().Before(l.until) {
		return -1, false, false
	}
	if fresh = l.fd < 0; fresh {
		if !l.opts.Connections.Take() {
			return -1, false, false
		}
		if l.fd = l.dial(); l.fd < 0 {
			return -1, false, false
		}
	}
	l.busy = true
	return l.fd, fresh, true
}

// dial opens the connection that was taken; -1 when it cannot.
func (l *Lane) dial() int {
	fd, err := connect(l.opts.Address)
	if err != nil {
		l.opts.Connections.Give()
		return -1
	}
	return fd
}

// reconnect puts a fresh connection in place of the one that was given out; -1
// when it cannot.
func (l *Lane) reconnect() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	disconnect(l.fd)
	l.fd = l.dial()
	return l.fd
}

// release takes the connection back after an answer; keep says that it may be used
// again.
func (l *Lane) release(keep bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy, l.late = false, false
	if !keep || !l.opts.Keep || l.closed || l.opts.Connections.Crowded() {
		l.drop()
	}
}

// fail takes the connection back without an answer, and lets the lane rest, but not for
// the first answer that is late.
func (l *Lane) fail(rest time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy = false
	l.drop()
	if rest == restLate && !l.late {
		l.late, rest = true, 0
	}
	if rest > 0 {
		l.until = time.Now().Add(rest)
	}
}

// text returns the content type as text, that of the answer before where they are
// the same.
func (l *Lane) text(contentType []byte) string {
	if string(contentType) != l.contentType {
		l.contentType = string(contentType)
	}
	return l.contentType
}
