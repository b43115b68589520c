package scrape

import (
	"bytes"
	"context"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"sync"
	"time"
)

const (
	// slotPatience is how long the answers of a batch are waited for; who takes
	// longer is asked in a way of its own.
	slotPatience = 100 * time.Millisecond
	// shortRest is how long a lane is not used after its first answer that it
	// could not read, longestRest after many.
	shortRest, longestRest = 10 * time.Second, 5 * time.Minute
	// laneHead bounds the head of an answer that a lane reads.
	laneHead = 4 << 10
	// laneAnswer bounds what a lane reads of an answer to a question.
	laneAnswer = 16 << 10
)

// Lane is the fast way to ask one address the same thing again and again: plain
// HTTP/1.1 to an IP address, over a connection of its own, with no goroutine. It
// is used in a [Batch]. It believes only the plainest of answers: 200 with one
// Content-Length, neither encoded nor in chunks, whole within a moment, and
// nothing after it. Everything else closes the connection, and whoever asks goes
// the way through net/http, which also says what is wrong; the lane rests then
// for a while, so that few servers are asked twice.
//
// A connection belongs to one lane and never serves another, and an answer is
// read into memory of its own, so that no target gets another's bytes. Those that
// a server sends unasked close the connection before it is used again.
//
// Connections count as those of the client do, and are closed first when there
// are too many. Safe for concurrent use.
type Lane struct {
	client  *Client
	address netip.AddrPort
	// host is the address as text.
	host    string
	request []byte
	sent    http.Header
	// keep is true where the connection is kept from one time to the next, most
	// how much of a body is read.
	keep    bool
	most    int
	timeout time.Duration

	mu sync.Mutex
	// fd is the connection, -1 for none.
	fd           int
	busy, closed bool
	pauses
	// contentType and size are those of the answer before.
	contentType string
	size        int
}

// pauses are the times in which a lane is not used, for its host takes long.
type pauses struct {
	// until is when its rest ends, rest how long the next one is.
	until time.Time
	rest  time.Duration
	// tookLong says that the host took long before.
	tookLong bool
	// late is how many answers in a row took too long for a batch.
	late int
}

// PageLane is the lane to a page that is asked for with a timeout; nil where the
// pool or the address needs more than a lane has: names, TLS, proxies,
// credentials. The caller closes it.
func (c *Client) PageLane(rawURL string, timeout time.Duration) *Lane {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	req, failure := c.requests.page(ctx, rawURL)
	if failure != nil {
		return nil
	}
	most := freeBody
	if limit := int(c.limits.Body); limit > 0 {
		most = min(most, limit)
	}
	return c.lane(req, true, most, timeout)
}

// QuestionLane is the lane to a small GET question; nil as for PageLane. Keep
// says whether the connection is kept from one question to the next: see
// [Client.Pass] for who must not be kept. The caller closes it.
func (c *Client) QuestionLane(rawURL string, timeout time.Duration, keep bool) *Lane {
	req, failure := c.requests.question(context.Background(), http.MethodGet, rawURL, nil)
	if failure != nil {
		return nil
	}
	return c.lane(req, keep, laneAnswer, timeout)
}

// lane builds the lane of a request, whose text is what net/http would send.
func (c *Client) lane(req *http.Request, keep bool, most int, timeout time.Duration) *Lane {
	if !hasLanes || !c.plain || req.URL.Scheme != "http" || req.URL.User != nil {
		return nil
	}
	address, ok := literal(req.URL)
	if !ok || c.guard.check(address.Addr()) != nil {
		return nil
	}
	var text bytes.Buffer
	if req.Write(&text) != nil {
		return nil
	}
	l := &Lane{
		client: c, address: address, host: hostPort(req.URL), request: text.Bytes(), sent: req.Header,
		keep: keep, most: most, timeout: timeout, fd: -1, pauses: pauses{rest: shortRest},
	}
	c.lanes.add(l)
	return l
}

// literal is the address of a URL whose host is one.
func literal(u *url.URL) (netip.AddrPort, bool) {
	address, err := netip.ParseAddrPort(hostPortOf(u))
	if err != nil || address.Addr().Zone() != "" || address.Port() == 0 {
		return netip.AddrPort{}, false
	}
	return netip.AddrPortFrom(address.Addr().Unmap(), address.Port()), true
}

// hostPortOf is the host of a URL with its port, IPv6 in brackets.
func hostPortOf(u *url.URL) string {
	if u.Port() != "" {
		return u.Host
	}
	return u.Host + ":80"
}

// Close closes the lane; an answer that is under way is still read.
func (l *Lane) Close() {
	l.client.lanes.remove(l)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.drop()
}

// idle closes the connection if nobody uses it.
func (l *Lane) idle() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drop()
}

// drop closes the connection that nobody uses, if there is one.
func (l *Lane) drop() {
	if l.busy || l.fd < 0 {
		return
	}
	l.hangUp(l.fd)
	l.fd = -1
}

// hangUp closes a connection.
func (l *Lane) hangUp(fd int) {
	disconnect(fd)
	l.client.resources.files.give()
}

// take gives the connection out, a new one where there is none; false when the
// lane cannot be used now. Fresh is true for a new one.
func (l *Lane) take() (fd int, fresh, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy || l.closed || !l.until.IsZero() && time.Now().Before(l.until) {
		return -1, false, false
	}
	if fresh = l.fd < 0; fresh {
		if ok, l.tookLong = l.client.resources.files.enterAs(l.host); !ok {
			return -1, false, false
		}
		fd, err := connect(l.address)
		if err != nil {
			l.client.resources.files.give()
			return -1, false, false
		}
		l.fd = fd
	}
	l.busy = true
	return l.fd, fresh, true
}

// reconnect puts a new connection in place of the one that was given out; -1 when
// there is none.
func (l *Lane) reconnect() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	disconnect(l.fd)
	fd, err := connect(l.address)
	if err != nil {
		l.client.resources.files.give()
		fd = -1
	}
	l.fd = fd
	return fd
}

// give takes the connection back after an answer: keep says that it may be used
// again.
func (l *Lane) give(keep bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy = false
	if l.fd >= 0 {
		l.late, l.rest = 0, shortRest
		if l.tookLong {
			l.tookLong = false
			l.client.resources.files.clear(l.host)
		}
	}
	if !keep || !l.keep || l.closed || l.client.resources.files.crowded.Load() {
		l.drop()
	}
}

// fail takes the connection back without an answer that can be used. A kept
// connection may have ended just so; for anything else the lane rests.
func (l *Lane) fail(rests bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy = false
	l.drop()
	if rests {
		l.until = time.Now().Add(l.rest)
		l.rest = min(2*l.rest, longestRest)
	}
}

const (
	// mostLate is how many answers in a row may take too long for a batch before the
	// lane rests, and each time again.
	mostLate = 3
	// lateRest is how long it rests then at first: a machine that had too much to do
	// may have time again. Each time that is twice as long.
	lateRest = 2 * time.Second
)

// slow notes an answer that takes too long for a batch.
func (l *Lane) slow() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.late++
	if l.late%mostLate == 0 {
		l.until = time.Now().Add(restAfter(l.late))
	}
}

// restAfter is how long a lane rests after so many answers in a row that took too
// long.
func restAfter(late int) time.Duration {
	rest := lateRest
	for range late/mostLate - 1 {
		rest = min(2*rest, longestRest)
	}
	return rest
}

// lend gives the connection away for good, as one that can be waited for.
func (l *Lane) lend(fd int) *os.File {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fd = -1
	return os.NewFile(uintptr(fd), "")
}

// typed is the content type as text, that of the answer before where they are
// the same.
func (l *Lane) typed(contentType []byte) string {
	if string(contentType) != l.contentType {
		l.contentType = string(contentType)
	}
	return l.contentType
}

// lanes are those of one client. Safe for concurrent use.
type lanes struct {
	mu  sync.Mutex
	all map[*Lane]struct{}
}

func (s *lanes) add(l *Lane) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = make(map[*Lane]struct{})
	}
	s.all[l] = struct{}{}
}

func (s *lanes) remove(l *Lane) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, l)
}

// closeIdle closes the connections that no batch uses.
func (s *lanes) closeIdle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for l := range s.all {
		l.idle()
	}
}
