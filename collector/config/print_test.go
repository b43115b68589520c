package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
)

func TestSecretsAreNeverPrinted(t *testing.T) {
	secrets := []string{
		"hunter2", "s3cr3t-token", "oauth-secret", "url-secret", "visible-key",
		"hidden-token", "param-secret", "proxy-secret", "query-secret", "connect-secret",
	}
	found := map[string]bool{}
	for _, d := range valid() {
		f, err := config.Parse("testdata/config.yml", []byte(d.text))
		require.NoError(t, err, d.name)
		printed := f.String()
		for _, secret := range secrets {
			found[secret] = found[secret] || strings.Contains(d.text, secret)
			require.NotContains(t, printed, secret, d.name)
		}
	}
	for _, secret := range secrets {
		require.True(t, found[secret], "no document has %q", secret)
	}
}

// TestPrintedDocument has every key that may hold a secret, with its printed value.
func TestPrintedDocument(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "secret")
	require.NoError(t, os.WriteFile(file, []byte("x"), 0o600))
	const client = "oauth2: { client_id: me, client_secret: hush, token_url: 'http://u:hush@login/x?hush', "
	for keys, want := range map[string]string{
		"http_headers: { X-Api-Key: { values: [ hush ] } }":                                "X-Api-Key: {values: [<secret>]}",
		"http_headers: { X-Api-Key: { files: [ " + file + " ] } }":                         "X-Api-Key: {files: [" + file + "]}",
		"http_headers: { X-Api-Key: { files: [ " + file + " ], values: [ hush, hush ] } }": "X-Api-Key: {values: [<secret>, <secret>], files: [" + file + "]}",
		"http_headers: { X-Color: { values: [ blue ] } }":                                  "X-Color: {values: [blue]}",
		"http_headers: { X-Color: { values: [ " +
			"'http://u:hush@host/?q=hush' ] } }": "X-Color: {values: ['http://xxxxx@host/?xxxxx']}",
		client + "endpoint_params: { api_key: hush, audience: all } }":     "endpoint_params: {api_key: <secret>, audience: <secret>}",
		client + "claims: { auth_token: hush, sub: me } }":                 "claims: {auth_token: <secret>, sub: <secret>}",
		client + "claims: { auth: { sub: me, url: 'http://u:hush@a' } } }": "claims: {auth: {sub: me, url: 'http://xxxxx@a'}}",
		client + "scopes: [ read ] }":                                      "token_url: 'http://xxxxx@login/x?xxxxx'",
		"http_sd_configs: [ { url: " +
			"'http://me:hush@list/targets?token=hush' } ]": "url: 'http://xxxxx@list/targets?xxxxx'",
		"relabel_configs: [ { regex: 'http://a@b.*', target_label: x } ]": "regex: 'http://a@b.*'",
		"relabel_configs: [ { target_label: __param_key, " +
			"replacement: hush } ]": "target_label: __param_key, replacement: <secret>",
		"relabel_configs: [ { source_labels: [ zone ], target_label: " +
			"__param_zone } ]": "target_label: __param_zone, replacement: $1",
		"proxy_url: 'http://u:hush@proxy:1'":                "proxy_url: 'http://xxxxx@proxy:1'",
		"model_ids: { auth_key: [ 'http://u:hush@b', c ] }": "model_ids: {auth_key: ['http://xxxxx@b', c]}",
		"basic_auth: { username: me, password: hush }":      "basic_auth: {username: me, password: <secret>}",
		"canary: { prompt: 'see http://a/?x and " +
			"http://u:hush@b c' }": "prompt: 'see http://a/?xxxxx and http://xxxxx@b c'",
		"relabel_configs: [ { target_label: docs, replacement: " +
			"'http://${1}/x?k=hush#y' } ]": "replacement: 'http://${1}/x?xxxxx#y'",
		"model_ids: { a: [ 'http://b/%zz?hush', 'see " +
			"http://b/?k=hush here' ] }": "model_ids: {a: ['http://b/%zz?xxxxx', 'see http://b/?xxxxx here']}",
	} {
		t.Run(keys, func(t *testing.T) {
			f, err := config.Parse("c.yml", []byte("pools:\n- pool_id: a\n  static_configs: [ { targets: "+
				"['a:1'] } ]\n  "+keys+"\n"))
			require.NoError(t, err)
			require.NotContains(t, f.String(), "hush")
			var printed yaml.Node
			require.NoError(t, yaml.Unmarshal([]byte(f.String()), &printed))
			flow(&printed)
			line, err := yaml.Marshal(&printed)
			require.NoError(t, err)
			require.Contains(t, strings.Join(strings.Fields(string(line)), " "), want)
		})
	}
}

// flow formats a document on one line.
func flow(n *yaml.Node) {
	n.Style |= yaml.FlowStyle
	for _, c := range n.Content {
		flow(c)
	}
}

// A parameter of the address may be secret, like any query.
func TestTargetParametersAreNotPrinted(t *testing.T) {
	f, err := config.Parse("c.yml", []byte(`
pools:
  - pool_id: llama
    static_configs: [ { targets: ["a:1"], labels: { __param_key: hush, zone: eu } } ]
`))
	require.NoError(t, err)
	require.NotContains(t, f.String(), "hush")
	require.Contains(t, f.String(), "__param_key: <secret>")
	require.Contains(t, f.String(), "zone: eu")
}
