package collector_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
)

// TestSampleLimitWithManyModels has a page of 1.7 MB, which once became 12.5 MB, with three models per line.
func TestSampleLimitWithManyModels(t *testing.T) {
	t.Parallel()
	var many strings.Builder
	many.WriteString("# TYPE nv_inference_request_success counter\n# TYPE nv_inference_count counter\n")
	for i := range 4000 {
		fmt.Fprintf(&many, "nv_inference_request_success{model=\"m%d\",version=\"1\"} 7\n"+
			"nv_inference_count{model=\"m%d\",version=\"1\"} 9\n", i, i)
	}
	synctest.Test(t, func(t *testing.T) {
		s := &fakeScraper{page: func(page string) (string, error) {
			if strings.Contains(page, "10.0.0.1:") {
				return many.String(), nil
			}
			return tritonPage, nil
		}}
		// The default must be enough for the rest.
		tc := startWithScraper(t, s,
			everySeconds("p", 5, "many=10.0.0.1:1|10.0.0.1:2"),
			everySeconds("q", 5, "r=10.0.0.2:1|10.0.0.2:2"))
		time.Sleep(6 * time.Second)
		synctest.Wait()
		page := tc.page()
		requireValid(t, page)
		require.InDelta(t, 1, value(page, targetSeries("target_up", "p", "many")), 0)
		require.InDelta(t, 1, value(page, targetSeries("target_up", "q", "r")), 0)
		require.NotEmpty(t, rawLines(page, "q"))
		require.LessOrEqual(t, len(page), int(config.DefaultLimits.Output.Bytes)*11/10, "series about the replicas")
		require.Equal(t, []string{"the derived series of 3744 models: more models than " +
			"limits.output_models"}, tc.status("many").LeftOut)
		require.Empty(t, tc.status("r").LeftOut)
	})
}
