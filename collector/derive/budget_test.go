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

// modelsPage returns a page of a Triton with some models and one GPU.
func modelsPage(models int) string {
	var b strings.Builder
	b.WriteString("# TYPE nv_inference_request_success counter\n# TYPE nv_gpu_utilization gauge\nnv_gpu_utilization{gpu_uuid=\"GPU-1\"} 0.5\n")
	for i := range models {
		fmt.Fprintf(&b, "nv_inference_request_success{model=\"m%03d\",version=\"1\"} 7\n", i)
	}
	return b.String()
}

func TestABudgetLeavesOutTheDerivedSeriesOfWholeModels(t *testing.T) {
	bounded := func(budget derive.Budget) (ids []string, series int, left derive.Dropped) {
		e, _ := engine.ByName(string(engine.Triton))
		d := derive.NewDeriver(derive.Options{
			Window: time.Minute, Interval: 5 * time.Second, Engine: e, Budget: budget,
			Identity: derive.Identity{Labels: labels.FromStrings("pool_id", "p", "replica_id", "r"), Topology: engine.NewTopology(e, engine.NamedModels{Names: []string{"m000", "m001"}}, nil, nil)},
		})
		cache := exposition.NewCache(exposition.Options{Watch: engine.Watch(e)})
		b, err := cache.Parse([]byte(modelsPage(100)), "")
		require.NoError(t, err)
		out := d.Derive(0, b)
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
		return ids, out.Shape().Lines(), d.Dropped()
	}
	all, total, left := bounded(derive.Budget{})
	require.Len(t, all, 100)
	require.Equal(t, derive.Dropped{}, left)

	ids, series, left := bounded(derive.Budget{Models: 10})
	require.Equal(t, all[:10], ids)
	require.Equal(t, derive.Dropped{Models: 90}, left)
	require.Less(t, series, total/5)

	for _, most := range []int{1, 50, total / 2, total - 1, total} {
		ids, series, left = bounded(derive.Budget{Budget: exposition.Budget{Series: most}})
		require.LessOrEqual(t, series, most)
		require.Equal(t, derive.Dropped{Series: total - series}, left)
		require.Equal(t, all[:len(ids)], append([]string{}, ids...))
	}
	ids, _, _ = bounded(derive.Budget{Budget: exposition.Budget{Bytes: 10_000}})
	require.NotEmpty(t, ids)
	require.Less(t, len(ids), 100)
}

// TestTheModelThatIsServedStaysAmongThoseThatClientsMakeUp is about frontends that
// count requests under any name (ai-dynamo/dynamo#9836).
func TestTheModelThatIsServedStaysAmongThoseThatClientsMakeUp(t *testing.T) {
	e, _ := engine.ByName(string(engine.Dynamo))
	listed := []engine.ModelFacts{{Name: "zz/served", State: engine.ModelReady}}
	for _, c := range []struct {
		says   string
		listed []engine.ModelFacts
		budget derive.Budget
		done   int
		kept   string
	}{
		{"it is listed", listed, derive.Budget{Models: 10}, 0, "zz/served"},
		{"it is listed, and there is room for few series", listed, derive.Budget{Budget: exposition.Budget{Series: 40}}, 0, "zz/served"},
		{"nothing is listed, and it has the traffic", nil, derive.Budget{Models: 10}, 100, "zz/served"},
		{"nothing is listed, and nothing was done", nil, derive.Budget{Models: 10}, 0, "a000"},
	} {
		var page strings.Builder
		page.WriteString("# TYPE dynamo_frontend_requests_total counter\n# TYPE dynamo_frontend_inflight_requests gauge\n")
		series := func(model, status string, n int) {
			fmt.Fprintf(&page, "dynamo_frontend_requests_total{model=%q,status=%q} %d\ndynamo_frontend_inflight_requests{model=%q} 0\n", model, status, n, model)
		}
		for i := range 50 {
			series(fmt.Sprintf("a%03d", i), "error", 1000)
		}
		series("zz/served", "success", c.done)
		d := derive.NewDeriver(derive.Options{
			Window: time.Minute, Interval: 5 * time.Second, Engine: e, Budget: c.budget,
			Identity: derive.Identity{Labels: labels.FromStrings("pool_id", "p", "replica_id", "r"), Topology: engine.NewTopology(e, engine.NamedModels{}, c.listed, nil)},
		})
		cache := exposition.NewCache(exposition.Options{Watch: engine.Watch(e)})
		b, err := cache.Parse([]byte(page.String()), "")
		require.NoError(t, err)
		out := d.Derive(0, b)
		found := false
		for i := range out.Shape().Lines() {
			found = found || out.Shape().Labels(i).Get("model_id") == c.kept
		}
		require.True(t, found, c.says)
		if c.budget.Models > 0 {
			require.Equal(t, derive.Dropped{Models: 41}, d.Dropped(), c.says)
		}
	}
}
