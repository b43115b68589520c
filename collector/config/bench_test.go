package config_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
)

// Run with: go test -bench=Parse -run=^$ ./collector/config .
func BenchmarkParse5000Targets(b *testing.B) {
	var text strings.Builder
	text.WriteString("pools:\n  - pool_id: llama\n    static_configs:\n")
	for i := range 5000 {
		fmt.Fprintf(&text, "      - targets: [\"10.0.%d.%d:8002\"]\n        labels: { replica_id: r%d }\n", i/250, i%250, i)
	}
	document := []byte(text.String())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := config.Parse("config.yml", document); err != nil {
			b.Fatal(err)
		}
	}
}
