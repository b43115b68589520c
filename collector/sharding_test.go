package collector_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/discovery/targetgroup"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
)

// sharded is the configuration of one of several exporters of a fleet that is
// never scraped, for which exporter has which target is all that is asked.
func sharded(total, index, replicas int) *config.File {
	p := config.DefaultPool
	p.PoolID, p.Silent = "fleet", true
	group := &targetgroup.Group{Source: "all"}
	for i := range replicas {
		group.Targets = append(group.Targets, model.LabelSet{
			model.AddressLabel: model.LabelValue(fmt.Sprintf("10.0.%d.%d:8002", i/250, i%250)),
			"replica_id":       model.LabelValue(fmt.Sprintf("triton-%d", i)),
		})
	}
	p.Discovery.StaticConfigs = []*targetgroup.Group{group}
	cfg := config.DefaultFile
	cfg.Pools = []config.Pool{p}
	cfg.Sharding = config.Sharding{Total: total, Index: &index}
	cfg.Resolve()
	return &cfg
}

// settles waits until an exporter has the targets wanted of it.
func (l *line) settles(want []string) {
	l.t.Helper()
	require.Eventually(l.t, func() bool { return slices.Equal(want, l.keys()) }, patience, time.Millisecond)
}

// keys lists the targets that an exporter has.
func (l *line) keys() []string {
	var keys []string
	for _, slot := range l.store.Slots() {
		keys = append(keys, slot.Target().Key())
	}
	return keys
}

// owned asks a fresh exporter what a shard has.
func owned(t *testing.T, total, index, replicas int) []string {
	t.Helper()
	l := startLine(t)
	require.NoError(t, l.ApplyConfig(sharded(total, index, replicas)))
	require.Eventually(t, l.Ready, patience, time.Millisecond)
	return l.keys()
}

func TestShardsCoverEachTargetExactlyOnceAlsoWhileTheirNumberChanges(t *testing.T) {
	t.Parallel()
	const replicas = 60
	want := owned(t, 1, 0, replicas)
	require.Len(t, want, replicas)

	shards := make([]*line, 4)
	has := make([][]string, 4)
	for i := range shards {
		shards[i] = startLine(t)
	}
	// move takes one exporter to another total; every target is somewhere
	// before, between and after.
	move := func(index, total int) {
		t.Helper()
		has[index] = owned(t, total, index, replicas)
		require.NoError(t, shards[index].ApplyConfig(sharded(total, index, replicas)))
		shards[index].settles(has[index])
	}
	exactlyOnce := func(total int) {
		t.Helper()
		var all []string
		for i := range total {
			all = append(all, shards[i].keys()...)
		}
		slices.Sort(all)
		require.Equal(t, want, all)
	}
	for i := range 3 {
		move(i, 3)
	}
	exactlyOnce(3)

	// A fourth begins before the others let go of what it takes.
	move(3, 4)
	for i := range 3 {
		require.Subset(t, append(slices.Clone(has[3]), slices.Concat(has[0], has[1], has[2])...), want)
		move(i, 4)
	}
	exactlyOnce(4)

	// Those that stay take over before the fourth goes.
	for i := range 3 {
		move(i, 3)
		require.Subset(t, slices.Concat(has...), want)
	}
	exactlyOnce(3)
}

func TestAnExporterWithoutAnIndexIsRefused(t *testing.T) {
	t.Parallel()
	l := startLine(t)
	cfg := sharded(3, 0, 1)
	cfg.Sharding.Index = nil
	require.ErrorContains(t, l.ApplyConfig(cfg), "give --sharding.index")
}
