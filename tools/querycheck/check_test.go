package querycheck_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/alerts/vocabulary"
	"github.com/trtllm-exporter/trtllm_exporter/tools/querycheck"
)

func TestQueriesAreHeldToTheVocabulary(t *testing.T) {
	t.Parallel()
	v := vocabulary.New()
	for _, c := range []struct {
		name, query string
		labels      []string
		problems    []string
	}{
		{
			name: "a rate of a counter by labels it has", query: `sum by (pool_id) (rate(llm_server_requests_total{model_id="a"}[5m]))`,
			labels: []string{"pool_id"},
		},
		{
			name: "a quantile loses le", query: `histogram_quantile(0.9, sum by (le, pool_id) (rate(llm_server_time_to_first_token_seconds_bucket[5m])))`,
			labels: []string{"pool_id"},
		},
		{
			name: "a metric that was never served", query: `rate(nv_inference_load_ratio_bucket[5m])`,
			problems: []string{"nv_inference_load_ratio_bucket is not a metric of the exporter"},
		},
		{
			name: "a rate of a gauge", query: `rate(llm_server_queue_depth[5m])`,
			labels: []string{
				"cluster", "engine", "engine_version", "instance", "job", "model_id", "pool_id", "replica_id", "tier", "trtllm_version",
			},
			problems: []string{"rate of llm_server_queue_depth, which is a gauge"},
		},
		{
			name: "a counter without a rate", query: `sum(llm_server_requests_total)`,
			problems: []string{"llm_server_requests_total is a counter and needs a rate"},
		},
		{
			name: "a label that went with the aggregation", query: `max by (replica_id) (sum by (pool_id) (llm_server_queue_depth))`,
			labels: []string{"replica_id"}, problems: []string{"by (replica_id): no such label"},
		},
		{
			name: "a matcher of another family's label", query: `sum(llm_server_state{reason="a"})`,
			problems: []string{"llm_server_state has no label reason"},
		},
		{
			name:   "two sides that can never match",
			query:  `sum by (pool_id, reason) (rate(llm_server_requests_failed_total[5m])) / sum by (pool_id) (rate(llm_server_requests_total[5m]))`,
			labels: []string{"pool_id", "reason"}, problems: []string{"/ matches {pool_id,reason} with {pool_id}, which have different labels"},
		},
		{
			name:   "group_left keeps the many side",
			query:  `sum by (pool_id, reason) (rate(llm_server_requests_failed_total[5m])) / on (pool_id) group_left () sum by (pool_id) (rate(llm_server_requests_total[5m]))`,
			labels: []string{"pool_id", "reason"},
		},
		{name: "no query", query: `sum(`, problems: []string{"1:5: parse error: unclosed left parenthesis"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			labels, problems := querycheck.Check(v, c.query)
			require.Equal(t, c.problems, problems)
			if c.labels != nil {
				require.Equal(t, c.labels, labels)
			}
		})
	}
}
