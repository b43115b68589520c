package scrape_test

import (
	"io"
	"net/http"
	"testing"

	promconfig "github.com/prometheus/common/config"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
)

// switches answers that it speaks another protocol from now on, and says nothing more.
func switches(p *peer) {
	p.request()
	p.say("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: other\r\n\r\n")
	p.wait()
}

// The body of such an answer is the connection, which nothing ends: neither its server nor a deadline.
func TestSwitchOfProtocol(t *testing.T) {
	server := serve(t, nil, switches)
	for name, request := range map[string]func(c *scrape.Client) error{
		"a page": func(c *scrape.Client) error {
			_, err := scrapeWithin(t, c, server.url, ample)
			return err
		},
		"an API": func(c *scrape.Client) error {
			_, _, _, err := c.Do(t.Context(), http.MethodGet, server.url, nil, 0)
			return err
		},
		"a stream": func(c *scrape.Client) error {
			resp, err := c.Open(t.Context(), http.MethodPost, server.url, []byte("{}"))
			if err == nil {
				_, err = io.ReadAll(resp.Body)
				require.NoError(t, resp.Body.Close())
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			requireFailure(t, request(newClient(t)), scrape.ReasonProtocol, "", "switches to another protocol")
		})
	}
	t.Run("a token", func(t *testing.T) {
		client := newClient(t, func(c *scrape.Config) {
			c.OAuth2 = &promconfig.OAuth2{ClientID: "id", TokenURL: server.url}
		})
		_, err := scrapeWithin(t, client, "http://127.0.0.1:1/metrics", ample)
		requireFailure(t, err, scrape.ReasonProtocol, scrape.ClassLogin, "switches to another protocol")
	})
	require.NotEmpty(t, server.requests())
}
