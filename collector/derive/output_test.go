package derive_test

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// modelIDs returns the ids of the models with derived series.
func (b *bench) modelIDs() (ids []string) {
	for n := range b.out.Shape().Lines() {
		if id := b.out.Shape().Labels(n).Get("model_id"); id != "" {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func TestLimitDropsDerivedSeriesOfWholeModels(t *testing.T) {
	page := []string{`nv_gpu_utilization{gpu_uuid="GPU-1"} 0.5`}
	for i := range 100 {
		page = append(page, fmt.Sprintf(`nv_inference_request_success{model="m%03d",version="1"} 7`, i))
	}
	bounded := func(limit derive.Output) (ids []string, series int, dropped derive.Dropped) {
		b := newBench(t, engine.Triton, "m000", "m001").with(func(o *derive.Options) { o.Output = limit })
		got := b.page(page...)
		require.True(t, got.count("gpu_") > 0 || limit.Series == 1, "what belongs to no model is there")
		return b.modelIDs(), b.out.Shape().Lines(), b.deriver.Dropped()
	}
	all, total, dropped := bounded(derive.Output{})
	require.Len(t, all, 100)
	require.Equal(t, derive.Dropped{}, dropped)

	ids, series, dropped := bounded(derive.Output{Models: 10})
	require.Equal(t, all[:10], ids)
	require.Equal(t, derive.Dropped{Models: 90}, dropped)
	require.Less(t, series, total/5)

	for _, limit := range []int{1, 50, total / 2, total - 1, total} {
		ids, series, dropped = bounded(derive.Output{Volume: exposition.Volume{Series: limit}})
		require.LessOrEqual(t, series, limit)
		require.Equal(t, derive.Dropped{Series: total - series}, dropped)
		require.Equal(t, all[:len(ids)], append([]string{}, ids...))
	}
	ids, _, _ = bounded(derive.Output{Volume: exposition.Volume{Bytes: 10_000}})
	require.NotEmpty(t, ids)
	require.Less(t, len(ids), 100)
}

// TestLimitFollowsTrafficOfEachTarget has two targets whose pages differ only in their traffic.
func TestLimitFollowsTrafficOfEachTarget(t *testing.T) {
	const a, b = `nv_inference_request_success{model="a",version="1"} `, `nv_inference_request_success{model="b",version="1"} `
	limited := func(o *derive.Options) { o.Output.Models = 1 }
	first, second := newBench(t, engine.Triton, "a", "b").with(limited),
		newBench(t, engine.Triton, "a", "b").with(limited)
	first.page(a+"7", b+"3")
	second.page(a+"3", b+"7")
	require.Equal(t, [][]string{{"a"}, {"b"}}, [][]string{first.modelIDs(), second.modelIDs()})
}

// TestManyModelsTakeLittleMemory is about the first page of a frontend to which clients made up names.
func TestManyModelsTakeLittleMemory(t *testing.T) {
	var page []string
	for i := range 300 {
		page = append(
			page,
			fmt.Sprintf(`dynamo_frontend_requests_total{model="m%03d",status="error",error_type="not_found"} 1`, i),
		)
	}
	b := newBench(t, engine.Dynamo)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	b.page(page...)
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(32<<20))
}

// TestInventedModelsDoNotReplaceServedModel is about frontends that count requests
// under any name (ai-dynamo/dynamo#9836).
func TestInventedModelsDoNotReplaceServedModel(t *testing.T) {
	listed := []engine.ModelFacts{{Name: "zz/served", State: engine.ModelReady}}
	for _, c := range []struct {
		name   string
		listed []engine.ModelFacts
		limit  derive.Output
		done   int
		want   string
	}{
		{"it is listed", listed, derive.Output{Models: 10}, 0, "zz/served"},
		{
			"it is listed, and there is room for few series", listed,
			derive.Output{Volume: exposition.Volume{Series: 40}},
			0, "zz/served",
		},
		{"nothing is listed, and it has the traffic", nil, derive.Output{Models: 10}, 100, "zz/served"},
		{"nothing is listed, and nothing was done", nil, derive.Output{Models: 10}, 0, "a000"},
	} {
		series := func(model, status string, n int) []string {
			return []string{
				fmt.Sprintf("dynamo_frontend_requests_total{model=%q,status=%q} %d", model, status, n),
				fmt.Sprintf("dynamo_frontend_inflight_requests{model=%q} 0", model),
			}
		}
		page := series("zz/served", "success", c.done)
		for i := range 50 {
			page = append(page, series(fmt.Sprintf("a%03d", i), "error", 1000)...)
		}
		b := newBench(t, engine.Dynamo).facts(c.listed...).with(func(o *derive.Options) { o.Output = c.limit })
		b.page(page...)
		require.Contains(t, b.modelIDs(), c.want, c.name)
		if c.limit.Models > 0 {
			require.Equal(t, derive.Dropped{Models: 41}, b.deriver.Dropped(), c.name)
		}
	}
}

// TestLimitFollowsModelsThatComeIntoUse has a page of many models: the last ones are in use, or come
// into use while the page keeps its shape.
func TestLimitFollowsModelsThatComeIntoUse(t *testing.T) {
	for name, limit := range map[string]derive.Output{
		"models": {Models: 10},
		"series": {Volume: exposition.Volume{Series: 120}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, engine.Triton).with(func(o *derive.Options) { o.Output = limit })
			page := func(busy ...string) []string {
				var lines []string
				for i := range 100 {
					model := fmt.Sprintf("m%03d", i)
					requests := 0
					if slices.Contains(busy, model) {
						requests = 5
					}
					lines = append(
						lines,
						fmt.Sprintf(`nv_inference_request_success{model=%q,version="1"} %d`, model, requests),
					)
				}
				return lines
			}
			b.page(page("m098")...)
			require.Contains(t, b.modelIDs(), "m098")
			require.NotContains(t, b.modelIDs(), "m097")
			b.page(page("m098", "m097")...)
			require.Subset(t, b.modelIDs(), []string{"m097", "m098"})
		})
	}
}
