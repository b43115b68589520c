package collector

import (
	"fmt"
	"log/slog"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/discovery/targetgroup"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
)

// ownerOf returns the shard that keeps a key.
func ownerOf(t *testing.T, key string, total int) int {
	t.Helper()
	owner := -1
	for i := range total {
		if keeps(config.Sharding{Total: total, Index: &i}, key) {
			require.Equal(t, -1, owner, "%s has two of %d", key, total)
			owner = i
		}
	}
	require.NotEqual(t, -1, owner, "%s has none of %d", key, total)
	return owner
}

func TestAddedShardTakesTargetsEvenly(t *testing.T) {
	t.Parallel()
	const keys = 4000
	var owners [keys]int // A single shard owns all.
	for total := 1; total <= 16; total++ {
		load := make([]int, total+1)
		for i := range keys {
			key := fmt.Sprintf("pool-%d/triton-%d", i%7, i)
			if after := ownerOf(t, key, total+1); after != owners[i] {
				require.Equal(t, total, after, key)
				owners[i] = after
			}
			load[owners[i]]++
		}
		for i, n := range load {
			require.InDelta(
				t, float64(keys)/float64(total+1), float64(n), 0.25*keys/float64(total+1), "shard %d of %d", i, total+1,
			)
		}
	}
}

func TestShardsShareNoTargets(t *testing.T) {
	t.Parallel()
	p := config.DefaultPool
	p.PoolID = "fleet"
	group := &targetgroup.Group{Source: "all"}
	for i := range 60 {
		group.Targets = append(
			group.Targets, model.LabelSet{model.AddressLabel: model.LabelValue(fmt.Sprintf("10.0.0.%d:8002", i))},
		)
	}
	owners := make(map[string]int)
	for i := range 3 {
		found, search := targetsOf(
			&p, config.Sharding{Total: 3, Index: &i}, []*targetgroup.Group{group}, slog.New(slog.DiscardHandler),
		)
		require.Equal(t, len(group.Targets)-len(found), search.Elsewhere)
		for _, target := range found {
			owners[target.Key()]++
		}
	}
	require.Len(t, owners, len(group.Targets))
	for key, n := range owners {
		require.Equal(t, 1, n, key)
	}
}
