package lane

import (
	"slices"
	"time"
)

type request struct {
	lane  *Lane
	fd    int
	fresh bool
	start time.Time
	// received is the kernel's timestamp of the last bytes, in Unix nanoseconds; 0 if unknown.
	received int64
	unsent   []byte
	buf      []byte
	head     head
	done     func(Answer, bool)
}

const (
	// minGrowth is the least by which the buffer of an answer grows, in bytes.
	minGrowth = 4 << 10
	// maxClockDrift is how far the wall clock may drift from the monotonic clock during one
	// request before it counts as having been set.
	maxClockDrift = time.Millisecond
)

// durationOf returns the time until the kernel received an answer, or elapsed, the time until
// it was read, if the kernel's timestamp is missing or implausible. The others are times of
// the wall clock; elapsed is monotonic.
func durationOf(elapsed time.Duration, start, received, now int64) time.Duration {
	noted, drift := time.Duration(received-start), time.Duration(now-start)-elapsed
	if received == 0 || noted < 0 || noted > elapsed || drift.Abs() > maxClockDrift {
		return elapsed
	}
	return noted
}

func (r *request) proceed(b *Batch) verdict {
	if len(r.unsent) > 0 && !r.send() {
		return unusual
	}
	if len(r.unsent) > 0 {
		return incomplete
	}
	for {
		r.grow(b)
		n, received, blocked, err := b.inbox.receive(r.fd, r.buf[len(r.buf):cap(r.buf)])
		switch {
		case blocked:
			return incomplete
		case err != nil || n == 0:
			return unusual
		}
		r.buf, r.received = r.buf[:len(r.buf)+n], received
		if v := r.judge(); v != incomplete {
			return v
		}
	}
}

func (r *request) judge() verdict {
	if r.head.size == 0 {
		h, v := readHead(r.buf)
		if v != plain {
			return v
		}
		if h.length > r.lane.opts.MaxBody || h.size > r.lane.opts.MaxHeader {
			return unusual
		}
		r.head = h
	}
	switch size := r.head.size + r.head.length; {
	case len(r.buf) < size:
		return incomplete
	case len(r.buf) > size:
		return unusual
	}
	return plain
}

func (r *request) sending() bool { return !r.start.IsZero() && len(r.unsent) > 0 }

func (r *request) send() bool {
	n, blocked, err := transmit(r.fd, r.unsent)
	if blocked {
		return true
	}
	r.unsent = r.unsent[n:]
	return err == nil
}

// grow makes room for the answer and one byte more, to notice data that follows it.
func (r *request) grow(b *Batch) {
	if r.buf == nil {
		r.buf = b.buffer()
	}
	if len(r.buf) < cap(r.buf) {
		return
	}
	r.buf = slices.Grow(r.buf, max(minGrowth, r.head.size+r.head.length+1-len(r.buf)))
}
