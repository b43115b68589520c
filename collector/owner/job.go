package owner

import (
	"context"
	"time"
)

// Job is one kind of work that is done next to the owner, one piece at a time. Its
// fields and methods belong to the owner.
type Job struct {
	Running bool
	// Again is true when it was asked for while it ran: what it answers may be
	// of before.
	Again bool
	// Began is when the last piece began, Answered when the last one began that
	// is back.
	Began, Answered time.Time
}

// Since says whether there is an answer to a question that was put at a moment
// or later.
func (j *Job) Since(t time.Time) bool { return !j.Answered.IsZero() && !j.Answered.Before(t) }

// Want has a question asked unless there is an answer to one that was put at a
// moment or later, or will be.
func (j *Job) Want(ctx context.Context, since time.Time, ask func(context.Context)) {
	switch {
	case j.Since(since), j.Running && !j.Began.Before(since):
	case j.Running:
		j.Again = true
	default:
		ask(ctx)
	}
}

// Begin does a piece of a job next to the owner, who calls it: work gets no part of
// the state, and take is given what it brought, as the owner. What work panicked
// with is the error.
func Begin[A any](ctx context.Context, o *Owner, j *Job, name string, work func(ctx context.Context) A, take func(A, error)) {
	epoch := o.Epoch
	j.begin()
	o.jobs.Go(func() {
		var answer A
		failed := o.Guard(name, func() { answer = work(ctx) })
		o.hand(ctx, epoch, func() {
			j.end()
			take(answer, failed)
		})
	})
}

// begin notes that a piece begins.
func (j *Job) begin() { j.Running, j.Again, j.Began = true, false, time.Now() }

// end notes that the answer of the last piece is back.
func (j *Job) end() { j.Running, j.Answered = false, j.Began }

// Hand gives the way to hand over what a job knows before it ends. Only the owner
// may call it, and anybody what it gives.
func (o *Owner) Hand(ctx context.Context) func(take func()) {
	epoch := o.Epoch
	return func(take func()) { o.hand(ctx, epoch, take) }
}

// hand takes an answer to what was asked in an epoch. That of an earlier one is
// dropped, and so is any when the context has ended.
func (o *Owner) hand(ctx context.Context, epoch int, take func()) {
	o.Do(func() {
		if ctx.Err() != nil || epoch != o.Epoch {
			return
		}
		_ = o.Guard("answer", take)
		o.Proceed(ctx)
	})
}
