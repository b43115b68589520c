package lane

import "time"

// request is one request under way.
type request struct {
	lane  *Lane
	fd    int
	fresh bool
	begun time.Time
	// came is when the last bytes came by the clock on the wall, in nanoseconds; 0
	// where that is not known.
	came   int64
	unsent []byte
	buf    []byte
	head   head
	done   func(Answer, bool)
}

// leastRoom is the least room that is made for more of an answer.
const leastRoom = 4 << 10

// stepped is by how much two clocks may differ over one request without one of
// them having been set.
const stepped = time.Millisecond

// took returns the time from the request to the last byte of its answer.
func (r *request) took(seen time.Time) time.Duration {
	return tookOf(seen.Sub(r.begun), r.begun.UnixNano(), r.came, seen.UnixNano())
}

// tookOf returns the time from begun until an answer came, as the system noted
// that, else until it was seen, which was so long by the clock that nobody sets.
// The others are moments of the clock on the wall.
func tookOf(most time.Duration, begun, came, seen int64) time.Duration {
	noted, set := time.Duration(came-begun), time.Duration(seen-begun)-most
	if came == 0 || noted < 0 || noted > most || set.Abs() > stepped {
		return most
	}
	return noted
}

// proceed writes and reads what it can.
func (r *request) proceed(b *Batch) verdict {
	if len(r.unsent) > 0 && !r.send() {
		return unusual
	}
	if len(r.unsent) > 0 {
		return more
	}
	for {
		r.grow(b)
		n, came, blocked, err := b.inbox.receive(r.fd, r.buf[len(r.buf):cap(r.buf)])
		switch {
		case blocked:
			return more
		case err != nil || n == 0:
			return unusual
		}
		r.buf, r.came = r.buf[:len(r.buf)+n], came
		if v := r.look(); v != more {
			return v
		}
	}
}

// look reports whether the answer is there.
func (r *request) look() verdict {
	if r.head.size == 0 {
		h, v := readHead(r.buf)
		if v != plain {
			return v
		}
		if h.length > r.lane.opts.MostBody || h.size > r.lane.opts.MostHead {
			return unusual
		}
		r.head = h
	}
	switch whole := r.head.size + r.head.length; {
	case len(r.buf) < whole:
		return more
	case len(r.buf) > whole:
		return unusual
	}
	return plain
}

// sending reports whether some of the request is still to be written.
func (r *request) sending() bool { return !r.begun.IsZero() && len(r.unsent) > 0 }

// send writes what it can of the request; it reports false when that fails.
func (r *request) send() bool {
	n, blocked, err := transmit(r.fd, r.unsent)
	if blocked {
		return true
	}
	r.unsent = r.unsent[n:]
	return err == nil
}

// grow makes room for more of the answer: for one byte more than it has, so that
// what comes after it is seen.
func (r *request) grow(b *Batch) {
	if r.buf == nil {
		r.buf = b.buffer()
	}
	if len(r.buf) < cap(r.buf) {
		return
	}
	larger := make([]byte, len(r.buf), max(len(r.buf)+leastRoom, r.head.size+r.head.length+1))
	copy(larger, r.buf)
	// The content type is a part of the memory before.
	r.buf = larger
	if r.head.size > 0 {
		r.head, _ = readHead(r.buf)
	}
}
