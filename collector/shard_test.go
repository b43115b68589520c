package collector

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// ownerOf returns the shard that keeps a key.
func ownerOf(t *testing.T, key string, total int) int {
	t.Helper()
	owner := -1
	for i := range total {
		if (shard{Total: total, Index: i}).keeps(key) {
			require.Equal(t, -1, owner, "%s has two of %d", key, total)
			owner = i
		}
	}
	require.NotEqual(t, -1, owner, "%s has none of %d", key, total)
	return owner
}

func TestAMoreOfShardsMovesTargetsToTheNewOneOnlyAndEvenly(t *testing.T) {
	t.Parallel()
	const keys = 4000
	for total := 1; total <= 16; total++ {
		load := make([]int, total+1)
		for i := range keys {
			key := fmt.Sprintf("pool-%d/triton-%d", i%7, i)
			before, after := ownerOf(t, key, total), ownerOf(t, key, total+1)
			if before != after {
				require.Equal(t, total, after, key)
			}
			load[after]++
		}
		for i, n := range load {
			require.InDelta(t, float64(keys)/float64(total+1), float64(n), 0.25*keys/float64(total+1), "shard %d of %d", i, total+1)
		}
	}
}
