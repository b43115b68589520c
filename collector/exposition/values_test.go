package exposition_test

import (
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

func TestShapeChangesOnlyWithSeries(t *testing.T) {
	f := &exposition.Family{Name: "x", Type: model.MetricTypeGauge}
	local := labels.FromStrings("pool_id", "p")
	var values exposition.Values
	block := func(v float64, states ...string) *exposition.Block {
		for _, s := range states {
			values.Add(f, v, local, labels.Label{Name: "state", Value: s})
		}
		return values.Block()
	}
	first := block(1, "up", "")
	require.Equal(t, "x{pool_id=\"p\",state=\"up\"} 1\nx{pool_id=\"p\"} 1\n", string(first.AppendFamily(nil, 0)))
	second := block(2, "up", "")
	require.Same(t, first.Shape(), second.Shape())
	require.Equal(t, "2", string(second.Text(1)))
	require.Equal(t, "1", string(first.Text(1)), "a block never changes")
	for name, states := range map[string][]string{
		"one less": {"up"},
		"one more": {"up", "", "down"},
		"another":  {"up", "down"},
	} {
		before := block(3, "up", "")
		other := block(4, states...)
		require.NotSame(t, before.Shape(), other.Shape(), name)
		require.Equal(t, len(states), other.Shape().Lines(), name)
	}
	require.Zero(t, values.Block().Shape().Lines(), "none were listed")
}
