package owner

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// guarded is an owner whose steps may panic, and how many did.
func guarded() (o *Owner, panics, proceeded *int) {
	o, panics, proceeded = new(Owner), new(int), new(int)
	o.Guard = func(_ string, do func()) (failed error) {
		defer func() {
			if p := recover(); p != nil {
				*panics++
				failed = fmt.Errorf("panic: %v", p)
			}
		}()
		do()
		return nil
	}
	o.Proceed = func(context.Context) { *proceeded++ }
	return o, panics, proceeded
}

func TestAnAnswerIsHandedToTheOwner(t *testing.T) {
	t.Parallel()
	o, _, proceeded := guarded()
	ctx, cancel := context.WithCancel(t.Context())
	taken := 0
	take := func() { taken++ }
	o.Hand(ctx)(take)
	require.Equal(t, 1, taken)
	before := o.Hand(ctx)
	o.Epoch++
	before(take)
	require.Equal(t, 1, taken, "to a question of an earlier epoch")
	last := o.Hand(ctx)
	cancel()
	last(take)
	require.Equal(t, 1, taken, "when all has ended")
	require.Equal(t, 1, *proceeded, "what was dropped makes nothing possible")
}

func TestAJobOfAnEarlierEpochComesToNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, _, proceeded := guarded()
		var j Job
		taken := 0
		begin := func() {
			Begin(t.Context(), o, &j, "work", func(context.Context) int { time.Sleep(time.Minute); return 7 }, func(n int, _ error) { taken += n })
		}
		o.Do(begin)
		time.Sleep(time.Second)
		o.Do(func() { o.Epoch, j = o.Epoch+1, Job{} })
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Zero(t, taken)
		require.Zero(t, *proceeded)
		o.Do(begin)
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Equal(t, 7, taken)
		require.Equal(t, 1, *proceeded)
		require.False(t, j.Running)
		require.Equal(t, j.Began, j.Answered)
	})
}

func TestAJobThatPanicsIsBackAndHasFailed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, panics, _ := guarded()
		var j Job
		var came error
		o.Do(func() {
			Begin(t.Context(), o, &j, "work", func(context.Context) int { panic("a bug") }, func(_ int, failed error) { came = failed })
			require.True(t, j.Running)
		})
		synctest.Wait()
		require.False(t, j.Running)
		require.ErrorContains(t, came, "a bug")
		o.Do(func() {
			Begin(t.Context(), o, &j, "work", func(context.Context) error { return nil }, func(error, error) { panic(errors.New("another")) })
		})
		synctest.Wait()
		require.False(t, j.Running, "what takes the answer may panic too")
		require.Equal(t, 2, *panics)
	})
}

func TestWhetherAQuestionIsPutAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		long := time.Now()
		time.Sleep(time.Minute)
		since := time.Now()
		time.Sleep(time.Minute)
		for _, c := range []struct {
			says        string
			j           Job
			asks, again bool
		}{
			{"it never was", Job{}, true, false},
			{"its answer is of before", Job{Began: long, Answered: long}, true, false},
			{"its answer is of since then", Job{Began: since, Answered: since}, false, false},
			{"it runs since then", Job{Running: true, Began: since}, false, false},
			{"it runs since before", Job{Running: true, Began: long}, false, true},
			{"it runs since before, and there is an answer", Job{Running: true, Began: time.Now(), Answered: since}, false, false},
		} {
			asked := false
			c.j.Want(t.Context(), since, func(context.Context) { asked = true })
			require.Equal(t, c.asks, asked, c.says)
			require.Equal(t, c.again, c.j.Again, c.says)
		}
	})
}
