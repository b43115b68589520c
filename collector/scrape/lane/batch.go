package lane

import (
	"cmp"
	"slices"
	"time"
)

const (
	// Timeout is how long a batch waits for its answers.
	Timeout = 200 * time.Millisecond
	// pause is how long a batch sleeps before it polls the sockets again, briefPause while a
	// request or an answer is incomplete.
	pause      = 10 * time.Millisecond
	briefPause = time.Millisecond
)

// Batch sends the requests of several lanes and reads their answers. It can be used again
// after Run. The zero value is ready to use. It is not safe for concurrent use.
type Batch struct {
	// Timeout is how long to wait for answers; the default is the constant Timeout.
	Timeout time.Duration

	requests []request
	pending  []*request
	buffers  [][]byte
	poller   poller
	inbox    inbox
}

// Answer is an answer that a lane accepts.
type Answer struct {
	// Body is valid until the callback that receives it returns.
	Body        []byte
	ContentType string
	// Duration is the time from the request to the last byte, Received when that byte arrived.
	Duration time.Duration
	Received time.Time
	// Kept is true if the connection was open before the request.
	Kept bool
}

// Add adds the request of a lane to the batch. It reports false if the lane cannot be used
// now. Otherwise Run calls done once; ok is then false if there is no answer.
func (b *Batch) Add(l *Lane, done func(answer Answer, ok bool)) bool {
	fd, fresh, ok := l.acquire()
	if ok {
		b.requests = append(b.requests, request{lane: l, fd: fd, fresh: fresh, unsent: l.opts.Request, done: done})
	}
	return ok
}

// Run sends the requests and reads the answers that arrive in time. It polls and sleeps
// instead of blocking until the next answer: blocking wakes up a CPU for each answer, and
// blocking in the kernel keeps the runtime's monitor awake.
func (b *Batch) Run() {
	b.send()
	timeout := cmp.Or(b.Timeout, Timeout)
	for start := time.Now(); len(b.pending) > 0; {
		remaining := timeout - time.Since(start)
		if remaining > 0 {
			<-time.After(min(remaining, b.pause()))
		}
		b.receive(remaining <= 0)
	}
	clear(b.requests)
	b.requests = b.requests[:0]
}

func (b *Batch) pause() time.Duration {
	if slices.ContainsFunc(b.pending, func(r *request) bool { return len(r.unsent) > 0 || len(r.buf) > 0 }) {
		return briefPause
	}
	return pause
}

// send sends the requests. A connection on which something happened since the previous answer
// is replaced first.
func (b *Batch) send() {
	b.pending = b.pending[:0]
	for i := range b.requests {
		b.pending = append(b.pending, &b.requests[i])
	}
	sent := b.pending[:0]
	for i, ready := range b.poller.poll(b.pending) {
		r := b.pending[i]
		if ready && !r.fresh {
			r.fd, r.fresh = r.lane.reconnect(), true
		}
		r.start = time.Now()
		if r.fd < 0 || !r.send() {
			b.fail(r)
			continue
		}
		sent = append(sent, r)
	}
	b.pending = sent
}

// receive reads what arrived for the pending requests. If last is true, incomplete ones fail.
func (b *Batch) receive(last bool) {
	pending := b.pending[:0]
	ready := b.poller.poll(b.pending)
	now := time.Now()
	for i, r := range b.pending {
		v := incomplete
		if ready[i] {
			v = r.proceed(b)
		}
		switch {
		case v == plain:
			b.complete(r, now)
		case v == unusual || last:
			b.fail(r)
		default:
			pending = append(pending, r)
		}
	}
	b.pending = pending
}

func (b *Batch) complete(r *request, now time.Time) {
	d := durationOf(now.Sub(r.start), r.start.UnixNano(), r.received, now.UnixNano())
	answer := Answer{
		Body: r.buf[r.head.size : r.head.size+r.head.length], ContentType: r.head.contentType,
		Duration: d, Received: r.start.Add(d), Kept: !r.fresh,
	}
	r.lane.release(!r.head.closes)
	r.done(answer, true)
	b.buffers = append(b.buffers, r.buf[:0])
}

func (b *Batch) fail(r *request) {
	if r.buf != nil {
		b.buffers = append(b.buffers, r.buf[:0])
	}
	r.lane.fail()
	r.done(Answer{}, false)
}

func (b *Batch) buffer() []byte {
	last := len(b.buffers) - 1
	if last < 0 {
		return nil
	}
	buf := b.buffers[last]
	b.buffers = b.buffers[:last]
	return buf
}
