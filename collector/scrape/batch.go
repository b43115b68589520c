package scrape

import (
	"context"
	"time"
)

// Batch are questions over lanes that are put together: those of one slot of the
// clock are sent one after the other, and then the answers are read as they
// come, by one goroutine. So a processor wakes up once for many pages, which
// costs more than all the work on them. It is for one goroutine, which may use it
// again after Run.
type Batch struct {
	flights []*flight
	// last is when the last question was put, seen when it was last looked at what
	// came.
	last, seen time.Time
	// The others are kept from one run to the next: memory of answers, flights that
	// are over, what is asked of the system, and what ends a pause.
	small  [][]byte
	landed []*flight
	watch  watch
	inbox  inbox
	timer  *time.Timer
}

// Ask takes the question of a lane, which Run puts; false when the lane cannot be
// used now, so that it has to be put in another way. Otherwise done is called
// once: with the answer, or with false when the question has to be put in another
// way after all. Run calls it, or for an answer that takes long a goroutine of its
// own, which waits as long as the lane's timeout and ctx last. The body is in
// memory that room gives, or in more; where room is nil it is the batch's, and not
// valid after done.
func (b *Batch) Ask(ctx context.Context, l *Lane, room func() []byte, done func(answer Page, ok bool)) bool {
	fd, fresh, ok := l.take()
	if !ok {
		return false
	}
	var f *flight
	if last := len(b.landed) - 1; last >= 0 {
		f, b.landed = b.landed[last], b.landed[:last]
	} else {
		f = new(flight)
	}
	*f = flight{lane: l, ctx: ctx, fd: fd, fresh: fresh, large: l.size > oneWindow, unsent: l.request, room: room, done: done}
	b.flights = append(b.flights, f)
	return true
}

const (
	// pause is how long a batch rests between two looks at what came, so that one
	// look finds many answers. That makes no answer's duration longer, for the
	// system notes when it came.
	pause = 10 * time.Millisecond
	// briefPause is that while the rest of an answer or the end of a dial is awaited,
	// or an answer that may be more than comes before it is read; briefShare is the
	// part of the time so far which it is at most else.
	briefPause = time.Millisecond
	briefShare = 8
	// oneWindow is how much of an answer surely comes before any of it is read.
	oneWindow = 32 << 10
)

// Run puts the questions, reads the answers that come within a moment and has the
// others followed, so that no target holds up another for longer than what is made
// of its answer.
//
// It rests between two looks instead of waiting for the next answer: a wait wakes
// a processor for each of them, and one within the system keeps the runtime's
// monitor awake.
func (b *Batch) Run() {
	open := b.send()
	for begun := b.last; len(open) > 0; {
		now := time.Now()
		left := begun.Add(slotPatience).Sub(now)
		if left > 0 {
			b.rest(min(left, restOf(open, now.Sub(begun))))
		}
		open = b.read(open, left <= 0)
	}
	clear(b.flights)
	b.flights = b.flights[:0]
}

// restOf is how long a batch rests before its next look, given for how long it has
// waited.
func restOf(open []*flight, waited time.Duration) time.Duration {
	for _, f := range open {
		if f.large || len(f.unsent) > 0 || len(f.buf) > 0 {
			return min(pause, max(briefPause, waited/briefShare))
		}
	}
	return pause
}

// rest rests for a moment.
func (b *Batch) rest(d time.Duration) {
	if b.timer == nil {
		b.timer = time.NewTimer(d)
	} else {
		b.timer.Reset(d)
	}
	<-b.timer.C
}

// send puts the questions, and gives the flights that are open. Connections over
// which something came that nobody asked for are replaced first.
func (b *Batch) send() []*flight {
	open := b.flights[:0]
	for i, stirred := range b.watch.look(b.flights) {
		f := b.flights[i]
		if stirred && !f.fresh {
			f.reconnect()
		}
		b.last = time.Now()
		f.begun = b.last
		if f.fd < 0 || !f.send() {
			b.end(f, false)
			continue
		}
		open = append(open, f)
	}
	return open
}

// read takes what came for the flights that are ready, and gives those that are
// still open; none when the time is over, for then they are on their own.
func (b *Batch) read(open []*flight, over bool) []*flight {
	still := open[:0]
	all := b.watch.look(open)
	b.seen = time.Now()
	for i, ready := range all {
		f, v := open[i], more
		if ready {
			v = f.proceed(b)
		}
		switch {
		case v != more:
			b.end(f, v == plain)
		case over:
			f.part()
		default:
			still = append(still, f)
		}
	}
	return still
}

// end hands out what came of a question.
func (b *Batch) end(f *flight, ok bool) {
	f.end(ok, b.seen)
	if f.room == nil && f.buf != nil {
		b.small = append(b.small, f.buf[:0])
	}
	*f = flight{}
	b.landed = append(b.landed, f)
}
