package querycheck_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/tools/querycheck"
	"github.com/trtllm-exporter/trtllm_exporter/tools/vocabulary"
)

func TestCheckReportsUnknownNames(t *testing.T) {
	t.Parallel()
	v := vocabulary.New()
	for _, c := range []struct{ name, query, labels, problem string }{
		{
			"a rate by existing labels",
			`sum by (pool_id) (rate(llm_server_requests_total{model_id="a"}[5m]))`,
			"pool_id", "",
		},
		{
			"a quantile loses le",
			`histogram_quantile(0.9, sum by (le, pool_id) (rate(llm_server_time_to_first_token_seconds_bucket[5m])))`,
			"pool_id", "",
		},
		{
			"an unknown metric", `rate(nv_inference_load_ratio_bucket[5m])`, "",
			"nv_inference_load_ratio_bucket is not a metric of the exporter",
		},
		{
			"a rate of a gauge", `sum by (job) (rate(llm_server_queue_depth[5m]))`, "job",
			"rate of llm_server_queue_depth, which is a gauge",
		},
		{
			"a counter without a rate", `sum(llm_server_requests_total)`, "",
			"llm_server_requests_total is a counter and needs a rate",
		},
		{"a count of counters, which needs none", `count by (pool_id) (llm_server_requests_total)`, "pool_id", ""},
		{
			"a label removed by the aggregation",
			`max by (replica_id) (sum by (pool_id) (llm_server_queue_depth))`,
			"replica_id", "by (replica_id): no such label",
		},
		{
			"a matcher of another family's label", `sum(llm_server_state{reason="a"})`, "",
			"llm_server_state has no label reason",
		},
		{
			"two sides that can never match",
			`sum by (pool_id, reason) (rate(llm_server_requests_failed_total[5m])) / sum by (pool_id) (rate(llm_server_requests_total[5m]))`,
			"pool_id reason", "/ matches {pool_id,reason} with {pool_id}, which have different labels",
		},
		{
			"group_left keeps the many side",
			`sum by (pool_id, reason) (rate(llm_server_requests_failed_total[5m])) / on (pool_id) group_left () sum by (pool_id) (rate(llm_server_requests_total[5m]))`,
			"pool_id reason", "",
		},
		{"no query", `sum(`, "", "1:5: parse error: unclosed left parenthesis"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			labels, problems := querycheck.Check(v, c.query)
			require.Equal(t, c.problem, strings.Join(problems, "\n"))
			require.Equal(t, c.labels, strings.Join(labels, " "))
		})
	}
}
