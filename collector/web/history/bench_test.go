package history_test

import (
	"strconv"
	"testing"

	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
	"github.com/trtllm-exporter/trtllm_exporter/collector/web/history"
)

// BenchmarkFigures reads the numbers of a thousand replicas, as each sample does.
//
//	go test ./collector/web/history -run '^$' -bench Figures -count 6
func BenchmarkFigures(b *testing.B) {
	store := snapshot.NewStore()
	var slots []*snapshot.Slot
	for i := range 1000 {
		slot := add(b, store, strconv.Itoa(i))
		slot.Publish(tokens(float64(i)))
		slots = append(slots, slot)
	}
	h := history.New(store)
	b.ReportAllocs()
	for b.Loop() {
		for _, slot := range slots {
			h.Figures(slot)
		}
	}
}
