package history_test

import (
	"math"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
	"github.com/trtllm-exporter/trtllm_exporter/collector/web/history"
)

func TestFiguresOfAReplica(t *testing.T) {
	one, two := []string{"model_id", "one"}, []string{"model_id", "two"}
	failed := func(model, reason, class string, v float64) series {
		return series{"request_error_ratio", []string{"class", class, "model_id", model, "reason", reason}, v}
	}
	nan := math.NaN()
	for _, c := range []struct {
		name   string
		series []series
		of     func(f history.Figures) *float64
		want   float64
	}{
		{"what no series has is unknown and not 0", nil, func(f history.Figures) *float64 { return f.Tokens }, -1},
		{"0 is 0", []series{{"queue_depth", one, 0}}, func(f history.Figures) *float64 { return f.Waiting }, 0},
		{
			"tokens of all models add up",
			[]series{{"generation_tokens_per_second", one, 5}, {"generation_tokens_per_second", two, 7}},
			func(f history.Figures) *float64 { return f.Tokens }, 12,
		},
		{
			"a model that has no value does not make the sum unknown",
			[]series{{"requests_running", one, 5}, {"requests_running", two, nan}},
			func(f history.Figures) *float64 { return f.Running }, 5,
		},
		{"limits add up", []series{{"requests_limit", one, 32}, {"requests_limit", two, 16}}, func(f history.Figures) *float64 { return f.Limit }, 48},
		{
			"of the caches the fullest counts",
			[]series{{"kv_cache_utilization_ratio", one, 0.9}, {"kv_cache_utilization_ratio", two, 0.2}},
			func(f history.Figures) *float64 { return f.Cache }, 0.9,
		},
		{
			"the slowest first token counts",
			[]series{{"time_to_first_token_average_seconds", one, 0.1}, {"time_to_first_token_average_seconds", two, 4}},
			func(f history.Figures) *float64 { return f.FirstToken }, 4,
		},
		{
			"requests that are not finite have no duration",
			[]series{{"request_duration_average_seconds", one, math.Inf(1)}},
			func(f history.Figures) *float64 { return f.Duration }, -1,
		},
		{
			"reasons of one model add up, what clients canceled aside",
			[]series{failed("one", "backend", "", 0.1), failed("one", "other", "", 0.2), failed("one", "canceled", "", 0.5)},
			func(f history.Figures) *float64 { return f.Failed }, 0.3,
		},
		{
			"of several models the worst counts",
			[]series{failed("one", "backend", "", 0.1), failed("two", "backend", "", 0.4)},
			func(f history.Figures) *float64 { return f.Failed }, 0.4,
		},
		{
			"entry models of one deployment are models of their own",
			[]series{
				{"request_error_ratio", []string{"class", "server", "model", "ensemble", "model_id", "one"}, 0.7},
				{"request_error_ratio", []string{"class", "server", "model", "bls", "model_id", "one"}, 0.6},
			},
			func(f history.Figures) *float64 { return f.Failed }, 0.7,
		},
		{
			"where series have a class only the server's failures count",
			[]series{failed("one", "400", "client", 0.3), failed("one", "500", "server", 0.05), failed("one", "429", "overload", 0.2)},
			func(f history.Figures) *float64 { return f.Failed }, 0.05,
		},
		{
			"failures of clients alone say nothing of the server",
			[]series{failed("one", "400", "client", 0.3)},
			func(f history.Figures) *float64 { return f.Failed }, -1,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := snapshot.NewStore()
			slot := add(t, store, "r0")
			slot.Publish(snapshot.Snapshot{Derived: block(c.series)})
			h := history.New(store)

			for range 2 {
				require.InDelta(t, c.want, orElse(c.of(h.Figures(slot)), -1), 1e-9)
			}
		})
	}
}

// TestFiguresAreReadOfSeriesThatAreOnNoPage has a gauge that the page leaves out.
func TestFiguresAreReadOfSeriesThatAreOnNoPage(t *testing.T) {
	of := func(name string, aside bool) exposition.ComputedSeries {
		return exposition.ComputedSeries{Family: exposition.Family{Name: "llm_server_" + name, Type: model.MetricTypeGauge}, Hidden: aside}
	}
	b := exposition.NewComputed([]exposition.ComputedSeries{
		of("generation_tokens_per_second", true), of("requests_running", false), of("time_to_first_token_average_seconds", true),
	}, nil).Block()
	b.Set(0, 5)
	b.Set(1, 3)
	require.Equal(t, 1, b.Shape().Lines())
	store := snapshot.NewStore()
	slot := add(t, store, "r0")
	slot.Publish(snapshot.Snapshot{Derived: b})
	f := history.New(store).Figures(slot)
	require.InDelta(t, 5, *f.Tokens, 0)
	require.InDelta(t, 3, *f.Running, 0)
	require.Nil(t, f.FirstToken, "what is not known is not 0 there either")
}

func TestFiguresFollowAChangeOfShape(t *testing.T) {
	store := snapshot.NewStore()
	slot := add(t, store, "r0")
	h := history.New(store)
	slot.Publish(tokens(5))
	require.InDelta(t, 5, *h.Figures(slot).Tokens, 0)

	slot.Publish(snapshot.Snapshot{Derived: block([]series{
		{"queue_depth", []string{"model_id", "m"}, 3}, {"generation_tokens_per_second", []string{"model_id", "m"}, 9},
	})})
	require.InDelta(t, 9, *h.Figures(slot).Tokens, 0)
	require.InDelta(t, 3, *h.Figures(slot).Waiting, 0)

	slot.Publish(snapshot.Snapshot{})
	require.Nil(t, h.Figures(slot).Tokens, "a page that fails leaves no number behind")
}

// orElse returns a number, or another one for nil.
func orElse(v *float64, none float64) float64 {
	if v == nil {
		return none
	}
	return *v
}
