package web_test

import (
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Clients that ask for the same at once cost as much as one of them.
func TestManyClientsShareAnAnswer(t *testing.T) {
	for _, c := range []struct {
		name, method, path string
		most               int
	}{
		{"a page", http.MethodGet, "/targets?format=json", 1},
		// Those that come while it is reloaded may have changed a file that was read before.
		{"a reload", http.MethodPost, "/-/reload", 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			opts := newFleet(t).options()
			opts.EnableLifecycle = true
			built := 0
			build := func() {
				built++
				time.Sleep(time.Second)
			}
			opts.Searches = func() []target.PoolDiscovery {
				build()
				return nil
			}
			opts.Reload = func() error {
				build()
				return nil
			}
			h := handler(t, opts)
			var clients sync.WaitGroup
			began := time.Now()
			for range 30 {
				clients.Go(func() {
					w := ask(h, c.method, c.path)
					require.Equal(t, http.StatusOK, w.Code, c.name)
					require.NotEmpty(t, w.Body.String(), c.name)
				})
			}
			clients.Wait()
			require.LessOrEqual(t, built, c.most, c.name)
			require.LessOrEqual(t, time.Since(began), 2*time.Second, c.name)
			require.Equal(t, http.StatusOK, ask(h, c.method, c.path).Code)
			require.LessOrEqual(t, built, c.most+1, "the next client gets a new one")
			require.Greater(t, built, 1, "the next client gets a new one")
		})
	}
}
