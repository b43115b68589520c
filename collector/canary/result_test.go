package canary_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/canary"
)

// TestTokenIsAnAnswer tells which reports show that a server answers, whatever became of the end.
func TestTokenIsAnAnswer(t *testing.T) {
	for _, c := range []struct {
		says   string
		report canary.Report
		want   bool
	}{
		{"a good answer", canary.Report{Result: canary.OK, Frames: 3}, true},
		{"a model that ends at once", canary.Report{Result: canary.Empty}, true},
		{"all tokens, and a late end", canary.Report{Result: canary.NeverEnded, Frames: 1}, true},
		{"a token, and a proxy that cuts the stream", canary.Report{Result: canary.Truncated, Frames: 1}, true},
		{"a stream that is cut before any token", canary.Report{Result: canary.Truncated}, false},
		{"tokens that do not go on", canary.Report{Result: canary.Stalled, Frames: 2}, false},
		{"an error after a token", canary.Report{Result: canary.ErrorFrame, Frames: 1}, false},
		{"no word", canary.Report{Result: canary.NoFirstToken}, false},
		{"an exporter that gave up", canary.Report{}, false},
	} {
		require.Equal(t, c.want, c.report.Answered(), c.says)
	}
}
