package web

import (
	"math"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
)

func TestFigures(t *testing.T) {
	gauge := func(model, name string, v float64) series { return series{name, []string{"model_id", model}, v} }
	failed := func(model, reason, class string, v float64) series {
		return series{"request_error_ratio", []string{"class", class, "model_id", model, "reason", reason}, v}
	}
	entry := func(model string, v float64) series {
		return series{"request_error_ratio", []string{"class", "server", "model", model, "model_id", "one"}, v}
	}
	for _, c := range []struct {
		name   string
		series []series
		want   Figures
	}{
		{"a number without a series is unknown", nil, Figures{}},
		{"0 is a number", []series{gauge("one", "queue_depth", 0)}, Figures{Waiting: new(0.0)}},
		{
			"the sums of all models",
			[]series{
				gauge("one", "generation_tokens_per_second", 5), gauge("two", "generation_tokens_per_second", 7),
				gauge("one", "requests_limit", 32), gauge("two", "requests_limit", 16),
			},
			Figures{Tokens: new(12.0), Limit: new(48.0)},
		},
		{
			"a model without a value does not make the sum unknown",
			[]series{gauge("one", "requests_running", 5), gauge("two", "requests_running", math.NaN())},
			Figures{Running: new(5.0)},
		},
		{
			"the fullest cache and the slowest first token",
			[]series{
				gauge("one", "kv_cache_utilization_ratio", 0.9), gauge("two", "kv_cache_utilization_ratio", 0.2),
				gauge("one", "time_to_first_token_average_seconds", 0.1),
				gauge("two", "time_to_first_token_average_seconds", 4),
			},
			Figures{Cache: new(0.9), FirstToken: new(4.0)},
		},
		{"infinity is unknown", []series{gauge("one", "request_duration_average_seconds", math.Inf(1))}, Figures{}},
		{
			"all reasons of one model except cancellations",
			[]series{
				failed("one", "backend", "", 0.25), failed("one", "other", "", 0.5),
				failed("one", "canceled", "", 0.5),
			},
			Figures{Failed: new(0.75)},
		},
		{
			"the worst of several models",
			[]series{failed("one", "backend", "", 0.1), failed("two", "backend", "", 0.4)},
			Figures{Failed: new(0.4)},
		},
		{
			"the worst of several entry models of one deployment",
			[]series{entry("ensemble", 0.7), entry("bls", 0.6)},
			Figures{Failed: new(0.7)},
		},
		{
			"failures of class server, if series have a class",
			[]series{
				failed("one", "400", "client", 0.3), failed("one", "500", "server", 0.05),
				failed("one", "429", "overload", 0.2),
			},
			Figures{Failed: new(0.05)},
		},
		{"failures of clients tell nothing about the server", []series{failed("one", "400", "client", 0.3)}, Figures{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := snapshot.NewStore()
			slot := addReplica(t, store)
			slot.Publish(snapshot.Snapshot{Derived: block(c.series)})
			h := newHistory(store)

			for range 2 {
				require.Equal(t, c.want, h.figures(slot))
			}
		})
	}
}

func TestFiguresOfHiddenSeries(t *testing.T) {
	computed := func(name string, aside bool) exposition.ComputedSeries {
		return exposition.ComputedSeries{
			Family: exposition.Family{Name: "llm_server_" + name, Type: model.MetricTypeGauge},
			Hidden: aside,
		}
	}
	b := exposition.NewComputed([]exposition.ComputedSeries{
		computed(
			"generation_tokens_per_second",
			true,
		), computed("requests_running", false), computed("time_to_first_token_average_seconds", true),
	}, nil).Block()
	b.Set(0, 5)
	b.Set(1, 3)
	require.Equal(t, 1, b.Shape().Lines())
	store := snapshot.NewStore()
	slot := addReplica(t, store)
	slot.Publish(snapshot.Snapshot{Derived: b})
	f := newHistory(store).figures(slot)
	require.InDelta(t, 5, *f.Tokens, 0)
	require.InDelta(t, 3, *f.Running, 0)
	require.Nil(t, f.FirstToken, "unknown is not 0")
}

func TestFiguresFollowShapeChange(t *testing.T) {
	store := snapshot.NewStore()
	slot := addReplica(t, store)
	h := newHistory(store)
	slot.Publish(tokens(5))
	require.InDelta(t, 5, *h.figures(slot).Tokens, 0)

	slot.Publish(snapshot.Snapshot{Derived: block([]series{
		{"queue_depth", []string{"model_id", "m"}, 3}, {"generation_tokens_per_second", []string{"model_id", "m"}, 9},
	})})
	require.InDelta(t, 9, *h.figures(slot).Tokens, 0)
	require.InDelta(t, 3, *h.figures(slot).Waiting, 0)

	slot.Publish(snapshot.Snapshot{})
	require.Nil(t, h.figures(slot).Tokens, "a page that fails leaves no number behind")
}

// TestFiguresNeedNoGroup has status pages read families that are computed whatever groups are exposed.
func TestFiguresNeedNoGroup(t *testing.T) {
	nothing := exposition.NewComputed(nil, nil)
	x := figureIndex{shape: nothing, groups: make(map[string]map[string][]exposition.ValueIndex)}
	x.figures(nothing.Block())
	x.counts(nothing.Block())
	require.NotEmpty(t, x.groups)
	for family := range x.groups {
		computed := []exposition.Group{exposition.GroupCore, exposition.GroupWindows}
		require.Contains(t, computed, assess.GroupOf(family), family)
	}
}
