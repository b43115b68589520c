package config_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
)

func TestSecretsAreNeverPrinted(t *testing.T) {
	secrets := []string{
		"hunter2", "s3cr3t-token", "oauth-secret", "url-secret", "visible-key",
		"hidden-token", "param-secret", "proxy-secret", "query-secret", "connect-secret",
	}
	found := map[string]bool{}
	for _, path := range documents(t, "testdata/good/*.yml", 30) {
		f, err := config.Load(path)
		require.NoError(t, err)
		text := readFile(t, path)
		printed := f.String()
		for _, secret := range secrets {
			found[secret] = found[secret] || strings.Contains(text, secret)
			require.NotContains(t, printed, secret, path)
		}
	}
	for _, secret := range secrets {
		require.True(t, found[secret], "no document has %q", secret)
	}
}

func TestRedactionKeepsWhatIsNotSecret(t *testing.T) {
	f, err := config.Load("testdata/good/http_headers.yml")
	require.NoError(t, err)
	require.Contains(t, f.String(), "blue")
	require.Contains(t, f.String(), "<secret>")

	f, err = config.Load("testdata/good/proxy.yml")
	require.NoError(t, err)
	require.Contains(t, f.String(), "http://xxxxx@proxy.example:3128?xxxxx")
}

func TestUserinfoOfDiscoveryURLsIsNotPrinted(t *testing.T) {
	f, err := config.Parse("config.yml", []byte(`
pools:
  - pool_id: llama
    http_sd_configs: [ { url: "http://me:sd-secret@inventory.example/targets?token=sd-token" } ]
`))
	require.NoError(t, err)
	require.NotContains(t, f.String(), "sd-secret")
	require.NotContains(t, f.String(), "sd-token")
	require.Contains(t, f.String(), "inventory.example/targets")
}
