package replica

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// longestStart is how long a replica that starts may keep others from it.
const longestStart = 200 * time.Millisecond

// Starts bounds how many replicas start at once. Safe for concurrent use.
type Starts struct {
	atOnce int
	free   *semaphore.Weighted

	mu sync.Mutex
	// waiting is how many wait for their turn, since when there were some.
	waiting int
	since   time.Time
}

// NewStarts returns a bound of so many.
func NewStarts(atOnce int) *Starts {
	return &Starts{atOnce: atOnce, free: semaphore.NewWeighted(int64(atOnce))}
}

// begin waits for the turn of a replica, which it ends by the function that is returned.
// One that hangs keeps it for a moment only, which is shorter where so many wait that
// they would not all start within the interval. Nil says that ctx has ended.
func (s *Starts) begin(ctx context.Context, interval time.Duration) (end func()) {
	s.mu.Lock()
	if s.waiting == 0 {
		s.since = time.Now()
	}
	s.waiting++
	s.mu.Unlock()
	err := s.free.Acquire(ctx, 1)
	s.mu.Lock()
	left := max(interval-time.Since(s.since), interval/8)
	turn := min(longestStart, left*time.Duration(s.atOnce)/time.Duration(s.waiting))
	s.waiting--
	s.mu.Unlock()
	if err != nil {
		return nil
	}
	end = sync.OnceFunc(func() { s.free.Release(1) })
	time.AfterFunc(turn, end)
	return end
}
