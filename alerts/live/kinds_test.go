//go:build e2e_live

package live

import (
	"cmp"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// autoscaling returns the groups of the shipped rules for autoscalers.
func autoscaling(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../deploy/helm/trtllm-exporter/files/autoscaling-rules.yaml")
	require.NoError(t, err)
	_, groups, found := strings.Cut(string(text), "\ngroups:\n")
	require.True(t, found, "the file has groups")
	require.Contains(t, groups, "interval: 15s")
	return strings.ReplaceAll(groups, "interval: 15s", "interval: 1s")
}

// one returns the value of a query with exactly one result.
func (s *stack) one(t *testing.T, query string) float64 {
	t.Helper()
	found := s.query(t, query)
	require.Len(t, found, 1, query)
	return float64(found[0].Value)
}

// requireKinds requires that rules, autoscaling and dashboards treat a pool with several
// kinds of servers like any other.
func (s *stack) requireKinds(t *testing.T) {
	t.Helper()
	const selector = `{pool_id="` + kindsPool + `"}`
	replicas := float64(len(kindsOfPool()))
	require.Equal(t, replicas, s.one(t, `count(count by (engine) (llm_server_state`+selector+`))`))
	for _, family := range []string{
		"requests_running",
		"queue_depth", "kv_cache_utilization_ratio", "saturation_ratio", "saturated", "generation_tokens_total",
		"prompt_tokens_total",
		"requests_total", "time_to_first_token_seconds_count", "request_duration_average_seconds",
	} {
		series := "(llm_server_" + family + selector + ")"
		require.Equal(t, replicas, s.one(t, "count(count by (replica_id) "+series+")"), "replicas with %s", family)
		require.EqualValues(t, "mistral", s.query(t, "group by (model_id) "+series)[0].Metric["model_id"], family)
	}
	for _, rule := range []string{
		"pool_model:llm_server_generation_tokens:rate",
		"pool_model:llm_server_prompt_tokens:rate", "pool_model:llm_server_requests_running:sum",
		"pool_model:llm_server_kv_cache_utilization_ratio:max",
	} {
		// At a given moment nothing may be running.
		require.Positive(t, s.one(t, "max_over_time("+rule+selector+"[20s])"), rule)
	}
	require.Positive(t, s.one(t, `pool_model_class:llm_server_requests:rate{pool_id="`+kindsPool+`",class="ok"}`))
	tokens := s.one(t, `sum(rate(llm_server_generation_tokens_total`+selector+`[15s]))`)
	rate := s.one(t, "pool_model:llm_server_generation_tokens:rate"+selector)
	require.InEpsilon(t, tokens, rate, 0.5, "the rule counts the tokens of all kinds")

	require.Equal(t, replicas, s.one(t, "pool:llm_server_serving:count"+selector))
	load := s.one(t, "max_over_time(pool:llm_server_saturation:sum"+selector+"[20s])")
	require.Greater(t, load, 0.0)
	require.Less(t, load, replicas, "a pool without a queue needs no more replicas")
	require.GreaterOrEqual(t, s.one(t, "pool:llm_server_queue:sum"+selector), 0.0)

	for _, skew := range s.query(t, "llm_server_pool_skew"+selector) {
		require.Zero(t, skew.Value, "%s: different kinds of servers are not compared", skew.Metric)
	}
	require.Empty(t, s.query(t, `ALERTS{pool_id="`+kindsPool+`"}`))
	s.panelsOfKinds(t)
}

// panelsOfKinds runs every query of the dashboards for this pool alone: none may fail, like
// those that match several series where only one is allowed.
func (s *stack) panelsOfKinds(t *testing.T) {
	t.Helper()
	filled, all, heatmaps := 0, 0, 0
	for _, q := range panelQueries("10s", "1m", kindsPool) {
		all++
		if len(s.query(t, q.expr)) > 0 {
			filled++
		}
	}
	t.Logf("%d of %d queries have data for a pool with several kinds", filled, all)
	require.Greater(t, 2*filled, all, "queries with data")
	for _, q := range panelQueries("10s", "30s", kindsPool) {
		if q.panel.Type == "heatmap" && s.requireHistogram(t, &q) {
			heatmaps++
		}
	}
	require.GreaterOrEqual(t, heatmaps, 3)
}

// requireHistogram requires that the heatmap of a pool with different buckets is a
// histogram: larger bounds never count less, the last one counts all requests, and every
// bound has the same number of values, because Grafana subtracts them in order. It reports whether there
// are data.
func (s *stack) requireHistogram(t *testing.T, q *panelQuery) bool {
	t.Helper()
	buckets := s.recent(t, q.expr, 30*time.Second)
	bounds := slices.SortedFunc(maps.Keys(buckets), func(a, b string) int {
		return cmp.Compare(number(t, a), number(t, b))
	})
	t.Logf("%s: common bounds %s", q.title, strings.Join(bounds, " "))
	if len(bounds) == 0 {
		return false
	}
	require.Equal(t, "+Inf", bounds[len(bounds)-1], q.title)
	for i := 1; i < len(bounds); i++ {
		below, above := buckets[bounds[i-1]], buckets[bounds[i]]
		require.Len(t, above, len(below), q.title)
		for i := range below {
			require.LessOrEqual(t, below[i], above[i]+1e-9, q.title)
		}
	}
	return true
}

// number parses a number.
func number(t *testing.T, text string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(text, 64)
	require.NoError(t, err)
	return v
}

// recent returns the values of a query over the last seconds, by their only label.
func (s *stack) recent(t *testing.T, query string, length time.Duration) map[string][]float64 {
	t.Helper()
	found := make(map[string][]float64)
	for _, r := range s.queryRange(t, query, length, time.Now(), 2*time.Second) {
		require.Len(t, r.Metric, 1, query)
		for _, label := range r.Metric {
			for _, p := range r.Values {
				found[string(label)] = append(found[string(label)], float64(p.Value))
			}
		}
	}
	return found
}
