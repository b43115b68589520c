package derive_test

import (
	"slices"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// TestWithoutWindowGaugesThoseThatAQueryHasAreNotOnThePage checks that exactly the
// series of families that a query can compute are left out.
func TestWithoutWindowGaugesThoseThatAQueryHasAreNotOnThePage(t *testing.T) {
	for _, kind := range []simulate.Kind{simulate.KindTriton, simulate.KindServe, simulate.KindVLLM} {
		t.Run(string(kind), func(t *testing.T) {
			spec := simulate.Spec{Kind: kind, Setup: simulate.Setup{Histograms: true}, Streaming: true, Workload: simulate.Workload{Rate: 5}}
			all, _ := derived(t, spec, derive.Options{})
			less, _ := derived(t, spec, derive.Options{NoWindowGauges: true})
			var want []labels.Labels
			for _, l := range all {
				name := l.Get(model.MetricNameLabel)
				if !slices.ContainsFunc(derive.Catalogue(), func(f derive.Family) bool { return f.Name == name && f.InPromQL.Query != "" }) {
					want = append(want, l)
				}
			}
			require.Equal(t, want, less)
			require.Less(t, len(less), len(all)-3)
		})
	}
}

// TestWhatIsLeftOutTakesNoRoom has a budget for as many series as there are without the
// gauges, which is too small for all.
func TestWhatIsLeftOutTakesNoRoom(t *testing.T) {
	replica, err := simulate.NewReplica(simulate.Spec{Kind: simulate.KindServe, Workload: simulate.Workload{Rate: 5}})
	require.NoError(t, err)
	replica.Advance(time.Minute)
	page, _ := replica.Observe()
	of := func(opts derive.Options) (series, left int) {
		opts.Window, opts.Interval = time.Minute, scrapeEvery
		opts.Engine, _ = engine.ByName(string(engine.TRTLLMServe))
		opts.Identity.Topology = engine.NewTopology(opts.Engine, engine.NamedModels{}, nil, nil)
		d := derive.NewDeriver(opts)
		cache := exposition.NewCache(exposition.Options{Watch: engine.Watch(opts.Engine)})
		raw, err := cache.Parse(page, "")
		require.NoError(t, err)
		out := d.Derive(0, raw)
		return out.Shape().Lines(), d.Dropped().Series
	}
	all, _ := of(derive.Options{})
	less, _ := of(derive.Options{NoWindowGauges: true})
	require.Less(t, less, all)
	room := derive.Budget{Budget: exposition.Budget{Series: less}}
	series, left := of(derive.Options{NoWindowGauges: true, Budget: room})
	require.Equal(t, []int{less, 0}, []int{series, left})
	series, left = of(derive.Options{Budget: room})
	require.Less(t, series, less, "all series of the model go, not some")
	require.Equal(t, all-series, left)
}
