package replica

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// job is work that runs without the replica's lock, one run at a time.
type job struct {
	running bool
	// rerun is true if the answer of the current run will be too old.
	rerun bool
	// started is when the last run started, answered when the last finished run started, and ended when
	// its answer was applied.
	started, answered, ended time.Time
}

// overlaps reports whether a run was not over at a time.
func (j *job) overlaps(t time.Time) bool { return j.running || j.ended.After(t) }

func (j *job) answeredSince(t time.Time) bool { return !j.answered.IsZero() && !j.answered.Before(t) }

// ensure calls start unless a run that started at since or later is running or has finished. If
// an earlier run is running, the job runs again after it.
func (j *job) ensure(ctx context.Context, since time.Time, start func(context.Context)) {
	switch {
	case j.answeredSince(since), j.running && !j.started.Before(since):
	case j.running:
		j.rerun = true
	default:
		start(ctx)
	}
}

// jobRun is one run of a job. It ends with one call of finish.
type jobRun struct {
	*Replica

	ctx   context.Context //nolint:containedctx // It ends the run.
	job   *job
	epoch int
	// asking is the context of requests to the server.
	asking context.Context //nolint:containedctx // It has the line in which they wait.
}

// startJob begins a run. Nothing may panic between it and the work of the run, which would never end.
func (r *Replica) startJob(ctx context.Context, j *job) jobRun {
	j.running, j.rerun, j.started = true, false, time.Now()
	r.jobRuns.Add(1)
	line := scrape.LineOf(r.status.Health == target.HealthUp, r.status.LastFailure)
	return jobRun{r, ctx, j, r.server.Epoch, line.Of(ctx)}
}

// finish ends a run and applies its answer. The answer is dropped if another kind of server was
// detected in the meantime or the context is done.
func (run jobRun) finish(apply func()) {
	defer run.jobRuns.Done()
	run.deliver(func() {
		run.job.running, run.job.answered, run.job.ended = false, run.job.started, time.Now()
		apply()
	})
}

// deliver applies a part of the answer before the run ends, and starts what is due after it, even if
// it panics.
func (run jobRun) deliver(apply func()) {
	run.update(func() {
		if run.ctx.Err() == nil && run.epoch == run.server.Epoch {
			if run.jobs.releaseStart != nil {
				run.pool.Starts.Progress()
			}
			defer run.followUp(run.ctx)
			apply()
		}
	})
}

// runJob runs work in a goroutine without the lock, then apply under the lock with
// its answer, or with the error if work panicked.
func runJob[A any](run jobRun, name string, work func(ctx context.Context) A, apply func(A, error)) {
	go func() {
		var answer A
		failed := run.guard(name, func() { answer = work(run.asking) })
		run.finish(func() { apply(answer, failed) })
	}()
}

// update runs work under the lock, unless the replica is closed.
func (r *Replica) update(work func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.runLocked(work)
}

// runLocked runs work, unless the replica is closed. The caller holds the lock.
func (r *Replica) runLocked(work func()) {
	if !r.closed {
		_ = r.guard("work", work)
	}
}

// guard runs work and turns a panic in it into an error. Three kinds of work have one: the work of a
// job without the lock, whatever runs under the lock, and in that the way of a page, which then fails.
func (r *Replica) guard(step string, run func()) (failed error) {
	defer func() {
		if p := recover(); p != nil {
			r.log.Error("Step panicked", "step", step, "panic", p, "stack", string(debug.Stack()))
			r.pool.Panicked()
			failed = &scrape.Error{Reason: scrape.ReasonPanic, Err: fmt.Errorf("panic: %v", p)}
		}
	}()
	run()
	return nil
}
