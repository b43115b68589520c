package derive_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// modelsPage is a page of Triton with so many models, and of its GPU.
func modelsPage(models int) string {
	var b strings.Builder
	b.WriteString("# TYPE nv_inference_request_success counter\n# TYPE nv_gpu_utilization gauge\nnv_gpu_utilization{gpu_uuid=\"GPU-1\"} 0.5\n")
	for i := range models {
		fmt.Fprintf(&b, "nv_inference_request_success{model=\"m%03d\",version=\"1\"} 7\n", i)
	}
	return b.String()
}

func TestABudgetLeavesOutTheDerivedSeriesOfWholeModels(t *testing.T) {
	bounded := func(budget derive.Budget) (ids []string, series int, left derive.LeftOut) {
		e, _ := engine.Of(string(engine.Triton))
		d := derive.NewDeriver(derive.Options{
			Window: time.Minute, Interval: 5 * time.Second, Engine: e, Budget: budget,
			Identity: derive.Identity{Labels: labels.FromStrings("pool_id", "p", "replica_id", "r"), Topology: engine.NewTopology(e, engine.Seen{Names: []string{"m000", "m001"}}, nil, nil)},
		})
		cache := exposition.NewCache(exposition.Options{Watch: engine.Watch(e)})
		b := cache.Block()
		defer b.Release()
		require.NoError(t, cache.Parse(b, []byte(modelsPage(100)), ""))
		out := d.Derive(0, b)
		defer out.Release()
		gpu := false
		for i := range out.Shape().Lines() {
			lset := out.Shape().Labels(i)
			gpu = gpu || strings.Contains(lset.Get("__name__"), "gpu")
			if id := lset.Get("model_id"); id != "" && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
		require.True(t, gpu || budget.Series == 1, "what belongs to no model is there")
		slices.Sort(ids)
		return ids, out.Shape().Lines(), d.LeftOut()
	}
	all, total, left := bounded(derive.Budget{})
	require.Len(t, all, 100)
	require.Equal(t, derive.LeftOut{}, left)

	ids, series, left := bounded(derive.Budget{Models: 10})
	require.Equal(t, all[:10], ids)
	require.Equal(t, derive.LeftOut{Models: 90}, left)
	require.Less(t, series, total/5)

	for _, most := range []int{1, 50, total / 2, total - 1, total} {
		ids, series, left = bounded(derive.Budget{Budget: exposition.Budget{Series: most}})
		require.LessOrEqual(t, series, most)
		require.Equal(t, derive.LeftOut{Series: total - series}, left)
		require.Equal(t, all[:len(ids)], append([]string{}, ids...))
	}
	ids, _, _ = bounded(derive.Budget{Budget: exposition.Budget{Bytes: 10_000}})
	require.NotEmpty(t, ids)
	require.Less(t, len(ids), 100)
}
