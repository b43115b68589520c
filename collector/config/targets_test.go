package config_test

import (
	"testing"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
)

func TestCommandLineTargets(t *testing.T) {
	for _, tc := range []struct {
		name, url string
		want      model.LabelSet
	}{
		{
			"port given", "http://triton:9000",
			model.LabelSet{"__address__": "triton:9000", "replica_id": "triton:9000", "__scheme__": "http"},
		},
		{
			"without port", "http://triton",
			model.LabelSet{"__address__": "triton:8002", "replica_id": "triton:8002", "__scheme__": "http"},
		},
		{
			"trailing slash", "https://triton:443/",
			model.LabelSet{"__address__": "triton:443", "replica_id": "triton:443", "__scheme__": "https"},
		},
		{
			"path", "http://triton:8000/prometheus/metrics",
			model.LabelSet{
				"__address__":      "triton:8000",
				"replica_id":       "triton:8000",
				"__scheme__":       "http",
				"__metrics_path__": "/prometheus/metrics",
			},
		},
		{
			"IPv6", "http://[::1]",
			model.LabelSet{"__address__": "[::1]:8002", "replica_id": "[::1]:8002", "__scheme__": "http"},
		},
		{
			"IPv6 with a zone", "http://[fe80::1%25eth0]:8002",
			model.LabelSet{
				"__address__": "[fe80::1%eth0]:8002", "replica_id": "[fe80::1%eth0]:8002", "__scheme__": "http",
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f, err := config.FromTargets([]string{tc.url}, config.DefaultPool)
			require.NoError(t, err)
			pool := f.Pools[0]
			require.Equal(t, "default", pool.PoolID)
			require.Equal(t, "auto", pool.Engine)
			group := pool.Discovery.StaticConfigs[0]
			require.Equal(t, tc.want, group.Targets[0].Merge(group.Labels))

			again, err := config.Parse("config.yml", []byte(f.String()))
			require.NoError(t, err)
			require.Equal(t, f.String(), again.String())
		})
	}
}

func TestBadCommandLineTargets(t *testing.T) {
	for _, tc := range []struct{ name, url, want string }{
		{"no scheme", "10.0.0.1:8002", `--target "10.0.0.1:8002": is not a URL; write it like http://localhost:8002`},
		{
			"host name without scheme", "triton:8002",
			`--target "triton:8002": does not begin with http:// or https://; write it like http://localhost:8002`,
		},
		{
			"other scheme", "ftp://triton",
			`--target "ftp://triton": does not begin with http:// or https://; write it like http://localhost:8002`,
		},
		{"no host", "http://:8002", `--target "http://:8002": has no host; write it like http://localhost:8002`},
		{
			"password", "http://me:hunter2@triton",
			`--target "http://xxxxx@triton": has a user name or password, which the process list would show; use basic_auth with password_file in a configuration file`,
		},
		{
			"broken with password", "http://me:hunter2@tri ton",
			`--target "http://xxxxx@tri ton": is not a URL; write it like http://localhost:8002`,
		},
		{
			"query", "http://triton/metrics?token=hunter2",
			`--target "http://triton/metrics?xxxxx": has a query or fragment; leave out everything from ? or # on`,
		},
		{
			"two addresses", "http://triton:8002,other:8002",
			`--target "http://triton:8002,other:8002": names several servers; give the flag once for each`,
		},
		{
			"two URLs", "http://triton:8002/metrics,http://other",
			`--target "http://triton:8002/metrics,http://other": names several servers; give the flag once for each`,
		},
		{"port 0", "http://triton:0", `--target "http://triton:0": port 0 is out of range; use 1 to 65535`},
		{"port", "http://triton:99999", `--target "http://triton:99999": port 99999 is out of range; use 1 to 65535`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := config.FromTargets([]string{tc.url}, config.DefaultPool)
			require.EqualError(t, err, tc.want)
		})
	}
}

func TestCommandLineTargetsShareOnePool(t *testing.T) {
	pool := config.DefaultPool
	pool.PoolID = "mine"
	f, err := config.FromTargets([]string{"http://a", "http://b:65535"}, pool)
	require.NoError(t, err)
	require.Len(t, f.Pools, 1)
	require.Equal(t, "mine", f.Pools[0].PoolID)
	require.Len(t, f.Pools[0].Discovery.StaticConfigs, 2)
	require.Empty(t, config.DefaultPool.Discovery.StaticConfigs, "the default stays as it is")
	_, err = config.FromTargets([]string{"http://a", "https://a:8002/x"}, pool)
	require.EqualError(t, err, `--target "https://a:8002/x": a:8002 is given twice; give each replica once`)
	_, err = config.FromTargets(nil, pool)
	require.ErrorContains(t, err, "--config.file")
	pool.Scheme = "ftp"
	_, err = config.FromTargets([]string{"http://a:1"}, pool)
	require.EqualError(t, err, `--target: pools[0].scheme: "ftp" is unknown; use http or https`)
}
