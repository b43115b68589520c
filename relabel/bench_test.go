package relabel_test

import (
	"testing"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/relabel"
)

func BenchmarkSeries(b *testing.B) {
	in := labels.FromStrings("__name__", "nv_trt_llm_kv_cache_block_metrics", "kv_cache_block_type", "used", "model", "tensorrt_llm", "version", "1")
	for name, text := range map[string]string{
		"no rules":  `[]`,
		"two rules": `[{source_labels: [__name__], regex: "nv_pinned_.*", action: drop}, {regex: "gpu_uuid", action: labeldrop}]`,
	} {
		b.Run(name, func(b *testing.B) {
			r := relabel.New(rules(b, text), llama())
			b.ReportAllocs()
			for b.Loop() {
				if !r.Series(in).Keep {
					b.Fatal("dropped")
				}
			}
		})
	}
}
