package replica

import (
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWorkIsDoneOnePieceAfterTheOther(t *testing.T) {
	var o owner
	var all sync.WaitGroup
	// Without a lock: the race detector sees two pieces at once.
	done := 0
	for range 8 {
		all.Go(func() {
			for range 200 {
				o.do(func() { done++ })
			}
		})
	}
	all.Wait()
	o.close()
	require.Equal(t, 1600, done)
}

func TestWorkThatBringsWorkDoesNotWaitForIt(t *testing.T) {
	var o owner
	var order []string
	o.do(func() {
		o.do(func() { order = append(order, "second") })
		order = append(order, "first")
	})
	require.Equal(t, []string{"first", "second"}, order)
}

func TestAClosedOwnerDropsWorkAndHasNoJobs(t *testing.T) {
	var o owner
	release, answered := make(chan struct{}), false
	o.do(func() {
		o.apart(func() {
			<-release
			o.do(func() { answered = true })
		})
	})
	closed := make(chan struct{})
	go func() {
		o.close()
		close(closed)
	}()
	for !o.isClosed() {
		runtime.Gosched()
	}
	close(release)
	<-closed
	o.do(func() { answered = true })
	require.False(t, answered, "nobody is there to take the answer")
}

// isClosed says whether work is dropped.
func (o *owner) isClosed() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.closed
}
