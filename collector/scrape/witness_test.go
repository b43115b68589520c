package scrape_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	promconfig "github.com/prometheus/common/config"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
)

func TestPageShowsWhetherItsConnectionWasKept(t *testing.T) {
	t.Parallel()
	var closes atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if closes.Load() {
			w.Header().Set("Connection", "close")
		}
		fmt.Fprint(w, page)
	}))
	t.Cleanup(server.Close)
	client := newClient(t)
	kept := func(fresh bool) bool {
		ask := client.Scrape
		if fresh {
			ask = client.ScrapeFresh
		}
		got, err := ask(t.Context(), server.URL, nil)
		require.NoError(t, err)
		require.Equal(t, page, string(got.Body))
		got.Release()
		return got.Kept
	}
	require.False(t, kept(false), "the first one")
	require.True(t, kept(false), "the second one over the same connection")
	require.False(t, kept(true), "a connection of its own")
	require.False(t, kept(true), "another one")
	require.True(t, kept(false), "beside the one that stays open")
	closes.Store(true)
	require.True(t, kept(false), "the connection is open until the server closes it")
	require.False(t, kept(false), "the server closed it")
	require.Eventually(
		t, func() bool { return scrape.Used(client) == 0 }, ample, time.Millisecond, "no connection is left",
	)
}

func TestFirstPageOpensNoConnectionThatStays(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, page) }))
	t.Cleanup(server.Close)
	for _, c := range []struct {
		name, url string
		stays     bool
	}{
		{"a lane requests the next one, over its own connection", server.URL, false},
		{"no lane supports host names", strings.Replace(server.URL, "127.0.0.1", "localhost", 1), true},
	} {
		client := newClient(t)
		got, err := client.ScrapeFirst(t.Context(), c.url, nil)
		require.NoError(t, err)
		require.Equal(t, page, string(got.Body))
		got.Release()
		if c.stays {
			require.EqualValues(t, 1, scrape.Used(client), c.name)
			continue
		}
		require.Eventually(t, func() bool { return scrape.Used(client) == 0 }, ample, time.Millisecond, c.name)
	}
}

func TestConnectionToProxyIsNoConnectionToServer(t *testing.T) {
	t.Parallel()
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, page) }))
	t.Cleanup(proxy.Close)
	address, err := url.Parse(proxy.URL)
	require.NoError(t, err)
	client := newClient(t, func(c *scrape.Config) { c.Proxy.ProxyURL = promconfig.URL{URL: address} })
	for range 3 {
		got, err := client.Scrape(t.Context(), "http://server.example/metrics", nil)
		require.NoError(t, err)
		require.False(t, got.Kept, "a proxy may lead to another process")
	}
}
