package config_test

import (
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/discovery/targetgroup"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
)

// onePool is a good configuration for tests to spoil.
func onePool() *config.File {
	cfg := config.DefaultFile
	pool := config.DefaultPool
	pool.PoolID = "llama"
	pool.Discovery.StaticConfigs = []*targetgroup.Group{{Targets: []model.LabelSet{{model.AddressLabel: "10.0.0.1:8002"}}}}
	cfg.Pools = []config.Pool{pool}
	return &cfg
}

func TestResolvedDefaultsAreValid(t *testing.T) {
	cfg := onePool()
	cfg.Resolve()
	require.NoError(t, cfg.Validate())
	require.Equal(t, cfg.Global.ScrapeInterval, cfg.Pools[0].ScrapeInterval)
	require.Equal(t, cfg.Global.ScrapeTimeout, cfg.Pools[0].ScrapeTimeout)
}

func TestResolveKeepsWhatAPoolSets(t *testing.T) {
	cfg := onePool()
	cfg.Pools[0].ScrapeInterval = model.Duration(20 * time.Second)
	cfg.Pools[0].ScrapeTimeout = model.Duration(time.Second)
	cfg.Resolve()
	require.Equal(t, model.Duration(20*time.Second), cfg.Pools[0].ScrapeInterval)
	require.Equal(t, model.Duration(time.Second), cfg.Pools[0].ScrapeTimeout)
}

func TestLimitsOfThePageReachTheScrape(t *testing.T) {
	cfg := onePool()
	cfg.Pools[0].Limits.Page = scrape.Limits{Body: 1 << 20, CompressedBody: 1 << 18, Headers: 1 << 12}
	cfg.Resolve()
	require.Equal(t, cfg.Pools[0].Limits.Page, cfg.Pools[0].HTTP.Limits)
}

func TestEveryKindOfServerCanBeConfigured(t *testing.T) {
	require.Contains(t, config.Engines(), config.EngineAuto)
	for _, e := range engine.All() {
		require.Contains(t, config.Engines(), string(e.Kind()))
	}
}

func TestLimitsOfTheOutputReachTheRooms(t *testing.T) {
	o := config.Output{Series: 1, Bytes: 2, Models: 3}
	require.Equal(t, derive.Budget{Budget: exposition.Budget{Series: 1, Bytes: 2}, Models: 3}, o.Budget())
}

func TestHowManyReplicasAPoolShouldHave(t *testing.T) {
	for written, want := range map[string][2]int{"0": {0, 0}, "8": {8, 8}, "2-8": {2, 8}, "0 - 3": {0, 3}} {
		f, err := config.Parse("c.yml", []byte("pools: [ { pool_id: a, expect: { replicas: "+written+" }, static_configs: [ { targets: ['a:1'] } ] } ]"))
		require.NoError(t, err)
		least, most := f.Pools[0].Expect.Replicas.Bounds()
		require.Equal(t, want, [2]int{least, most})
	}
}
