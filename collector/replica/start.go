package replica

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// maxStart limits how long a starting replica may keep others from starting.
const maxStart = 200 * time.Millisecond

// StartLimiter limits how many replicas start at once. It is safe for concurrent use.
type StartLimiter struct {
	limit int
	slots *semaphore.Weighted

	mu sync.Mutex
	// waiting is the number of waiting replicas, waitingSince when the first began to wait.
	waiting      int
	waitingSince time.Time
}

// NewStartLimiter returns a limiter for up to limit replicas at once.
func NewStartLimiter(limit int) *StartLimiter {
	return &StartLimiter{limit: limit, slots: semaphore.NewWeighted(int64(limit))}
}

// acquire waits for a slot, which the caller frees with release. A replica that hangs loses its
// slot after maxStart, or sooner if the waiting replicas could not all start within the interval
// otherwise. It returns nil if ctx is done.
func (s *StartLimiter) acquire(ctx context.Context, interval time.Duration) (release func()) {
	s.mu.Lock()
	if s.waiting == 0 {
		s.waitingSince = time.Now()
	}
	s.waiting++
	s.mu.Unlock()
	err := s.slots.Acquire(ctx, 1)
	s.mu.Lock()
	remaining := max(interval-time.Since(s.waitingSince), interval/8)
	timeout := min(maxStart, remaining*time.Duration(s.limit)/time.Duration(s.waiting))
	s.waiting--
	s.mu.Unlock()
	if err != nil {
		return nil
	}
	release = sync.OnceFunc(func() { s.slots.Release(1) })
	time.AfterFunc(timeout, release)
	return release
}
