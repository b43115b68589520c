package owner

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWorkIsDoneOnePieceAfterTheOther(t *testing.T) {
	var o Owner
	var all sync.WaitGroup
	// Without a lock: the race detector sees two pieces at once.
	done := 0
	for range 8 {
		all.Go(func() {
			for range 200 {
				o.Do(func() { done++ })
			}
		})
	}
	all.Wait()
	o.Close()
	require.Equal(t, 1600, done)
}

func TestWorkThatBringsWorkDoesNotWaitForIt(t *testing.T) {
	var o Owner
	var order []string
	o.Do(func() {
		o.Do(func() { order = append(order, "second") })
		order = append(order, "first")
	})
	require.Equal(t, []string{"first", "second"}, order)
}

func TestWorkIsDoneNowOrNotAtAll(t *testing.T) {
	var o Owner
	did := ""
	require.True(t, o.Now(func() {
		require.False(t, o.Now(func() { did += "nested" }))
		o.Do(func() { did += " later" })
		did += "now"
	}))
	require.Equal(t, "now later", did)
	o.Close()
	require.True(t, o.Now(func() { did += " after the end" }), "nobody has to do it")
	require.Equal(t, "now later", did)
}

func TestAClosedOwnerDropsWorkAndHasNoJobs(t *testing.T) {
	var o Owner
	release, answered := make(chan struct{}), false
	o.Do(func() {
		o.jobs.Go(func() {
			<-release
			o.Do(func() { answered = true })
		})
	})
	closed := make(chan struct{})
	go func() {
		o.Close()
		close(closed)
	}()
	for !o.isClosed() {
		runtime.Gosched()
	}
	close(release)
	<-closed
	o.Do(func() { answered = true })
	require.False(t, answered, "nobody is there to take the answer")
}

// isClosed says whether work is dropped.
func (o *Owner) isClosed() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.closed
}

func TestAPanicEndsOnePieceOfWorkOnly(t *testing.T) {
	var failures []string
	o := &Owner{
		Guard: func(step string, do func()) (err error) {
			defer func() { failures = append(failures, fmt.Sprint(step, ": ", recover())) }()
			do()
			return nil
		},
		Proceed: func(context.Context) { panic("proceeding") },
	}
	done := 0
	require.True(t, o.Now(func() {
		o.Do(func() { panic("queued") })
		o.Do(func() { done++ })
		panic("now")
	}))
	o.Do(func() { panic("done") })
	o.Hand(t.Context())(func() { done++ })
	require.Equal(t, 2, done)
	require.Equal(t, []string{"work: now", "work: queued", "work: done", "answer: <nil>", "work: proceeding"}, failures)
	o.Close()
}
