package engine_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

func TestTimesOfZeroAreNotMeasured(t *testing.T) {
	const l = `model_name="m"`
	page := func(first, whole float64) []byte {
		var text bytes.Buffer
		text.WriteString("vllm:num_requests_running{" + l + "} 1\nvllm:generation_tokens_total{" + l + "} 9\n")
		for name, sum := range map[string]float64{"time_to_first_token_seconds": first, "e2e_request_latency_seconds": whole} {
			fmt.Fprintf(&text, "vllm:%s_bucket{%s,le=\"+Inf\"} 4\n", name, l)
			fmt.Fprintf(&text, "vllm:%s_sum{%s} %v\nvllm:%[1]s_count{%[2]s} 4\n", name, l, sum)
		}
		return text.Bytes()
	}
	for _, c := range []struct {
		name         string
		first, whole float64
		ttft, e2e    string
	}{
		{"measured", 0.5, 2, "", ""},
		{
			"times to the first token of 0", 0, 2,
			"vllm:time_to_first_token_seconds counts times, and their sum is 0: the server does not measure them", "",
		},
		{"all of 0", 0, 0, "does not measure", "vllm:e2e_request_latency_seconds counts times"},
		{"less than a second in all", 0.001, 0.002, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := readPage(t, engine.VLLM, page(c.first, c.whole))
			for _, check := range engine.Capabilities(engineOf(t, engine.VLLM), &engine.Knowledge{Page: p, Facts: &engine.Facts{}}) {
				want, judged := map[string]string{engine.CanTTFT: c.ttft, engine.CanE2E: c.e2e}[check.Name]
				if judged {
					require.Equal(t, want == "", check.OK, check.Reason)
					require.Contains(t, check.Reason, want)
				}
			}
		})
	}
}

// TestTimesWithoutBucketsAreMeans has a server whose times are summaries, of which only the sum and the count add up.
func TestTimesWithoutBucketsAreMeans(t *testing.T) {
	const l = `{model_name="m"}`
	times := func(name string) string {
		return "vllm:" + name + "_sum" + l + " 2\nvllm:" + name + "_count" + l + " 4\n"
	}
	page := "vllm:generation_tokens_total" + l + " 9\n" + times("time_to_first_token_seconds") +
		times("e2e_request_latency_seconds")
	known := &engine.Knowledge{Page: readPage(t, engine.VLLM, []byte(page))}
	for name, want := range map[string]string{
		engine.CanTTFT: "true, vllm:time_to_first_token_seconds, as a mean: the page has no buckets of it",
		engine.CanE2E:  "true, vllm:e2e_request_latency_seconds, as a mean: the page has no buckets of it",
		engine.CanQuantiles: "false, the page has no buckets of vllm:e2e_request_latency_seconds, so that only means " +
			"are known",
	} {
		require.Equal(t, want, capability(t, engine.VLLM, name, known))
	}
}
