package config_test

import (
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/discovery/targetgroup"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
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

func TestHowManyReplicasAPoolShouldHave(t *testing.T) {
	for written, want := range map[string][2]int{"0": {0, 0}, "8": {8, 8}, "2-8": {2, 8}, "0 - 3": {0, 3}} {
		f, err := config.Parse("c.yml", []byte("pools: [ { pool_id: a, expect: { replicas: "+written+" }, static_configs: [ { targets: ['a:1'] } ] } ]"))
		require.NoError(t, err)
		r := f.Pools[0].Expect.Replicas
		require.Equal(t, want, [2]int{r.Min, r.Max})
	}
}
