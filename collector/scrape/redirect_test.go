package scrape_test

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	promconfig "github.com/prometheus/common/config"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
)

func following(c *scrape.Config) { c.FollowRedirects = true }

func token(c *scrape.Config) {
	c.Authorization = &promconfig.Authorization{Type: "Bearer", Credentials: "token-of-the-pool"}
	c.Headers = &promconfig.Headers{
		Headers: map[string]promconfig.Header{"X-Api-Key": {Secrets: []promconfig.Secret{"key-of-the-pool"}}},
	}
}

func TestRedirectIsNotFollowedByDefault(t *testing.T) {
	other := serve(t, nil, replies(answer("200 OK", "", page)))
	server := serve(
		t, nil,
		replies(
			answer(
				"302 Found",
				"Location: http://user:hunter2@"+strings.TrimPrefix(other.url, "http://")+"?key=hunter2\r\n", "",
			),
		),
	)
	_, err := scrapeWithin(t, newClient(t), server.url, ample) // T19.
	requireFailure(
		t, err, scrape.ReasonRedirect, "302",
		"the server redirects to "+other.url+"; give credentials if it wants a login, else set the target to that address, or follow_redirects: true",
	)
	require.NotContains(t, err.Error(), "hunter2")
	require.Empty(t, other.requests())
}

func TestRedirectLoopStopsAfterThree(t *testing.T) {
	server := serve(t, nil, replies(answer("302 Found", "Location: /metrics\r\n", "moved")))
	_, err := scrapeWithin(t, newClient(t, following), server.url, ample) // T20.
	requireFailure(t, err, scrape.ReasonRedirect, "302", "stopped after 3 redirects")
	require.Len(t, server.requests(), 4)
	require.EqualValues(t, 1, server.conns.Load())
}

func TestRedirectOnSameHostIsFollowed(t *testing.T) {
	for _, status := range []string{
		"301 Moved Permanently", "302 Found", "303 See Other", "307 Temporary Redirect", "308 Permanent Redirect",
	} {
		t.Run(status, func(t *testing.T) {
			server := serve(t, nil, func(p *peer) {
				for req := p.request(); req != nil; req = p.request() {
					if req.URL.Path == "/metrics" {
						p.say(answer(status, "Location: /prometheus/metrics\r\n", ""))
						continue
					}
					p.say(answer("200 OK", "", page))
				}
			})
			got, err := scrapeWithin(t, newClient(t, following, token), server.url, ample)
			require.NoError(t, err)
			require.Equal(t, page, string(got.Body))
			last := server.requests()[1]
			require.Equal(t, "GET", last.Method)
			require.Equal(t, "/prometheus/metrics", last.URL.Path)
			require.Equal(t, "Bearer token-of-the-pool", last.Header.Get("Authorization"))
		})
	}
}

func TestRedirectToAnotherServerGetsNoRequest(t *testing.T) {
	other := serve(t, nil, replies(answer("200 OK", "", page)))
	target, err := url.Parse(other.url)
	require.NoError(t, err)
	locations := map[string]string{
		"another port":   other.url,
		"another host":   "http://localhost:" + target.Port() + "/metrics",
		"another scheme": "https://" + target.Host + "/metrics",
		"no scheme":      "//" + target.Host + "/metrics",
		"a file":         "file:///etc/passwd",
	}
	for name, location := range locations {
		t.Run(name, func(t *testing.T) {
			server := serve(t, nil, replies(answer("302 Found", "Location: "+location+"\r\n", "")))
			_, err := scrapeWithin(t, newClient(t, following, token), server.url, ample) // T21.
			requireFailure(
				t, err, scrape.ReasonRedirect, "302", "follow_redirects stays on the same scheme, host and port",
			)
			require.Empty(t, other.requests())
			require.Equal(t, "Bearer token-of-the-pool", server.requests()[0].Header.Get("Authorization"))
		})
	}
}

func TestRedirectWithoutLocationIsRefused(t *testing.T) {
	for i, location := range []string{"", "Location: http://a b/\r\n", "Location:\r\n"} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			server := serve(t, nil, replies(answer("302 Found", location, "")))
			_, err := scrapeWithin(t, newClient(t, following), server.url, ample)
			requireFailure(t, err, scrape.ReasonRedirect, "302", "without a valid Location")
			_, err = scrapeWithin(t, newClient(t), server.url, ample)
			requireFailure(t, err, scrape.ReasonRedirect, "302", "the server redirects to elsewhere")
		})
	}
}

func TestDoReturnsRedirects(t *testing.T) {
	server := serve(t, nil, replies(answer("302 Found", "Location: /v2\r\n", "")))
	status, header, _, err := newClient(t).Do(t.Context(), http.MethodGet, server.url, nil, 0)
	require.NoError(t, err)
	require.Equal(t, 302, status)
	require.Equal(t, "/v2", header.Get("Location"))
	status, _, _, err = newClient(t, following).Do(t.Context(), "POST", server.url, []byte("{}"), 0)
	require.NoError(t, err)
	require.Equal(t, 302, status)
}
