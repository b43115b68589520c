package owner

import "context"

// Errand is a job whose pieces are all alike, and that others may do: a batch of many
// owners' questions. What is done is said once, so that a piece needs no memory. It
// belongs to the owner, but for [Errand.Answer].
type Errand[A any] struct {
	owner *Owner
	job   *Job
	name  string
	work  func(ctx context.Context) A
	take  func(ctx context.Context, answer A, failed error)

	// The others are those of the piece under way.
	underWay bool
	ctx      context.Context //nolint:containedctx // It is the life of the piece.
	epoch    int
	answer   A
	// deliver and settle are methods as functions.
	deliver, settle func()
}

// NewErrand says what is done, for a job of its owner: a piece is given away or done
// by work, next to the owner, and take is given what it brought, as the owner. What
// work panicked with is the error.
func NewErrand[A any](o *Owner, j *Job, name string, work func(ctx context.Context) A, take func(ctx context.Context, answer A, failed error)) *Errand[A] {
	e := &Errand[A]{owner: o, job: j, name: name, work: work, take: take}
	e.deliver, e.settle = e.delivered, e.settled
	return e
}

// Begin begins a piece, which give may give away: it says whether it did. Who got
// it calls Answer once. False when the last piece is still under way, whose answer
// nobody waits for any more.
func (e *Errand[A]) Begin(ctx context.Context, give func() bool) bool {
	if e.underWay {
		return false
	}
	e.job.begin()
	e.underWay, e.ctx, e.epoch = true, ctx, e.owner.Epoch
	e.owner.jobs.Add(1)
	given := false
	defer func() {
		if !given { // It may have panicked, and somebody has to end the piece.
			var none A
			e.Answer(none, false)
		}
	}()
	given = give()
	return true
}

// Answer hands over what a piece that was given away brought; where that is nothing,
// which ok says, the piece is done next to the owner. Anybody may call it.
func (e *Errand[A]) Answer(answer A, ok bool) {
	defer e.owner.jobs.Done()
	if ok {
		e.answer = answer
		e.owner.Do(e.deliver)
		return
	}
	e.owner.jobs.Go(e.apart)
}

// apart does a piece next to the owner.
func (e *Errand[A]) apart() {
	failed := e.owner.Guard(e.name, func() { e.answer = e.work(e.ctx) })
	e.owner.Do(func() { e.hand(func() { e.end(failed) }) })
}

// delivered hands the answer over.
func (e *Errand[A]) delivered() { e.hand(e.settle) }

// settled takes it.
func (e *Errand[A]) settled() { e.end(nil) }

// hand has an answer taken, unless it is to a question of an earlier epoch, or of a
// context that has ended.
func (e *Errand[A]) hand(take func()) {
	o, ctx := e.owner, e.ctx
	if ctx.Err() != nil || e.epoch != o.Epoch {
		e.forget()
		return
	}
	_ = o.Guard("answer", take)
	o.Proceed(ctx)
}

// end ends the piece, so that the next may begin while its answer is taken.
func (e *Errand[A]) end(failed error) {
	ctx, answer := e.ctx, e.answer
	e.forget()
	e.job.end()
	e.take(ctx, answer, failed)
}

// forget forgets the piece.
func (e *Errand[A]) forget() {
	var none A
	e.underWay, e.ctx, e.answer = false, nil, none
}
