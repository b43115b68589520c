package replica

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
)

// job is one kind of work that is done next to the replica, one piece at a time.
type job struct {
	running bool
	// again is true when it was asked for while it ran: what it answers may be
	// of before.
	again bool
	// began is when the last piece began, answered when the last one began that
	// is back.
	began, answered time.Time
}

// since says whether there is an answer to a question that was put at a moment
// or later.
func (j *job) since(t time.Time) bool { return !j.answered.IsZero() && !j.answered.Before(t) }

// begin does a piece of a job next to the replica: work gets no part of its
// state, and take is given what it brought, as the owner.
func begin[A any](ctx context.Context, r *Replica, j *job, name string, work func(ctx context.Context) A, take func(A, error)) {
	board(ctx, r, j, name, func(func(A, bool)) bool { return false }, work, take)
}

// board does a piece of a job in a batch, and hands its answer over as begin does.
// Aboard says whether it is there; its done is called with the answer, or with
// false when the piece has to be done next to the replica after all. So it is when
// it is not aboard.
func board[A any](ctx context.Context, r *Replica, j *job, name string, aboard func(done func(A, bool)) bool, work func(ctx context.Context) A, take func(A, error)) {
	epoch := r.server.Epoch
	j.running, j.again, j.began = true, false, time.Now()
	apart := func() {
		var answer A
		failed := r.guard(name, func() { answer = work(ctx) })
		r.answered(ctx, epoch, j, func() { take(answer, failed) })
	}
	r.owner.jobs.Add(1)
	there := aboard(func(answer A, ok bool) {
		defer r.owner.jobs.Done()
		if ok {
			r.answered(ctx, epoch, j, func() { take(answer, nil) })
			return
		}
		r.owner.apart(apart)
	})
	if !there {
		r.owner.apart(apart)
		r.owner.jobs.Done()
	}
}

// answered hands the owner the answer of a piece that began last.
func (r *Replica) answered(ctx context.Context, epoch int, j *job, take func()) {
	r.hand(ctx, epoch, func() {
		j.running, j.answered = false, j.began
		take()
	})
}

// hand gives the owner an answer. That of a server of another kind than the
// one that is there now is dropped, and so is any when the replica ends.
func (r *Replica) hand(ctx context.Context, epoch int, take func()) {
	r.owner.do(func() {
		if ctx.Err() != nil || epoch != r.server.Epoch {
			return
		}
		_ = r.guard("answer", take)
		r.proceed(ctx)
	})
}

// guard does one step for the replica and keeps a panic there from ending the
// process; the panic comes back as the failure of that step.
func (r *Replica) guard(step string, do func()) (failed error) {
	defer func() {
		if p := recover(); p != nil {
			r.log.Error("Step panicked", "step", step, "panic", p, "stack", string(debug.Stack()))
			r.pool.Panicked()
			failed = &scrape.Error{Reason: scrape.ReasonPanic, Err: fmt.Errorf("panic: %v", p)}
		}
	}()
	do()
	return nil
}
