package scrape

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"time"
)

const (
	// freeBody is how much of a body is read without a reservation. A body over largeBody
	// also reserves as much as it may grow to from the budget for huge bodies.
	freeBody  = 256 << 10
	largeBody = 1 << 20
	// One in bodyShare of the memory limit is for large bodies and as much again for huge
	// ones: parsing takes several times the size of a body.
	bodyShare         = 20
	defaultBodyMemory = 64 << 20
	// baseMemory is what the process uses besides bodies and pages.
	baseMemory = 24 << 20
	// One in singleShare of the memory limit beyond baseMemory is for a single body, one in
	// pageShare for what is retained of large pages, and never less than minMemory.
	singleShare = 6
	pageShare   = 2
	minMemory   = 1 << 20
	// While others wait for memory, a body must advance by progressBytes within progressTime
	// to keep its reservation.
	progressBytes = 256 << 10
	progressTime  = 200 * time.Millisecond
)

func newBodyBudget(limit int64) *Budget {
	return newBudget(
		limit,
		failf(
			ReasonMemory, "",
			"the body stalled while others waited and large responses used the whole %s budget; check why "+
				"the server stops sending",
			Size(limit),
		),
	)
}

func bodyMemory() int64 {
	limit := debug.SetMemoryLimit(-1)
	if limit == math.MaxInt64 {
		return defaultBodyMemory
	}
	return max(limit/bodyShare, largeBody)
}

// memoryBeyondBase returns a share of the limit beyond baseMemory, 0 without a limit.
func memoryBeyondBase(share int64) int64 {
	limit := debug.SetMemoryLimit(-1)
	if limit == math.MaxInt64 {
		return 0
	}
	return max((limit-baseMemory)/share, minMemory)
}

// reservation is what one body holds of the budgets for large and huge bodies. The zero value
// is unlimited.
type reservation struct {
	resources *Resources
	// maxSize is the size that the body may reach, 0 for any size.
	maxSize int64
	// large and huge are the bytes reserved from each budget.
	large, huge int64
	// lease is nil until anything is reserved, and if that cannot be reclaimed.
	lease *lease
	// progress is how much of the body arrived since the lease was renewed.
	progress int
}

// cover waits until size bytes in all are reserved. A body reserves from each budget at once,
// and from the budget for huge bodies last, so that no two bodies wait for each other.
func (r *reservation) cover(ctx context.Context, size int) *Error {
	if r.resources == nil || size <= freeBody {
		return nil
	}
	if r.large == 0 {
		if failure := r.take(ctx, r.resources.large, &r.large, largeBody); failure != nil {
			return failure
		}
	}
	if size > largeBody && r.huge == 0 {
		return r.take(ctx, r.resources.huge, &r.huge, math.MaxInt64)
	}
	return nil
}

// take reserves up to n bytes from a budget, but no more than the body may grow to.
func (r *reservation) take(ctx context.Context, from *Budget, reserved *int64, n int64) *Error {
	if r.maxSize > 0 {
		n = min(n, r.maxSize)
	}
	n = min(n, from.limit)
	if !from.acquire(ctx, n, r.lease) {
		return failf(
			ReasonMemory, "",
			"large responses already use the whole %s budget; raise the memory limit of the exporter, or find "+
				"targets with huge pages by trtllm_exporter_target_body_bytes",
			Size(from.limit),
		)
	}
	*reserved = n
	if s := scopeOf(ctx); s != nil && s.lease != nil {
		if r.lease == nil {
			r.lease = &lease{grace: progressTime, cancel: s.lease.cancel}
		}
		from.join(r.lease)
	}
	r.progress = 0
	r.lease.renew()
	return nil
}

func (r *reservation) advance(n int) {
	if r.progress += n; r.progress >= progressBytes {
		r.progress = 0
		r.lease.renew()
	}
}

// settle keeps the reservation from being reclaimed after the body was read.
func (r *reservation) settle() { r.lease.suspend() }

func (r *reservation) release() {
	if r.large > 0 {
		r.resources.large.leave(r.lease)
		r.resources.large.Release(r.large)
	}
	if r.huge > 0 {
		r.resources.huge.leave(r.lease)
		r.resources.huge.Release(r.huge)
	}
	r.large, r.huge, r.lease = 0, 0, nil
}

// ErrNoMemory is the failure of a page for which there is not enough memory.
var ErrNoMemory = errors.New("not enough memory for the page")

// ReservePage changes what a target reserves for its retained page from held to bytes, and
// returns what it holds then; pages of up to 1 MiB count as nothing. It fails and changes
// nothing if all large pages together would exceed their share of the memory limit. There is no
// limit on nil.
func (r *Resources) ReservePage(held, bytes int64) (int64, error) {
	if r == nil || r.pages == nil {
		return 0, nil
	}
	if bytes <= largeBody {
		bytes = 0
	}
	if growth := bytes - held; growth > 0 && !r.pages.TryAcquire(growth) {
		return held, fmt.Errorf(
			"%w: it takes about %s, and large pages share %s of the memory limit of the exporter; raise that "+
				"(GOMEMLIMIT, or the limit of the container) or reduce the metrics that the server exposes",
			ErrNoMemory, wholeMebibytes(bytes), wholeMebibytes(r.pages.limit),
		)
	} else if growth < 0 {
		r.pages.Release(-growth)
	}
	return bytes, nil
}

func wholeMebibytes(bytes int64) Size { return (Size(bytes) + mebibyte - 1) &^ (mebibyte - 1) }
