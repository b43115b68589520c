package scrape_test

import (
	"net/url"
	"strings"
	"testing"

	promconfig "github.com/prometheus/common/config"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/tools/fixture"
)

func TestDeniedAddressesInEverySpelling(t *testing.T) {
	// Z01.
	client := newClient(t)
	for _, host := range []string{
		"169.254.169.254", "169.254.0.1:8002", "[::ffff:169.254.169.254]", "[::ffff:a9fe:a9fe]:80",
		"[fe80::1]", "[fe80::1%25lo]:8002", "[fd00:ec2::254]", "[64:ff9b::a9fe:a9fe]",
	} {
		t.Run(host, func(t *testing.T) {
			_, err := scrapeWithin(t, client, "http://"+host+"/metrics", ample)
			requireFailure(
				t, err, scrape.ReasonConnect, scrape.ClassDenied, "add it to dial.allow if the target is intended",
			)
		})
	}
}

func TestConfiguredDenyAndAllow(t *testing.T) {
	server := serve(t, nil, replies(answer("200 OK", "", page)))
	cases := []struct {
		name   string
		dial   scrape.DialConfig
		denied string
	}{
		{"nothing denied", scrape.DialConfig{}, ""},
		{"network denied", scrape.DialConfig{Deny: []string{"127.0.0.0/8"}}, "127.0.0.1 is in dial.deny 127.0.0.0/8"},
		{"address denied", scrape.DialConfig{Deny: []string{"127.0.0.1"}}, "127.0.0.1 is in dial.deny 127.0.0.1/32"},
		{
			"network denied, written as IPv6",
			scrape.DialConfig{Deny: []string{"::ffff:127.0.0.0/104"}},
			"127.0.0.1 is in dial.deny 127.0.0.0/8",
		},
		{
			"address denied, written as IPv6",
			scrape.DialConfig{Deny: []string{"::ffff:7f00:1"}},
			"127.0.0.1 is in dial.deny 127.0.0.1/32",
		},
		{
			"all denied, one allowed, written as IPv6",
			scrape.DialConfig{Deny: []string{"0.0.0.0/0"}, Allow: []string{"::ffff:127.0.0.1"}},
			"",
		},
		{"all denied, one allowed", scrape.DialConfig{Deny: []string{"0.0.0.0/0"}, Allow: []string{"127.0.0.1"}}, ""},
		{
			"all denied, another allowed",
			scrape.DialConfig{Deny: []string{"0.0.0.0/0"}, Allow: []string{"127.0.0.2"}},
			"127.0.0.1 is in dial.deny 0.0.0.0/0",
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := scrapeWithin(t, newClient(t, func(cfg *scrape.Config) { cfg.Dial = c.dial }), server.url, ample)
			if c.denied == "" {
				require.NoError(t, err)
				return
			}
			requireFailure(t, err, scrape.ReasonConnect, scrape.ClassDenied, c.denied)
		})
	}
}

func proxied(t *testing.T, address string) func(*scrape.Config) {
	t.Helper()
	u, err := url.Parse(strings.TrimSuffix(address, "/metrics"))
	require.NoError(t, err)
	return func(c *scrape.Config) { c.Proxy.ProxyURL = promconfig.URL{URL: u} }
}

func TestProxyGetsNoDeniedAddress(t *testing.T) {
	proxy := serve(t, nil, replies(answer("200 OK", "", page)))
	client := newClient(t, proxied(t, proxy.url))
	got, err := scrapeWithin(t, client, "http://triton.invalid:8002/metrics", ample)
	require.NoError(t, err)
	require.Equal(t, page, string(got.Body))
	require.Equal(t, "http://triton.invalid:8002/metrics", proxy.requests()[0].RequestURI)

	_, err = scrapeWithin(t, client, "http://169.254.169.254/metrics", ample)
	requireFailure(t, err, scrape.ReasonConnect, scrape.ClassDenied, "169.254.169.254 is in dial.deny")
	require.Len(t, proxy.requests(), 1)
}

func TestProxyDownIsConnectError(t *testing.T) {
	client := newClient(t, proxied(t, "http://user:hunter2@"+fixture.FreeAddress(t, "127.0.0.1")))
	_, err := scrapeWithin(t, client, "http://triton.invalid:8002/metrics", ample)
	requireFailure(t, err, scrape.ReasonConnect, "", "connection refused")
	require.NotContains(t, err.Error(), "hunter2")
}

func TestProxyFromEnvironmentIsOptional(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("http_proxy", "http://127.0.0.1:1")
	server := serve(t, nil, replies(answer("200 OK", "", page)))
	_, err := scrapeWithin(t, newClient(t), server.url, ample)
	require.NoError(t, err)
	client := newClient(t, func(c *scrape.Config) { c.Proxy.ProxyFromEnvironment = true })
	_, err = scrapeWithin(t, client, "http://triton.invalid/metrics", ample)
	requireFailure(t, err, scrape.ReasonConnect, "", "connection refused")
}
