package scrape_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
)

// C07.
func TestPageOfCacheIsAsOldAsItSays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, header  string
		earlier, from time.Duration
	}{
		{"no cache", "", 0, 0},
		{"stored a moment ago", "Age: 0\r\n", 0, time.Second},
		{"stored for a while", "Age: 17\r\n", 17 * time.Second, 18 * time.Second},
		{"of two caches", "Age: 17\r\nAge: 3\r\n", 17 * time.Second, 18 * time.Second},
		{"no number", "Age: soon\r\n", 0, 0},
		{"negative", "Age: -5\r\n", 0, 0},
		{"longer than any cache stores", "Age: 99999999999999\r\n", 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := serve(t, nil, replies(answer("200 OK", c.header, page)))
			fetched := scrape.FetchFresh(t.Context(), newClient(t), server.url)
			defer fetched.Release()
			require.NoError(t, fetched.Err)
			from, to := fetched.Made()
			require.Equal(t, c.earlier, fetched.Received.Sub(to))
			require.Equal(t, c.from, fetched.Start.Sub(from))
		})
	}
}
