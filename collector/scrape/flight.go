package scrape

import (
	"context"
	"os"
	"time"
)

// flight is a question under way.
type flight struct {
	lane *Lane
	// ctx ends a flight that is followed on its own.
	ctx   context.Context //nolint:containedctx // It is the life of the question.
	fd    int
	fresh bool
	// large says that an answer may be more than the system takes before it is read.
	large bool
	begun time.Time
	// came is when the last bytes came by the clock on the wall, in nanoseconds; 0
	// where that is not known.
	came int64
	// unsent is what of the request is still to be written.
	unsent []byte
	// room gives the memory that the answer is read into, nil where it is the
	// batch's.
	room func() []byte
	buf  []byte
	head laneAnswerHead
	done func(Page, bool)
}

// reconnect puts a new connection in place of one that cannot be used again.
func (f *flight) reconnect() {
	f.fd, f.fresh = f.lane.reconnect(), true
}

// end hands out what came, and was seen to come at a moment.
func (f *flight) end(ok bool, seen time.Time) {
	var page Page
	if ok {
		l := f.lane
		page = Page{
			memory: f.buf, Body: f.buf[f.head.size : f.head.size+f.head.length],
			ContentType: l.typed(f.head.contentType), Duration: f.took(seen), sent: l.sent, open: l.client.open,
		}
		page.Came = f.begun.Add(page.Duration)
		l.size = len(f.buf)
		l.give(!f.head.last)
	} else {
		f.lane.fail(f.fresh || len(f.buf) > 0)
	}
	f.done(page, ok)
}

// stepped is by how much two clocks may differ over one question without one of
// them having been set.
const stepped = time.Millisecond

// took is the time from the question to the last byte of its answer.
func (f *flight) took(seen time.Time) time.Duration {
	return tookOf(seen.Sub(f.begun), f.begun.UnixNano(), f.came, seen.UnixNano())
}

// tookOf is the time from begun until an answer came, as the system noted that, else
// until it was seen, which was so long by the clock that nobody sets. The others are
// moments of the clock on the wall.
func tookOf(most time.Duration, begun, came, seen int64) time.Duration {
	noted, set := time.Duration(came-begun), time.Duration(seen-begun)-most
	if came == 0 || noted < 0 || noted > most || set.Abs() > stepped {
		return most
	}
	return noted
}

// part leaves the batch: the answer is waited for by a goroutine of its own.
func (f *flight) part() {
	if f.buf != nil && f.room == nil {
		f.buf = append([]byte(nil), f.buf...)
	}
	f.lane.slow()
	go f.follow()
}

// follow waits for the rest of the answer. The connection is not kept.
func (f *flight) follow() {
	conn := f.lane.lend(f.fd)
	f.fd = -1
	_ = conn.SetDeadline(f.begun.Add(f.lane.timeout)) // It is a socket.
	giveUp := func() { _ = conn.SetDeadline(time.Now()) }
	turn := f.lane.client.resources.files.begin(f.lane.host, f.begun.Add(f.lane.timeout), false, func(error) { giveUp() })
	stop := context.AfterFunc(f.ctx, giveUp)
	v := f.rest(conn)
	stop()
	turn.over()
	_ = conn.Close()
	f.lane.client.resources.files.give()
	f.end(v == plain, time.Now())
}

// rest sends and reads what is missing.
func (f *flight) rest(conn *os.File) verdict {
	if _, err := conn.Write(f.unsent); err != nil {
		return unusual
	}
	f.unsent = nil
	for v := more; ; {
		f.grow(nil)
		n, err := conn.Read(f.buf[len(f.buf):cap(f.buf)])
		f.came = 0 // It is seen at once.
		f.buf = f.buf[:len(f.buf)+n]
		if n > 0 {
			v = f.look()
		}
		if v != more {
			return v
		}
		if err != nil {
			return unusual
		}
	}
}

// proceed writes and reads what it can; plain says that the answer is there,
// unusual that it has to be asked for in another way.
func (f *flight) proceed(b *Batch) verdict {
	if len(f.unsent) > 0 && !f.send() {
		return unusual
	}
	if len(f.unsent) > 0 {
		return more
	}
	for {
		f.grow(b)
		n, came, blocked, err := b.inbox.receive(f.fd, f.buf[len(f.buf):cap(f.buf)])
		switch {
		case blocked:
			return more
		case err != nil || n == 0:
			return unusual
		}
		f.buf, f.came = f.buf[:len(f.buf)+n], came
		if v := f.look(); v != more {
			return v
		}
	}
}

// look says whether the answer is there.
func (f *flight) look() verdict {
	if f.head.size == 0 {
		head, v := readHead(f.buf)
		if v != plain {
			return v
		}
		if head.length > f.lane.most || head.size > int(f.lane.client.limits.Headers) || checkContentType(f.lane.typed(head.contentType)) != nil {
			return unusual
		}
		f.head = head
	}
	switch whole := f.head.size + f.head.length; {
	case len(f.buf) < whole:
		return more
	case len(f.buf) > whole:
		return unusual
	}
	return plain
}

// sending says whether some of the question is still to be written.
func (f *flight) sending() bool { return !f.begun.IsZero() && len(f.unsent) > 0 }

// send writes what it can of the request; false when that fails.
func (f *flight) send() bool {
	n, blocked, err := transmit(f.fd, f.unsent)
	if blocked {
		return true
	}
	f.unsent = f.unsent[n:]
	return err == nil
}

// grow makes room for more of the answer: for one byte more than it has, so that
// what comes after it is seen.
func (f *flight) grow(b *Batch) {
	if len(f.buf) < cap(f.buf) {
		return
	}
	if f.buf == nil {
		f.buf = f.first(b)
	}
	need := max(len(f.buf)+firstRead, f.head.size+f.head.length+1)
	if cap(f.buf) >= need {
		return
	}
	larger := make([]byte, len(f.buf), need)
	copy(larger, f.buf)
	// The content type is a part of the memory before.
	f.buf = larger
	if f.head.size > 0 {
		f.head, _ = readHead(f.buf)
	}
}

// first is the memory that an answer is read into at first.
func (f *flight) first(b *Batch) []byte {
	if f.room != nil {
		return f.room()[:0]
	}
	if b == nil {
		return nil
	}
	if last := len(b.small) - 1; last >= 0 {
		buf := b.small[last]
		b.small = b.small[:last]
		return buf
	}
	return nil
}
