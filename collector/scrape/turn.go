package scrape

import (
	"context"
	"fmt"
	"slices"
	"time"
)

const (
	// longTurn is how long a request may have a connection until it counts as
	// slow, at most; turnShare is the part of its time that this is at least.
	longTurn  = time.Second
	turnShare = 4
	// hurried is how many times shorter that is while more wait than there are
	// connections.
	hurried = 4
	// mostLong is how many requests in a row may have a connection for long, or
	// lose it, until their host counts as slow: one may be this machine's fault,
	// when it has more to do than it can.
	mostLong = 2
	// hostKept is how long a host that is not asked any more is remembered,
	// hostsSwept how many there are before that is looked at.
	hostKept   = 10 * time.Minute
	hostsSwept = 1024
)

// host is what is remembered of host:port.
type host struct {
	// long is how many of its last requests had a connection for long.
	long int
	// last is when it was given a connection.
	last time.Time
}

// slow says whether a host took long, again and again.
func (h host) slow() bool { return h.long >= mostLong }

// turn is one request, from its begin to the end of its answer. Its fields belong
// to the files that it is one of.
type turn struct {
	files *files
	host  string
	// slow is what was known of the host when it began.
	slow bool
	// again is true when the request before took long: it is not hurried then.
	again bool
	// since is when it got its connection, zero while it waits for one.
	since time.Time
	// long is how long it may have that until it counts as slow.
	long time.Duration
	// cut says that its connection was taken back, ended that it is over.
	cut, ended bool
	// lent says that the answer may take as long as it likes, which says nothing
	// of its host, while nobody else needs the connection.
	lent bool
	stop func(cause error)
}

// isSlow says whether the request is one to a host that took long before.
func (t *turn) isSlow() bool { return t != nil && t.slow }

// shortage is a failure for want of connections, of which the server knows nothing.
type shortage struct{ error }

// Short says that the exporter had not what the request needs.
func (shortage) Short() bool { return true }

// short is such a failure; format follows fmt.Errorf.
func short(format string, bound int) *Error {
	return failf(ReasonResource, "", "%w", shortage{fmt.Errorf(format+"; raise the limit of open files (ulimit -n) of the exporter", bound)})
}

// begin notes a request to host:port, which stop ends. Until is its deadline,
// zero for none; lent is that of the turn. The caller says when it is over.
func (f *files) begin(address string, until time.Time, lent bool, stop func(cause error)) *turn {
	long := longTurn
	if !until.IsZero() {
		long = min(long, time.Until(until)/turnShare)
	}
	t := &turn{files: f, host: address, since: time.Now(), long: long, lent: lent, stop: stop}
	f.mu.Lock()
	defer f.mu.Unlock()
	if known := f.hosts[address]; !lent {
		t.slow, t.again = known.slow(), known.long > 0
	}
	if t.slow {
		f.slow++
	}
	f.turns[t] = struct{}{}
	return t
}

// end says that the request is over. What it failed with is that its connection
// was taken back, where it was; again says that it may be sent once more then.
func (t *turn) end(failure *Error) (_ *Error, again bool) {
	if !t.over() || failure == nil {
		return failure, false
	}
	return takenBack(t.files.bound), !t.slow && !t.again
}

// over says that the request is over, and answers whether its connection was
// taken back.
func (t *turn) over() bool {
	f := t.files
	f.mu.Lock()
	defer f.mu.Unlock()
	if t.ended {
		return t.cut
	}
	delete(f.turns, t)
	t.ended = true
	held := !t.since.IsZero()
	if held && !t.lent {
		f.note(t.host, t.cut || time.Since(t.since) >= t.long)
	}
	if t.slow && held {
		f.slow--
	}
	if t.cut {
		f.lost--
	}
	f.serve()
	return t.cut
}

// isCut says whether its connection was taken back.
func (t *turn) isCut() bool {
	t.files.mu.Lock()
	defer t.files.mu.Unlock()
	return t.cut
}

// waits says whether it has no connection yet.
func (t *turn) waits() bool {
	t.files.mu.Lock()
	defer t.files.mu.Unlock()
	return t.since.IsZero()
}

// note remembers how long a host took.
func (f *files) note(address string, slow bool) {
	known, ok := f.hosts[address]
	switch {
	case slow:
		known.long = min(known.long+1, mostLong)
	case ok:
		known.long = 0
	default:
		return
	}
	f.hosts[address] = known
}

// clear forgets that a host took long.
func (f *files) clear(address string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.note(address, false)
}

// lastOf is when the host of a request was given a connection.
func (f *files) lastOf(t *turn) time.Time {
	if t == nil {
		return time.Time{}
	}
	return f.hosts[t.host].last
}

// park says that a request waits for a connection.
func (f *files) park(t *turn) {
	if t == nil || t.ended || t.since.IsZero() {
		return
	}
	t.since = time.Time{}
	if t.slow {
		f.slow--
	}
}

// granted says that a request has a connection now.
func (f *files) granted(t *turn) {
	if t == nil || t.ended {
		return
	}
	now := time.Now()
	if t.slow && t.since.IsZero() {
		f.slow++
	}
	t.since = now
	if len(f.hosts) >= hostsSwept && len(f.hosts)%hostsSwept == 0 {
		f.sweep(now)
	}
	known := f.hosts[t.host]
	known.last = now
	f.hosts[t.host] = known
}

// sweep forgets hosts that are not asked any more.
func (f *files) sweep(now time.Time) {
	for address, known := range f.hosts {
		if now.Sub(known.last) > hostKept {
			delete(f.hosts, address)
		}
	}
}

// relieve takes connections back when others wait who are soon done: from
// requests that have theirs for long and whose hosts were not known to be slow,
// and from what the slow ones have over their share.
func (f *files) relieve() {
	wanted := -f.lost
	for _, w := range f.queue {
		if !w.slow {
			wanted++
		}
	}
	if wanted <= 0 {
		return
	}
	var first, known []*turn
	now, over := time.Now(), f.slow-f.share()
	for t := range f.turns {
		switch {
		case t.cut && t.slow && !t.since.IsZero():
			over-- // It is not closed yet.
		case t.cut || t.since.IsZero() || now.Sub(t.since) < t.least(wanted > f.bound):
		case t.slow:
			known = append(known, t)
		default:
			first = append(first, t)
		}
	}
	oldest(first)
	oldest(known)
	for _, t := range append(first, known[:max(0, min(len(known), over))]...) {
		if wanted == 0 {
			return
		}
		wanted--
		t.cut = true
		f.lost++
		f.cuts++
		t.stop(takenBack(f.bound))
	}
}

// least is how long a request has its connection in any case.
func (t *turn) least(hurry bool) time.Duration {
	if hurry && (t.slow || !t.again) {
		return t.long / hurried
	}
	return t.long
}

// oldest sorts requests by how long they have their connection.
func oldest(turns []*turn) {
	slices.SortFunc(turns, func(a, b *turn) int { return a.since.Compare(b.since) })
}

// takenBack is the failure of a request whose connection others needed.
func takenBack(bound int) *Error {
	return short("the answer took long, and others waited while all %d connections that targets may have were in use", bound)
}

// inTurn notes the request of a scope; the context that it gives ends when its
// connection is taken back. The caller ends the turn.
func (f *files) inTurn(s *scope, address string, lent bool) (*turn, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(s.Context)
	s.Context = ctx
	until, _ := ctx.Deadline()
	s.turn = f.begin(address, until, lent, cancel)
	return s.turn, cancel
}
