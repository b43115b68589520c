package lane

import (
	"cmp"
	"time"
)

const (
	// Patience is how long the answers of a batch are waited for.
	Patience = 200 * time.Millisecond
	// pause is how long a batch sleeps between two looks at what came, briefPause
	// while the rest of a request or of an answer is awaited.
	pause      = 10 * time.Millisecond
	briefPause = time.Millisecond
)

// Batch puts requests over lanes together: they are sent one after the other, and
// the answers are read as they come, in one goroutine. It is used by one goroutine
// at a time, and again after Run. The zero value is ready.
type Batch struct {
	// Patience is how long answers are waited for; 0 stands for the constant.
	Patience time.Duration

	requests []request
	open     []*request
	buffers  [][]byte
	poller   poller
	inbox    inbox
	timer    *time.Timer
}

// Answer is what came.
type Answer struct {
	// Body is valid until the function that it was given to returns.
	Body        []byte
	ContentType string
	// Took is the time from the request to the last byte, which came at Came.
	Took time.Duration
	Came time.Time
}

// Add puts the request of a lane into the batch; it reports false when the lane
// cannot be used now. Otherwise Run calls done once, not ok when there is no answer
// and another way has to be gone.
func (b *Batch) Add(l *Lane, done func(answer Answer, ok bool)) bool {
	fd, fresh, ok := l.acquire()
	if ok {
		b.requests = append(b.requests, request{lane: l, fd: fd, fresh: fresh, unsent: l.opts.Request, done: done})
	}
	return ok
}

// Run sends the requests and reads what is answered in time. It sleeps
// between two looks instead of waiting for the next answer: a wait wakes a
// processor for each of them, and one within the system keeps the runtime's
// monitor awake.
func (b *Batch) Run() {
	b.send()
	patience := cmp.Or(b.Patience, Patience)
	for begun := time.Now(); len(b.open) > 0; {
		left := patience - time.Since(begun)
		if left > 0 {
			b.sleep(min(left, b.pause()))
		}
		b.read(left <= 0)
	}
	clear(b.requests)
	b.requests = b.requests[:0]
}

// pause returns how long the batch sleeps before its next look.
func (b *Batch) pause() time.Duration {
	for _, r := range b.open {
		if len(r.unsent) > 0 || len(r.buf) > 0 {
			return briefPause
		}
	}
	return pause
}

func (b *Batch) sleep(d time.Duration) {
	if b.timer == nil {
		b.timer = time.NewTimer(d)
	} else {
		b.timer.Reset(d)
	}
	<-b.timer.C
}

// send sends the requests. Connections over which something came that nobody
// asked for are replaced first.
func (b *Batch) send() {
	b.open = b.open[:0]
	for i := range b.requests {
		b.open = append(b.open, &b.requests[i])
	}
	sent := b.open[:0]
	for i, stirred := range b.poller.look(b.open) {
		r := b.open[i]
		if stirred && !r.fresh {
			r.fd, r.fresh = r.lane.reconnect(), true
		}
		r.begun = time.Now()
		if r.fd < 0 || !r.send() {
			b.fail(r, restUnbelieved)
			continue
		}
		sent = append(sent, r)
	}
	b.open = sent
}

// read takes what came for the requests that are open; over says that the others
// are given up.
func (b *Batch) read(over bool) {
	still := b.open[:0]
	ready := b.poller.look(b.open)
	seen := time.Now()
	for i, r := range b.open {
		v := more
		if ready[i] {
			v = r.proceed(b)
		}
		switch {
		case v == plain:
			b.complete(r, seen)
		case v == unusual && (r.fresh || len(r.buf) > 0):
			b.fail(r, restUnbelieved)
		case v == unusual:
			b.fail(r, 0) // A kept connection may end just so.
		case over:
			b.fail(r, restLate)
		default:
			still = append(still, r)
		}
	}
	b.open = still
}

// complete hands out an answer that was seen at a moment.
func (b *Batch) complete(r *request, seen time.Time) {
	took := r.took(seen)
	answer := Answer{
		Body: r.buf[r.head.size : r.head.size+r.head.length], ContentType: r.lane.text(r.head.contentType),
		Took: took, Came: r.begun.Add(took),
	}
	r.lane.release(!r.head.last)
	r.done(answer, true)
	b.buffers = append(b.buffers, r.buf[:0])
}

// fail says that there is no answer.
func (b *Batch) fail(r *request, rest time.Duration) {
	if r.buf != nil {
		b.buffers = append(b.buffers, r.buf[:0])
	}
	r.lane.fail(rest)
	r.done(Answer{}, false)
}

// buffer returns memory for an answer.
func (b *Batch) buffer() []byte {
	last := len(b.buffers) - 1
	if last < 0 {
		return nil
	}
	buf := b.buffers[last]
	b.buffers = b.buffers[:last]
	return buf
}
