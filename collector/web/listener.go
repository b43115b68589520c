package web

import (
	"net"
	"sync"
	"time"
)

// connectionsPerSlot bounds the connections of readers, as a multiple of the requests
// at work: those that are written, as many that wait, and those that are idle.
const connectionsPerSlot = 12

// readers are the connections of all who ask, before anything is known of them. One
// too many takes the place of the one that was idle longest, or, where all have asked,
// of the one that asked first. Safe for concurrent use.
type readers struct {
	most int
	// began is what times are counted from.
	began time.Time

	mu   sync.Mutex
	open map[*reader]struct{}
}

func newReaders(most int) *readers {
	return &readers{most: most, began: time.Now(), open: make(map[*reader]struct{})}
}

// reader is one connection.
type reader struct {
	net.Conn

	of *readers
	mu sync.Mutex
	// asked is true between what was read and what is written, moved when either was.
	asked bool
	moved time.Duration
}

// listener accepts the connections of readers.
type listener struct {
	net.Listener
	*readers
}

// Accept implements net.Listener.
func (l listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.admit(conn), nil
}

// admit takes a connection in, and closes another where there are too many.
func (a *readers) admit(conn net.Conn) *reader {
	next := &reader{Conn: conn, of: a, moved: time.Since(a.began)}
	var gone *reader
	a.mu.Lock()
	if len(a.open) >= a.most {
		gone = a.first()
		delete(a.open, gone)
	}
	a.open[next] = struct{}{}
	a.mu.Unlock()
	if gone != nil {
		_ = gone.Conn.Close()
	}
	return next
}

// first is the connection that is the first to go.
func (a *readers) first() (first *reader) {
	var asked bool
	var moved time.Duration
	for r := range a.open {
		r.mu.Lock()
		if first == nil || asked && !r.asked || asked == r.asked && r.moved < moved {
			first, asked, moved = r, r.asked, r.moved
		}
		r.mu.Unlock()
	}
	return first
}

// note says that something was read or written just now.
func (r *reader) note(asked bool) {
	now := time.Since(r.of.began)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked, r.moved = asked, now
}

// Read implements net.Conn.
func (r *reader) Read(into []byte) (int, error) {
	n, err := r.Conn.Read(into)
	if n > 0 {
		r.note(true)
	}
	return n, err
}

// Write implements net.Conn.
func (r *reader) Write(from []byte) (int, error) {
	n, err := r.Conn.Write(from)
	if n > 0 {
		r.note(false)
	}
	return n, err
}

// Close implements net.Conn.
func (r *reader) Close() error {
	r.of.mu.Lock()
	delete(r.of.open, r)
	r.of.mu.Unlock()
	return r.Conn.Close()
}
