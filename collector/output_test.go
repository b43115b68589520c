package collector_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
)

// Such a page of 1.7 MB once became 12.5 MB, with three models per line.
func TestSampleLimitWithManyModels(t *testing.T) {
	t.Parallel()
	var many strings.Builder
	many.WriteString("# TYPE nv_inference_request_success counter\n# TYPE nv_inference_count counter\n")
	for i := range 4000 {
		fmt.Fprintf(&many, "nv_inference_request_success{model=\"m%d\",version=\"1\"} 7\nnv_inference_count{model=\"m%d\",version=\"1\"} 9\n", i, i)
	}
	s, other := newFakeServer(t), newFakeServer(t)
	s.setPage(body(many.String()))
	// The default must be enough for the rest.
	p := metricsPool("p", "many="+s.pageAndAPI())
	tc := startCollector(t, p, metricsPool("q", "r="+other.pageAndAPI()))
	page := tc.pollPage("Both are up", nil, func(page string) string {
		if value(page, targetSeries("target_up", "p", "many")) != 1 || value(page, targetSeries("target_up", "q", "r")) != 1 {
			return "target_up"
		}
		return ""
	})
	bystander := rawLines(page, "q")
	require.NotEmpty(t, bystander)
	require.LessOrEqual(t, len(page), int(config.DefaultLimits.Output.Bytes)*11/10, "series about the replicas")
	status := func(pool string) []string {
		for _, slot := range tc.store.Slots() {
			if slot.Target().PoolID == pool {
				return slot.Status().LeftOut
			}
		}
		return nil
	}
	require.Equal(t, []string{"the derived series of 3744 models: more models than limits.output_models"}, status("p"))
	require.Empty(t, status("q"))
}
