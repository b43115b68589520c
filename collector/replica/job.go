package replica

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
)

// job is one kind of work that is done next to the replica, one run at a time.
type job struct {
	running bool
	// again is true when it was asked for while it ran: what it answers may be
	// of before.
	again bool
	// began is when the last run began, answered when the last one began that
	// is back.
	began, answered time.Time
}

// since reports whether there is an answer to a question that was put at a moment
// or later.
func (j *job) since(t time.Time) bool { return !j.answered.IsZero() && !j.answered.Before(t) }

// want has a question asked unless there is an answer to one that was put at a
// moment or later, or will be.
func (j *job) want(ctx context.Context, since time.Time, ask func(context.Context)) {
	switch {
	case j.since(since), j.running && !j.began.Before(since):
	case j.running:
		j.again = true
	default:
		ask(ctx)
	}
}

// jobRun is a job that is under way. It ends with one call of answer.
type jobRun struct {
	*Replica

	ctx   context.Context //nolint:containedctx // It is the life of the run.
	job   *job
	epoch int
}

// begin begins a run of a job.
func (r *Replica) begin(ctx context.Context, j *job) jobRun {
	j.running, j.again, j.began = true, false, time.Now()
	r.runs.Add(1)
	return jobRun{r, ctx, j, r.server.Epoch}
}

// answer has the replica take what the run brought. An answer of another kind of
// server than is there now is dropped, and so is any when the context has ended; it
// reports whether the answer was taken. Anybody may call it.
func (p jobRun) answer(take func()) (taken bool) {
	defer p.runs.Done()
	return p.hand(func() {
		p.job.running, p.job.answered = false, p.job.began
		take()
	})
}

// hand has the replica take what is known before the run ends.
func (p jobRun) hand(take func()) (taken bool) {
	p.do(func() {
		if p.ctx.Err() == nil && p.epoch == p.server.Epoch {
			taken = p.guard("answer", take) == nil
			p.proceed(p.ctx)
		}
	})
	return taken
}

// ask does a run of a job in a goroutine of its own. Work gets no part of the
// replica; take is given what it brought, or what it panicked with.
func ask[A any](p jobRun, name string, work func(ctx context.Context) A, take func(A, error)) {
	go func() {
		var answer A
		failed := p.guard(name, func() { answer = work(p.ctx) })
		p.answer(func() { take(answer, failed) })
	}()
}

// do does work on the replica, as the only one at that time.
func (r *Replica) do(work func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		_ = r.guard("work", work)
	}
}

// try does that unless other work is being done; it reports false then.
func (r *Replica) try(work func()) bool {
	if !r.mu.TryLock() {
		return false
	}
	defer r.mu.Unlock()
	if !r.closed {
		_ = r.guard("work", work)
	}
	return true
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
