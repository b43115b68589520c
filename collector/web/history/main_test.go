package history_test

import (
	"math"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// series is a series of a replica with its value.
type series struct {
	name   string
	labels []string
	value  float64
}

// block returns a block of series with their values.
func block(all []series) *exposition.Block {
	computed := make([]exposition.ComputedSeries, len(all))
	for i, s := range all {
		computed[i] = exposition.ComputedSeries{
			Family: exposition.Family{Name: "llm_server_" + s.name, Type: model.MetricTypeGauge},
			Labels: labels.FromStrings(s.labels...),
		}
	}
	b := exposition.NewComputed(computed, nil).Block()
	for i, s := range all {
		b.Set(i, s.value)
	}
	return b
}

// add adds a replica of pool a.
func add(tb testing.TB, store *snapshot.Store, name string) *snapshot.Slot {
	tb.Helper()
	slot, err := store.Add(&target.Target{PoolID: "a", ReplicaID: name})
	require.NoError(tb, err)
	return slot
}

// tokens returns a snapshot of a replica that serves.
func tokens(perSecond float64) snapshot.Snapshot {
	return snapshot.Snapshot{
		Derived: block([]series{{"generation_tokens_per_second", []string{"model_id", "m"}, perSecond}}),
		Status:  target.Status{Verdict: target.Verdict{State: "ready", Severity: "ok", StateSince: time.Unix(100, 0)}, Scraping: target.Scraping{LastScrape: time.Now()}},
	}
}

// shown replaces NaN, which is not equal to itself, by -1.
func shown(values []float64) []float64 {
	for i, v := range values {
		if math.IsNaN(v) {
			values[i] = -1
		}
	}
	return values
}
