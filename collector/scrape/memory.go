package scrape

import (
	"context"
	"math"
	"runtime/debug"
	"time"
)

const (
	// freeBody is how much of a body is read without a reservation, which is more
	// than most pages have.
	freeBody = 256 << 10
	// largeBody is how large a body is that takes as much of the budget for huge
	// bodies as it may come to.
	largeBody = 1 << 20
	// memoryShare is the part of the memory limit that large bodies may have, and
	// huge ones as much again; usualMemory is what they may have without a limit.
	// What is made of a body takes some times its size.
	memoryShare = 20
	usualMemory = 64 << 20
	// aloneShare is the part of the memory limit, without what the process has
	// anyway, that one body may have at most, whatever its pool allows, and
	// leastAlone what it may have in any case.
	anyway     = 24 << 20
	aloneShare = 6
	leastAlone = 1 << 20
	// While others wait for memory, a body has to come on by moves within stillFor to
	// keep what it has.
	moves    = 256 << 10
	stillFor = 200 * time.Millisecond
)

// memoryBound returns what large bodies may have under the memory limit of the
// process.
func memoryBound() int64 {
	limit := debug.SetMemoryLimit(-1)
	if limit == math.MaxInt64 {
		return usualMemory
	}
	return max(limit/memoryShare, largeBody)
}

// aloneBound returns what one body may have under the memory limit of the
// process; 0 for any size.
func aloneBound() int64 {
	limit := debug.SetMemoryLimit(-1)
	if limit == math.MaxInt64 {
		return 0
	}
	return max((limit-anyway)/aloneShare, leastAlone)
}

// reservation is what one body has of the budgets for large and huge ones; the
// zero value needs none.
type reservation struct {
	of *Resources
	// most is how large the body may become, 0 for any size.
	most        int64
	large, huge loan
	// came is how much of the body has come since it moved.
	came int
}

// loan is what a body has of one budget.
type loan struct {
	bytes int64
	// use is nil where it is not taken back.
	use *use
}

// cover waits until the body may have so many bytes in all. A body takes all that
// it may come to of a budget at once, and of the budget for huge bodies last, so
// that no two bodies wait for each other.
func (r *reservation) cover(ctx context.Context, size int) *Error {
	if r.of == nil || size <= freeBody {
		return nil
	}
	if r.large.bytes == 0 && !r.take(ctx, r.of.large, &r.large, largeBody) {
		return crowded(r.of.large)
	}
	if size > largeBody && r.huge.bytes == 0 && !r.take(ctx, r.of.huge, &r.huge, math.MaxInt64) {
		return crowded(r.of.huge)
	}
	return nil
}

// take takes what the body may come to, but no more than there is.
func (r *reservation) take(ctx context.Context, from *budget, l *loan, most int64) bool {
	if r.most > 0 {
		most = min(most, r.most)
	}
	most = min(most, from.bound)
	r.since(time.Time{})
	if !from.try(most) && !from.wait(ctx, most, stuck(from), func() {}) {
		return false
	}
	l.bytes = most
	if s := scopeOf(ctx); s != nil && s.use != nil {
		l.use = &use{long: stillFor, cancel: s.use.cancel}
		from.join(l.use)
	}
	r.since(time.Now())
	return true
}

// stuck is the failure of a body that has memory and does not move while others wait.
func stuck(b *budget) *Error {
	return failf(ReasonMemory, "", "the body stopped coming, and others waited while large responses used the whole %s budget; look at what the server does while it answers", Size(b.bound))
}

// moved notes that so much more of the body is there.
func (r *reservation) moved(bytes int) {
	if r.came += bytes; r.came >= moves && r.large.bytes > 0 {
		r.since(time.Now())
	}
}

// settled says that nothing of the body is waited for any more.
func (r *reservation) settled() { r.since(time.Time{}) }

// since notes when the body moved, or that it is not expected to.
func (r *reservation) since(at time.Time) {
	r.came = 0
	if r.large.bytes > 0 {
		r.of.large.since(r.large.use, at)
	}
	if r.huge.bytes > 0 {
		r.of.huge.since(r.huge.use, at)
	}
}

// release gives back what the body has.
func (r *reservation) release() {
	if r.of != nil {
		r.large.end(r.of.large)
		r.huge.end(r.of.huge)
	}
}

// end gives a loan back.
func (l *loan) end(to *budget) {
	if l.bytes > 0 {
		to.release(l.bytes)
		to.leave(l.use)
	}
	*l = loan{}
}

// crowded is the failure of a body for which no memory became free in time.
func crowded(b *budget) *Error {
	return failf(ReasonMemory, "", "large responses already use the whole %s budget; raise the memory limit of the exporter, or look for targets with huge pages by trtllm_exporter_target_body_bytes", Size(b.bound))
}
