package scrape_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
)

// readConfig decodes a configuration over the defaults, like a pool's.
func readConfig(text string) (scrape.Config, error) {
	doc := struct {
		HTTP   scrape.Config `yaml:",inline"`
		Limits scrape.Limits `yaml:"limits"`
	}{HTTP: scrape.DefaultConfig, Limits: scrape.DefaultLimits}
	err := decode(text, &doc)
	doc.HTTP.Limits = doc.Limits
	return doc.HTTP, err
}

func decode(text string, into any) error {
	decoder := yaml.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.KnownFields(true)
	return decoder.Decode(into)
}

func TestConfigsKeepDefaults(t *testing.T) {
	for text, want := range map[string]func(*scrape.Config){
		"{}": func(*scrape.Config) {},
		"follow_redirects: true\nenable_http2: true": func(c *scrape.Config) {
			c.FollowRedirects, c.EnableHTTP2 = true, true
		},
		"limits: {body: 1MiB, compressed_body: 0}": func(c *scrape.Config) {
			c.Limits.Body, c.Limits.CompressedBody = 1<<20, 0
		},
		"dial: {allow: [169.254.20.10]}": func(c *scrape.Config) {
			c.Dial.Allow = []string{"169.254.20.10"}
		},
		"dial: {deny: []}": func(c *scrape.Config) { c.Dial.Deny = []string{} },
		"dial: {deny: [10.0.0.0/8, \"2001:db8::/32\"]}": func(c *scrape.Config) {
			c.Dial.Deny = []string{"10.0.0.0/8", "2001:db8::/32"}
		},
	} {
		got, err := readConfig(text)
		require.NoError(t, err, text)
		require.NoError(t, got.Validate(), text)
		expected := scrape.DefaultConfig
		want(&expected)
		require.Equal(t, expected, got, text)
	}
}

func TestBadConfigs(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{
			"basic_auth: {username: a}\nauthorization: {credentials: b}",
			"http client: at most one of basic_auth, oauth2 & authorization must be configured",
		},
		{
			"basic_auth: {password: a, password_file: b}",
			"http client: at most one of basic_auth password, password_file & password_ref must be configured",
		},
		{
			"authorization: {type: basic, credentials: a}",
			`http client: authorization type cannot be set to "basic", use "basic_auth" instead`,
		},
		{
			"oauth2: {client_id: a, token_url: x}",
			"oauth2.token_url: is not a URL; write it like https://login.example.com/token",
		},
		{"oauth2: {token_url: http://x}", "http client: oauth2 client_id must be configured"},
		{
			"oauth2: {client_id: a, token_url: http://x, grant_type: urn:ietf:params:oauth:grant-type:jwt-bearer}",
			`oauth2.grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer" is not supported; use client_credentials`,
		},
		{
			"oauth2: {client_id: a, token_url: http://x, tls_config: {min_version: TLS10}}",
			"oauth2.tls_config.min_version: TLS10 is not safe; use TLS12 or TLS13",
		},
		{"tls_config: {min_version: TLS11}", "tls_config.min_version: TLS11 is not safe; use TLS12 or TLS13"},
		{"tls_config: {max_version: TLS10}", "tls_config.max_version: TLS10 is not safe; use TLS12 or TLS13"},
		{
			"tls_config: {min_version: TLS13, max_version: TLS12}",
			"tls_config.max_version: TLS12 is below min_version TLS13; raise it or leave it out",
		},
		{
			"tls_config: {cert: a}",
			"exactly one of key or key_file must be configured when a client certificate is configured",
		},
		{"tls_config: {min_version: SSL3}", "unknown TLS version: SSL3"},
		{"http_headers: {accept: {values: [a]}}", "http_headers.accept: is set by the exporter; remove it"},
		{
			"http_headers: {X Tenant: {values: [a]}}",
			`http_headers: "X Tenant" is not a valid header name; write it like X-Tenant`,
		},
		{
			"http_headers:\n  X-A:\n    values:\n    - |\n      a\n",
			"http_headers.X-A: a value has a line break or another control character; write it on one line",
		},
		{
			"http_headers: {X-A: {secrets: [a, \"b\\r\\n\"]}}",
			"http_headers.X-A: a value has a line break or another control character; write it on one line",
		},
		{
			"authorization: {credentials: \"a\\n\"}",
			"authorization.credentials: a value has a line break or another control character; write it on one line",
		},
		{"http_headers: {host: {values: [a]}}", `http client: setting header "Host" is not allowed`},
		{"proxy_url: ftp://proxy", `proxy_url: scheme "ftp" is not supported; use http, https or socks5`},
		{"proxy_url: http:///x", "proxy_url: has no host; write it like http://proxy.example.com:3128"},
		{"no_proxy: x", "http client: if no_proxy is configured, proxy_url must also be configured"},
		{"limits: {body: 16}", `"16" is not a size; write a number with a unit, such as 16MiB`},
		{"limits: {body: lots}", `"lots" is not a size; write a number with a unit, such as 16MiB`},
		{"limits: {body: -1MiB}", `"-1MiB" is not a size; write a number with a unit, such as 16MiB`},
		{"limits: {headers: 0}", "limits.headers: 0B is too small; use 1KiB or more, the default is 64KiB"},
		{"dial: {deny: [all]}", `dial.deny[0]: "all" is not a network; write it like 10.0.0.0/8`},
		{
			"dial: {allow: [10.0.0.0/8, fe80::1%eth0]}",
			`dial.allow[1]: "fe80::1%eth0" is not a network; write it like 10.0.0.0/8`,
		},
		{"bearer_token: a", "field bearer_token not found"},
		{"follow_redirect: true", "field follow_redirect not found"},
	} {
		t.Run(c.text, func(t *testing.T) {
			cfg, err := readConfig(c.text)
			if err == nil {
				err = cfg.Validate()
				_, built := scrape.New(cfg, quiet())
				require.EqualError(t, built, err.Error())
			}
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestRelativePathsStartAtConfigDir(t *testing.T) {
	cfg, err := readConfig(`
basic_auth: {username: a, password_file: p}
authorization: {credentials_file: c}
oauth2: {client_secret_file: o}
tls_config: {ca_file: ca, cert_file: cert, key_file: /abs}
http_headers: {X-A: {files: [h]}}
`)
	require.NoError(t, err)
	cfg.SetDirectory("/etc/exporter")
	require.Equal(t, "/etc/exporter/p", cfg.BasicAuth.PasswordFile)
	require.Equal(t, "/etc/exporter/c", cfg.Authorization.CredentialsFile)
	require.Equal(t, "/etc/exporter/o", cfg.OAuth2.ClientSecretFile)
	require.Equal(
		t, "/etc/exporter/ca /etc/exporter/cert /abs", cfg.TLS.CAFile+" "+cfg.TLS.CertFile+" "+cfg.TLS.KeyFile,
	)
	require.Equal(t, []string{"/etc/exporter/h"}, cfg.Headers.Headers["X-A"].Files)
	empty := scrape.DefaultConfig
	empty.SetDirectory("/etc/exporter")
	require.Equal(t, scrape.DefaultConfig, empty)
}
