package discovery_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/discovery/targetgroup"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/trtllm-exporter/trtllm_exporter/collector/discovery"
	"github.com/trtllm-exporter/trtllm_exporter/collector/secret"
)

const everything = `
static_configs:
  - targets: ["10.0.0.1:8002", "10.0.0.2:8002"]
    labels: {rack: r1}
file_sd_configs:
  - files: ["targets/*.yml"]
    refresh_interval: 1m
http_sd_configs:
  - url: http://localhost:1/targets
    authorization: {credentials_file: token}
dns_sd_configs:
  - names: [_metrics._tcp.triton.llm.svc]
  - {names: [triton.llm.svc], type: A, port: 8002}
`

func TestPrometheusBlocksAreRead(t *testing.T) {
	c := config(t, everything)
	require.Equal(t, []*targetgroup.Group{{
		Targets: []model.LabelSet{{"__address__": "10.0.0.1:8002"}, {"__address__": "10.0.0.2:8002"}},
		Labels:  model.LabelSet{"rack": "r1"},
	}}, c.StaticConfigs)
	require.Equal(t, []string{"targets/*.yml"}, c.FileSDConfigs[0].Files)
	require.Equal(t, "http://localhost:1/targets", c.HTTPSDConfigs[0].URL)
	require.Equal(t, "1m", c.HTTPSDConfigs[0].RefreshInterval.String())
	require.Equal(t, "SRV", c.DNSSDConfigs[0].Type)
	require.Equal(t, 8002, c.DNSSDConfigs[1].Port)
	require.Equal(t, 5, c.Sources())
}

func TestConfigRoundTrip(t *testing.T) {
	c := config(t, everything)
	text, err := yaml.Marshal(c)
	require.NoError(t, err)
	again := config(t, string(text))
	require.Equal(t, c, again)
}

func TestRelativePathsStartAtConfigFile(t *testing.T) {
	c := config(t, everything)
	c.SetDirectory("/etc/exporter")
	require.Equal(t, []string{"/etc/exporter/targets/*.yml"}, c.FileSDConfigs[0].Files)
	require.Equal(t, "/etc/exporter/token", c.HTTPSDConfigs[0].HTTPClientConfig.Authorization.CredentialsFile)
}

func TestNoSourceIsEmpty(t *testing.T) {
	for text, want := range map[string]bool{
		"{}":                                     true,
		"static_configs: []":                     true,
		`static_configs: [{targets: ["h:1"]}]`:   false,
		"dns_sd_configs: [{names: [a]}]":         false,
		"http_sd_configs: [{url: http://h/}]":    false,
		`file_sd_configs: [{files: ["a.json"]}]`: false,
	} {
		c := config(t, text)
		require.Equal(t, want, c.Sources() == 0, text)
	}
}

func TestConfigsInvalidInPrometheusAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"consul_sd_configs: []":                                  "consul_sd_configs",
		"http_sd_configs: [{}]":                                  "URL is missing",
		"http_sd_configs: [{url: ftp://h/}]":                     "URL scheme must be",
		"http_sd_configs: [{url: http://h/, uri: x}]":            "uri",
		"file_sd_configs: [{}]":                                  "at least one path name",
		`file_sd_configs: [{files: ["targets.txt"]}]`:            "not valid for file discovery",
		"dns_sd_configs: [{}]":                                   "at least one SRV record name",
		"dns_sd_configs: [{names: [a], type: A}]":                "a port is required",
		"dns_sd_configs: [{names: [a], type: TXT, port: 1}]":     "invalid DNS-SD records type",
		`static_configs: [{target: ["h:1"]}]`:                    "target",
		"dns_sd_configs: [{names: [a], refresh_interval: soon}]": "soon",
	} {
		_, err := decode(text)
		require.ErrorContains(t, err, want, text)
	}
}

func TestValidateNamesTheKey(t *testing.T) {
	for text, want := range map[string]string{
		`static_configs: [{targets: ["h:1"]}, {targets: [""]}]`: "static_configs[1].targets[0]: is empty; ",
		`file_sd_configs: [{files: ["a.yml"], refresh_interval: 0s}]`: "file_sd_configs[0].refresh_interval: must " +
			"be longer than 0; ",
		"http_sd_configs: [{url: http://h/, refresh_interval: 0s}]": "http_sd_configs[0].refresh_interval: must " +
			"be longer than 0; ",
		"dns_sd_configs: [{names: [a], type: A, port: 65536}]": "dns_sd_configs[0].port: 65536 is not a port; ",
		"dns_sd_configs: [{names: [a], type: A, port: -1}]":    "dns_sd_configs[0].port: -1 is not a port; ",
		"dns_sd_configs: [{names: [a], refresh_interval: 0s}]": "dns_sd_configs[0].refresh_interval: must " +
			"be longer than 0; ",
	} {
		c, err := decode(text)
		if err == nil {
			err = c.Validate()
		}
		require.ErrorContains(t, err, want, text)
	}
	c := discovery.Config{StaticConfigs: []*targetgroup.Group{{Labels: model.LabelSet{"": "a"}}}}
	require.ErrorContains(t, c.Validate(), `static_configs[0].labels: "" is not a label name; `)
	c = discovery.Config{StaticConfigs: []*targetgroup.Group{{Labels: model.LabelSet{"a": "\xff"}}}}
	require.ErrorContains(t, c.Validate(), `static_configs[0].labels.a: "\xff" is not valid UTF-8`)
}

func TestInvalidBlockIsRefused(t *testing.T) {
	ca := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(ca, []byte("no certificate"), 0o600))
	c := config(t, "http_sd_configs: [{url: http://h/}, {url: https://h/, tls_config: {ca_file: "+ca+"}}]")
	_, err := discovery.New(c, new(secret.Store), promslog.NewNopLogger())
	require.ErrorContains(t, err, "http_sd_configs[1]: ")
}
