package owner_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/owner"
)

func TestAFewHaveTheirTurnAtATimeInTheOrderInWhichTheyAsked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const atOnce, all, patience = 2, 6, time.Second
		turns := owner.NewTurns(atOnce, patience)
		begun := make(chan int, all)
		var of []*owner.Turn
		for i := range all {
			of = append(of, turns.Ask(func() { begun <- i }))
		}
		come := func() (come []int) {
			synctest.Wait()
			for i, turn := range of {
				if turn.Come() {
					come = append(come, i)
				}
			}
			return come
		}
		require.Equal(t, []int{0, 1}, come(), "the first have it at once")
		require.Empty(t, begun, "and need not be called")

		of[3].End()
		of[1].End()
		of[1].End()
		require.Equal(t, []int{0, 1, 2}, come(), "who ends makes room for one, however often it says so")
		require.Equal(t, 2, <-begun)
		of[2].End()
		require.Equal(t, []int{0, 1, 2, 4}, come(), "who gave up waiting is passed over")
		require.Equal(t, 4, <-begun)

		time.Sleep(patience)
		require.Equal(t, []int{0, 1, 2, 4, 5}, come(), "one that takes too long holds up nobody")
		require.Equal(t, 5, <-begun)
		of[0].End()
		of[4].End()
		of[5].End()
		require.True(t, turns.Ask(nil).Come(), "all places are free again")
		require.True(t, turns.Ask(nil).Come())
		last := turns.Ask(func() {})
		require.False(t, last.Come(), "and no more than there were")
		last.End()
		time.Sleep(2 * patience)
	})
}

func TestNoTurnIsOneThatIsOver(t *testing.T) {
	t.Parallel()
	var none *owner.Turn
	require.True(t, none.Come())
	none.End()
}
