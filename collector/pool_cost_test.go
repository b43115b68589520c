package collector_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
)

// TestPoolsCostWhatIsDeclared has a pool whose replicas cost something and one of which nobody says so. A
// replica that is down costs as much, and a program that is no replica costs nothing.
func TestPoolsCostWhatIsDeclared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &fakeScraper{api: tritonAPI, page: func(page string) (string, error) {
			switch page {
			case "http://10.0.0.2:1/metrics":
				return "", errRefused
			case "http://10.0.0.3:1/metrics":
				return "# TYPE envoy_server_live gauge\nenvoy_server_live 1\n", nil
			}
			return tritonPage, nil
		}}
		priced := everySeconds("p", 5, "up=10.0.0.1:1|10.0.0.1:2", "down=10.0.0.2:1|10.0.0.2:2", "proxy=10.0.0.3:1|10.0.0.3:2")
		priced.Cost = &config.Cost{ReplicaHour: 12.5, Currency: "EUR"}
		tc := startWithScraper(t, s, priced, everySeconds("q", 5, "r=10.0.0.4:1|10.0.0.4:2"))
		time.Sleep(12 * time.Second)
		synctest.Wait()
		page := tc.page()
		requireText(t, page, `llm_server_pool_cost_per_hour{currency="EUR",pool_id="p"} 25`)
		require.NotContains(t, page, `llm_server_pool_cost_per_hour{currency="EUR",pool_id="q"}`)

		before := tc.status("up").Scrapes
		priced.Cost = &config.Cost{ReplicaHour: 10, Currency: "EUR"}
		tc.apply(priced)
		time.Sleep(6 * time.Second)
		synctest.Wait()
		requireText(t, tc.page(), `llm_server_pool_cost_per_hour{currency="EUR",pool_id="p"} 20`)
		require.Greater(t, tc.status("up").Scrapes, before, "another price restarts no replica")
	})
}
