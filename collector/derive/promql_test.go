package derive_test

import (
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// TestWithoutWindowGauges checks that exactly the series of families that a query can
// compute are left out, and take no room within a limit.
func TestWithoutWindowGauges(t *testing.T) {
	queried := make(map[string]bool)
	for _, f := range derive.Catalogue() {
		queried[f.Name] = f.InPromQL.Query != ""
	}
	for _, kind := range []simulate.Kind{simulate.KindTriton, simulate.KindServe, simulate.KindVLLM} {
		t.Run(string(kind), func(t *testing.T) {
			spec := simulate.Spec{Kind: kind, Setup: simulate.Setup{Histograms: true}, Streaming: true}
			var want []labels.Labels
			all := newLlama(t, spec, func(*derive.Options) {})
			for _, lset := range all.labels() {
				if !queried[lset.Get(model.MetricNameLabel)] {
					want = append(want, lset)
				}
			}
			less := newLlama(t, spec, func(o *derive.Options) { o.NoWindowGauges = true })
			require.Equal(t, want, less.labels())
			require.Less(t, len(want), len(all.labels())-3)

			lines := less.out.Shape().Lines()
			room := derive.Output{Volume: exposition.Volume{Series: lines}}
			less = newLlama(t, spec, func(o *derive.Options) { o.NoWindowGauges, o.Output = true, room })
			require.Equal(t, []int{lines, 0}, []int{less.out.Shape().Lines(), less.deriver.Dropped().Series})
			small := newLlama(t, spec, func(o *derive.Options) { o.Output = room })
			require.Less(t, small.out.Shape().Lines(), lines, "all series of the model go, not some")
			require.Equal(t, all.out.Shape().Lines()-small.out.Shape().Lines(), small.deriver.Dropped().Series)
		})
	}
}

// TestDistributionsStandOnce has the servers' own series beside the derived ones: of distributions that nothing of group
// core reads they alone have buckets and quantiles, of the others both.
func TestDistributionsStandOnce(t *testing.T) {
	t.Parallel()
	spec := simulate.Spec{Kind: simulate.KindVLLM, Streaming: true}
	all := newLlama(t, spec, func(*derive.Options) {})
	beside := newLlama(t, spec, func(o *derive.Options) { o.RawWhole = true })
	for query, both := range map[string]bool{
		`llm_server_time_to_first_token_seconds_bucket{le!="+Inf"}`: true,
		`llm_server_request_prompt_tokens_bucket{le!="+Inf"}`:       false,
		`llm_server_request_prompt_tokens_bucket{le="+Inf"}`:        true,
		`llm_server_request_prompt_tokens_sum`:                      true,
		`llm_server_request_inference_seconds_bucket{le!="+Inf"}`:   false,
		`llm_server_request_inference_seconds_count`:                true,
	} {
		require.Positive(t, selects(t, query, all.labels()), query)
		require.Equal(t, both, selects(t, query, beside.labels()) > 0, query)
	}
}
