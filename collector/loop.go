package collector

import (
	"context"
	"hash/fnv"
	"sync"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// firstAnswerWait is how long the first page of a replica, or the first after
// a fault, waits for answers about its identity, so that its series need not
// change their labels one scrape later, and the first that is refused for one
// about health. Others never wait.
const firstAnswerWait = time.Second

// soon bounds how long a new target waits for its first scrape.
const soon = time.Second

// run scrapes the replica on its own clock until ctx ends. Scrapes start at
// fixed moments, a hash of the replica apart from other replicas'; one that is
// still under way at the next moment lets that moment pass.
func (r *replica) run(ctx context.Context) {
	if r.target.Silent {
		r.rest(ctx)
		return
	}
	defer r.leave()
	var asking sync.WaitGroup
	asking.Go(func() { r.runAsk(ctx) })
	if r.pool.cfg.IterationStats {
		asking.Go(func() { r.runIterations(ctx) })
	}
	if r.pool.cfg.Canary.Enabled {
		r.canary.on = true
		asking.Go(func() { r.runCanary(ctx) })
	}
	defer asking.Wait()

	phase := offset(r.target.Key(), r.target.Interval)
	timer := time.NewTimer(offset(r.target.Key(), min(r.target.Interval, soon)))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		r.scrape(ctx)
		wait, missed := r.next(phase)
		r.tally.skipped += missed
		timer.Reset(wait)
	}
}

// first lets the first good scrape, and the first after a fault, wait for a
// round of answers that began after the page did: the server may be another.
func (r *replica) first(ctx context.Context) {
	if r.status.Health == target.HealthUp || r.kind == engine.Unknown {
		return
	}
	if !r.status.LastSuccess.IsZero() {
		r.doubtful.Store(true)
	}
	want := r.rounds.begun.Load() + 1
	r.wake()
	r.await(ctx, func() bool { return r.rounds.ended.Load() >= want })
}

// refused has the API asked anew when the page begins to refuse, for what it
// said before may be so no longer: a server that ended closes both, one that
// only lost its page does not. While the page goes on refusing, the API is asked
// at its own pace.
func (r *replica) refused(ctx context.Context, failed error) {
	if failed == nil {
		return
	}
	reason := scrape.ReasonOf(failed)
	if reason != scrape.ReasonConnect && reason != scrape.ReasonReset {
		return
	}
	if r.status.Health == target.HealthDown && r.status.LastReason == string(reason) {
		return
	}
	if h := r.probed.Load(); h == nil || h.API == engine.APIUnknown || h.API == engine.APIRefused {
		return
	}
	want := r.probes.begun.Load() + 1
	select {
	case r.recheck <- struct{}{}:
	default:
	}
	r.await(ctx, func() bool { return r.probes.ended.Load() >= want })
}

// await waits until there is an answer, but not for long.
func (r *replica) await(ctx context.Context, there func() bool) {
	timer := time.NewTimer(min(firstAnswerWait, r.target.Timeout/2))
	defer timer.Stop()
	for !there() {
		select {
		case <-r.told:
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// next is how long it is to the replica's next moment, and how many moments
// have passed since the last scrape began.
func (r *replica) next(phase time.Duration) (wait time.Duration, missed uint64) {
	interval := r.target.Interval
	now := time.Since(r.pool.origin)
	began := r.status.LastScrape.Sub(r.pool.origin)
	slot := func(t time.Duration) int64 { return int64((t - phase + interval) / interval) }
	wait = phase + time.Duration(slot(now))*interval - now
	if r.status.Scrapes > 1 {
		missed = uint64(max(slot(now)-slot(began), 0))
	}
	return wait, missed
}

// offset spreads targets over a period by a hash of their keys.
func offset(key string, period time.Duration) time.Duration {
	if period <= 0 {
		return 0
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(key))
	return time.Duration(h.Sum64() % uint64(period))
}
