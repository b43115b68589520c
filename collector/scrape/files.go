package scrape

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
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
	// slowShare is the part of the connections that requests which take long may
	// have while connections are short.
	slowShare = 2
	// shortFor is how long connections count as short after somebody waited.
	shortFor = time.Minute
	// slowTurn is how many times a connection that becomes free goes to a request
	// that is soon done, until one that takes long has it.
	slowTurn = 4
	// lookAgain is how often who waits looks for connections that others do not
	// need.
	lookAgain = 100 * time.Millisecond
)

// files bounds the connections to targets by the open files that the process may
// have. When they are used up, idle connections are closed first; then a dial
// waits for one that ends. Hosts whose last answer took long share a part of the
// connections among themselves then, those that had none for the longest time
// first, and what is over that part is taken back from the requests that hold
// theirs longest: so targets that hang cost those that answer nothing. Safe for
// concurrent use.
type files struct {
	bound int
	// crowded says whether anybody waits.
	crowded atomic.Bool

	mu   sync.Mutex
	open int
	// slow is how many requests of slow hosts have a connection, lost how many
	// have one that was taken back and is not closed yet.
	slow, lost int
	queue      []*waiter
	turns      map[*turn]struct{}
	hosts      map[string]host
	clients    map[*Client]struct{}
	// short is when somebody waited last, looked when idle connections were
	// closed for that, grants counts what was handed on.
	short, looked time.Time
	grants        int
	waits, cuts   uint64
}

// waiter is a dial that waits; free is closed when it has a connection.
type waiter struct {
	slow bool
	// last is when its host was given one before.
	last time.Time
	turn *turn
	free chan struct{}
}

func newFiles(bound int) *files {
	return &files{bound: bound, turns: make(map[*turn]struct{}), hosts: make(map[string]host), clients: make(map[*Client]struct{})}
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
	var t *turn
	patience := dialTimeout
	if scope := scopeOf(ctx); scope != nil {
		t = scope.turn
		// Less than the request has, so that it can say why it failed.
		if deadline, ok := scope.Deadline(); ok {
			patience = time.Until(deadline) * 3 / 4
		}
	}
	if f.enter(t) {
		return nil
	}
	f.closeIdle()
	w := f.join(t)
	if w == nil {
		return nil
	}
	over := time.NewTimer(patience)
	defer over.Stop()
	again := time.NewTicker(lookAgain)
	defer again.Stop()
	for {
		select {
		case <-w.free:
			return nil
		case <-again.C:
			f.look()
			continue
		case <-over.C:
		case <-ctx.Done():
		}
		break
	}
	if !f.leave(w) {
		f.give()
	}
	if w.slow {
		return short("all %d connections that targets may have are in use, and those that hung or took long before take turns with a part of them", f.bound)
	}
	return short("all %d connections that targets may have are in use", f.bound)
}

// enter takes a connection if there is one for the request, which waits
// otherwise.
func (f *files) enter(t *turn) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.park(t) // Who dials has none yet, and is not to wait for himself.
	if !f.free(t.isSlow()) {
		f.waits++
		return false
	}
	f.open++
	f.granted(t)
	return true
}

// enterAs takes a connection to host:port if there is one; slow says that it took
// long before.
func (f *files) enterAs(address string) (ok, slow bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	slow = f.hosts[address].slow()
	if !f.free(slow) {
		f.waits++
		return false, slow
	}
	f.open++
	return true, slow
}

// free says whether there is a connection, for a slow host or another.
func (f *files) free(slow bool) bool {
	if f.open >= f.bound {
		return false
	}
	return !slow || f.slow < f.share() || time.Since(f.short) > shortFor
}

// share is how many connections slow hosts have while they are short.
func (f *files) share() int { return max(1, f.bound/slowShare) }

// join takes a connection, or queues for the one that the channel of the waiter
// brings.
func (f *files) join(t *turn) *waiter {
	f.mu.Lock()
	defer f.mu.Unlock()
	slow := t.isSlow()
	if f.free(slow) {
		f.open++
		f.granted(t)
		return nil
	}
	if !slow {
		f.short = time.Now()
	}
	w := &waiter{slow: slow, last: f.lastOf(t), turn: t, free: make(chan struct{})}
	f.queue = append(f.queue, w)
	f.crowded.Store(true)
	f.relieve()
	return w
}

// leave ends the wait of a dial that has no connection; false when it has one.
func (f *files) leave(w *waiter) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, waiting := range f.queue {
		if waiting == w {
			f.drop(i)
			return true
		}
	}
	return false
}

// drop takes one out of the queue.
func (f *files) drop(i int) {
	last := len(f.queue) - 1
	f.queue[i] = f.queue[last]
	f.queue[last] = nil
	f.queue = f.queue[:last]
	f.crowded.Store(last > 0)
}

// give takes a connection back, and hands it on to one that waits.
func (f *files) give() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open--
	f.serve()
}

// serve hands connections that are free on.
func (f *files) serve() {
	for {
		i := f.next()
		if i < 0 {
			return
		}
		w := f.queue[i]
		f.drop(i)
		f.grants++
		f.open++
		f.granted(w.turn)
		close(w.free)
	}
}

// next is who of the queue has the next connection: who had none for the longest
// time, most times of those that are soon done; -1 for nobody.
func (f *files) next() int {
	slowest, quickest := -1, -1
	for i, w := range f.queue {
		at := &quickest
		if w.slow {
			at = &slowest
		}
		if *at < 0 || w.last.Before(f.queue[*at].last) {
			*at = i
		}
	}
	if slowest >= 0 && !f.free(true) {
		slowest = -1
	}
	if quickest >= 0 && !f.free(false) {
		quickest = -1
	}
	if quickest < 0 || slowest >= 0 && f.grants%slowTurn == 0 {
		return slowest
	}
	return quickest
}

// look closes what became idle since somebody waits, and takes connections back.
func (f *files) look() {
	f.mu.Lock()
	recent := time.Since(f.looked) < lookAgain/2
	if !recent {
		f.looked = time.Now()
		f.relieve()
		f.serve()
	}
	f.mu.Unlock()
	if !recent {
		f.closeIdle()
	}
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
