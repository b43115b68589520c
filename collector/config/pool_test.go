package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/discovery/targetgroup"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/regular"
)

// TestPoolBounds has the last valid value and the first invalid one on each line.
func TestPoolBounds(t *testing.T) {
	for _, tc := range []struct{ good, bad, want string }{
		{
			"api_port: 1", "api_port: -1",
			`pools[0].api_port: -1 is not a port; use 1 to 65535, or leave it out to use the default of the engine`,
		},
		{
			"api_port: 65535", "api_port: 65536",
			`pools[0].api_port: 65536 is not a port; use 1 to 65535, or leave it out to use the default of the engine`,
		},
		{
			"scrape_interval: 1ms", "scrape_timeout: 6s",
			`pools[0].scrape_timeout: 6s is longer than scrape_interval 5s; lower the timeout or raise the interval`,
		},
		{
			"scrape_timeout: 5s", "{ scrape_interval: 1s, scrape_timeout: 1001ms }",
			`pools[0].scrape_timeout: 1s1ms is longer than scrape_interval 1s; lower the timeout or raise the interval`,
		},
		{"start_budget: 1ms", "start_budget: 0s", `pools[0].start_budget: must be longer than 0; the default is 20m`},
		{
			"expect: { replicas: 0 }", "expect: { replicas: -1 }",
			`pools[0].expect.replicas: "-1" is not a number of replicas; write a number like 8, or a range like 2-8`,
		},
		{
			"expect: { replicas: 3-3 }", "expect: { replicas: 3-2 }",
			`pools[0].expect.replicas: "3-2" is not a number of replicas; write a number like 8, or a range like 2-8`,
		},
		{
			"model_ids: { a: [ a ] }", `model_ids: { "a\tb": [ b ] }`,
			`pools[0].model_ids: "a\tb" has control characters or is not UTF-8; use plain text`,
		},
		{
			"{ api_protocol: http, proxy_url: 'http://p:1' }",
			"{ api_protocol: grpc, proxy_from_environment: true }",
			`pools[0].api_protocol: gRPC does not go through a proxy; remove the proxy keys or use http`,
		},
		{
			"{ canary: { enabled: true, cancel_within: 10s }, api_protocol: grpc }",
			"{ canary: { enabled: true, cancel_within: 9s } }",
			`pools[0].canary.cancel_within: 9s is shorter than two scrape intervals of 5s, so no page may arrive in time; raise it or lower scrape_interval`,
		},
		{
			"limits: { samples: 0, labels: 0, label_name: 0, label_value: 0, name: 0, help: 0, output_series: 0, " +
				"output_models: 0 }",
			"limits: { output_models: -1 }",
			`pools[0].limits.output_models: -1 is below 0; give a limit, or 0 for none`,
		},
	} {
		require.NoError(t, parsePool(tc.good), tc.good)
		require.EqualError(t, parsePool(tc.bad), "c.yml: line 5: "+tc.want, tc.bad)
	}
}

// parsePool parses a pool with further keys, on line 5.
func parsePool(keys string) error {
	if keys[0] != '{' {
		keys = "{ " + keys + " }"
	}
	_, err := config.Parse("c.yml", []byte("pools:\n- pool_id: a\n  static_configs: [ { targets: ['a:1'] } "+
		"]\n  <<:\n   "+keys+"\n"))
	return err
}

func TestOtherBounds(t *testing.T) {
	const pools = "\npools: [ { pool_id: a, static_configs: [ { targets: ['a:1'] } ] } ]\n"
	for _, tc := range []struct{ good, bad, want string }{
		{
			"global: { scrape_interval: 1ms }", "global: { scrape_interval: 0s }",
			`global.scrape_interval: must be longer than 0; the default is 5s`,
		},
		{
			"global: { scrape_timeout: 5s }", "global: { scrape_timeout: 5001ms }",
			`global.scrape_timeout: 5s1ms is longer than global.scrape_interval 5s; lower the timeout or raise the interval`,
		},
		{
			"global: { stall_after: 1ms }", "global: { stall_after: 0s }",
			`global.stall_after: must be longer than 0; the default is 30s`,
		},
		{
			"global: { window: 10s }", "global: { window: 9999ms }",
			`global.window: 9s999ms is shorter than two scrape intervals of pools[0] (5s); set window to 10s or more`,
		},
		{
			"sharding: { total: 2, index: 1 }", "sharding: { total: 2, index: 2 }",
			`sharding.index: 2 is out of range; it must be at least 0 and below sharding.total, which is 2`,
		},
	} {
		_, err := config.Parse("c.yml", []byte(tc.good+pools))
		require.NoError(t, err, tc.good)
		_, err = config.Parse("c.yml", []byte(tc.bad+pools))
		require.ErrorContains(t, err, "c.yml: line 1: "+tc.want, tc.bad)
	}
}

func TestWindowIsCheckedAgainstSlowestPool(t *testing.T) {
	for _, tc := range []struct{ first, second, third, want string }{
		{"20s", "40s", "40s", "pools[1] (40s); set window to 1m20s or more"},
		{"40s", "40s", "5s", "pools[0] (40s); set window to 1m20s or more"},
		{"20s", "30s", "40s", "pools[2] (40s); set window to 1m20s or more"},
		{"20s", "30s", "30s", ""},
	} {
		f := onePool()
		f.Pools = append(f.Pools, f.Pools[0], f.Pools[0])
		for i, interval := range []string{tc.first, tc.second, tc.third} {
			f.Pools[i].PoolID = string(rune('a' + i))
			d, err := model.ParseDuration(interval)
			require.NoError(t, err)
			f.Pools[i].ScrapeInterval = d
		}
		f.Resolve()
		err := f.Validate()
		if tc.want == "" {
			require.NoError(t, err)
			continue
		}
		require.EqualError(t, err, "global.window: 1m is shorter than two scrape intervals of "+tc.want)
	}
}

// TestLocalLabelsAreNotShared uses two targets of a file with one replica name.
func TestLocalLabelsAreNotShared(t *testing.T) {
	type labels = model.LabelSet
	for _, tc := range []struct {
		name          string
		first, second labels
		addresses     [2]string
		want          string
	}{
		{"same address", nil, nil, [2]string{"a:1", "a:1"}, `pool_id "llama" and replica_id "a:1"`},
		{"other address", nil, nil, [2]string{"a:1", "a:2"}, ""},
		{
			"same name",
			labels{"replica_id": "r"},
			labels{"replica_id": "r"},
			[2]string{"a:1", "a:2"},
			`pool_id "llama" and replica_id "r"`,
		},
		{
			"name equal to an address",
			labels{"replica_id": "a:2"},
			nil,
			[2]string{"a:1", "a:2"},
			`pool_id "llama" and replica_id "a:2"`,
		},
		{
			"same name in another pool",
			labels{"replica_id": "r"},
			labels{"replica_id": "r", "pool_id": "b"},
			[2]string{"a:1", "a:2"},
			"",
		},
		{
			"same name in the same other pool",
			labels{"replica_id": "r", "pool_id": "b"},
			labels{"replica_id": "r", "pool_id": "b"},
			[2]string{"a:1", "a:2"},
			`pool_id "b" and replica_id "r"`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := onePool()
			f.Pools[0].Discovery.StaticConfigs = []*targetgroup.Group{
				{Targets: []model.LabelSet{{model.AddressLabel: model.LabelValue(tc.addresses[0])}}, Labels: tc.first},
				{Targets: []model.LabelSet{{model.AddressLabel: model.LabelValue(tc.addresses[1])}}, Labels: tc.second},
			}
			f.Resolve()
			err := f.Validate()
			if tc.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(
				t,
				err,
				"pools[0].static_configs[1].targets[0]: "+tc.want+" are already used by "+
					"pools[0].static_configs[0].targets[0]; give each target its own replica_id",
			)
		})
	}
}

// TestKeyFilesAreReadAtLoad names files in every possible way.
func TestKeyFilesAreReadAtLoad(t *testing.T) {
	dir := t.TempDir()
	for _, key := range []struct{ path, written string }{
		{"basic_auth.password_file", "basic_auth: { username: me, password_file: %s }"},
		{"http_headers.X-A.files[0]", "http_headers: { X-A: { files: [ %s ] } }"},
		{"tls_config.ca_file", "tls_config: { ca_file: %s }"},
	} {
		text := func(file string) string { return strings.Replace(key.written, "%s", file, 1) }
		require.ErrorContains(t, parsePool(text("/dev/zero")), "pools[0]."+key.path+": /dev/zero: "+regular.ErrNoEnd.Error())
		require.ErrorContains(t, parsePool(text(dir)), "pools[0]."+key.path+": "+dir+" is a folder; name a file")
		require.ErrorContains(
			t,
			parsePool(text(dir+"/none")),
			"pools[0]."+key.path+": "+dir+"/none: no such file or directory; correct the name or create the file",
		)
	}
	require.NoError(t, parsePool("model_ids: { files: [ "+dir+"/none ] }"), "files are keys of some blocks only")
}

// Further checks build clients, which read certificates to their end.
func TestFilesWithoutEndAreNotChecked(t *testing.T) {
	text := "pools: [ { pool_id: a, tls_config: { ca_file: /dev/zero }, static_configs: [ { targets: ['a:1'] } ] } ]"
	_, err := config.Parse("c.yml", []byte(text), func(*config.Pool) error {
		return errors.New("engine: was checked further")
	})
	require.ErrorContains(t, err, "name a file")
	require.NotContains(t, err.Error(), "was checked further")
}

func TestChosenNamesAreNoFileNames(t *testing.T) {
	oauth2 := "oauth2: { client_id: me, client_secret: x, token_url: 'http://a/b', "
	for _, written := range []string{
		"model_ids: { weights_file: [ llama.gguf ] }",
		oauth2 + "endpoint_params: { grant_file: none } }",
		oauth2 + "proxy_url: 'http://a:1', proxy_connect_header: { x_file: [ none ] } }",
	} {
		require.NoError(t, parsePool(written), written)
	}
	_, err := config.Parse("config.yml", []byte("pools: [ { pool_id: a, static_configs: [ { targets: ['a:1'], "+
		"labels: { model_file: llama.gguf } } ] } ]"))
	require.NoError(t, err, "a label")
}

func TestEngineDirIsRelativeToDocument(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "c.yml")
	for written, want := range map[string]string{
		"engines/1":  filepath.Join(dir, "engines/1"),
		"/engines/1": "/engines/1",
	} {
		require.NoError(
			t,
			os.WriteFile(
				path,
				[]byte("pools: [ { pool_id: a, engine_dir: "+written+", static_configs: [ { targets: ['a:1'] } ] } ]"),
				0o600,
			),
		)
		f, err := config.Load(path)
		require.NoError(t, err)
		require.Equal(t, want, f.Pools[0].EngineDir)
	}
}

func TestBlocksKeepDefaults(t *testing.T) {
	f, pool := config.DefaultFile, config.DefaultPool
	require.NoError(t, yaml.Unmarshal([]byte("identity: {}\nglobal: {}\nsharding: {}\nexposition: {}\npools: [ { "+
		"dial: {}, limits: { labels: 3 } } ]"), &f))
	pool.Limits.Series.Labels = 3
	want := config.DefaultFile
	want.Pools = []config.Pool{pool}
	require.Equal(t, want, f)
}

func TestIndistinguishableTargetsAreListedOnce(t *testing.T) {
	require.Equal(t, []string{"line 3: pools[0].static_configs[0].targets[1]: a:1 has the labels of " +
		"pools[0].static_configs[0].targets[0], and no rule can tell them apart; list it once"},
		mistakesOf(t, "pools:\n- pool_id: a\n  static_configs: [ { targets: ['a:1', 'a:1'] } ]\n  relabel_configs: "+
			"[ { target_label: x, replacement: y } ]\n"))
}

// onePool returns a valid configuration for tests to modify.
func onePool() *config.File {
	cfg := config.DefaultFile
	pool := config.DefaultPool
	pool.PoolID = "llama"
	pool.Discovery.StaticConfigs = []*targetgroup.Group{
		{Targets: []model.LabelSet{{model.AddressLabel: "10.0.0.1:8002"}}},
	}
	cfg.Pools = []config.Pool{pool}
	return &cfg
}

func TestExpectedReplicas(t *testing.T) {
	for written, want := range map[string][2]int{"0": {0, 0}, "8": {8, 8}, "2-8": {2, 8}, "0 - 3": {0, 3}} {
		f, err := config.Parse(
			"c.yml",
			[]byte(
				"pools: [ { pool_id: a, expect: { replicas: "+written+" }, static_configs: [ { targets: ['a:1'] } ] } ]",
			),
		)
		require.NoError(t, err)
		r := f.Pools[0].Expect.Replicas
		require.Equal(t, want, [2]int{r.Min, r.Max})
	}
}

func TestShardFromNumberOrPodName(t *testing.T) {
	for name, want := range map[string]int{"0": 0, "2": 2, "trtllm-exporter-1": 1, "a-b-c-2": 2} {
		c := config.Sharding{Total: 3}
		require.NoError(t, c.Place(name), name)
		require.Equal(t, want, *c.Index, name)
	}
}

func TestShardOutOfRangeIsRefused(t *testing.T) {
	for name, message := range map[string]string{
		"":                 "sharding.index: is not set",
		"3":                "below sharding.total, which is 3",
		"exporter-3":       "below sharding.total, which is 3",
		"exporter":         "is not a number",
		"exporter-x7f9q":   "is not a number",
		"99999999999999":   "is not a number",
		"exporter-2.local": "is not a number",
	} {
		c := config.Sharding{Total: 3}
		require.ErrorContains(t, c.Place(name), message, name)
	}
}

func TestSingleShardNeedsNoIndex(t *testing.T) {
	c := config.Sharding{Total: 1}
	require.NoError(t, c.Place(""))
	require.Nil(t, c.Index)

	index := 1
	c = config.Sharding{Total: 2, Index: &index}
	require.NoError(t, c.Place(""), "the file has said it")
	require.Equal(t, 1, *c.Index)
}
