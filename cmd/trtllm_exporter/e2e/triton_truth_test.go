//go:build e2e_triton && linux

package e2e

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/tools/fixture"
)

// paceOfTruth is the iteration time of the compared executors, four times that of other
// tests, so that three servers, their clients and the exporter use a fifth of two cores and
// do not slow each other down.
const paceOfTruth = 40 * time.Millisecond

// tritonCounting describes a Triton with a streaming ensemble, which counts each failure twice by itself.
func tritonCounting() *counting {
	return &counting{
		kind: "triton",
		requests: mix{
			fewestWords: 5, mostWords: 40, fewestTokens: 4, mostTokens: 20, failingPercent: 8, flaws: 3,
		},
		entry:   "/ensemble",
		failure: "server",
		failures: map[string]float64{
			"requests_total/ensemble/server":              1,
			"requests_failed_total/ensemble/other/server": 1,
		},
		hidesQueue: true,
		queue:      "queue depth, not saturated",
		queueAge:   func(*compare) time.Duration { return paceOfTruth },
		between:    func(_ *ledger, late time.Duration) time.Duration { return late },
		underWay:   func(time.Duration) time.Duration { return 40 * time.Millisecond },
		probes:     true,
		compare: func(c *compare) {
			l := c.ledger
			c.counted("generation_tokens_per_second", "tokens/s", "tokens/s", l.answered)
			c.generated()
			c.counted("prompt_tokens_per_second", "prompt tokens/s", "tokens/s", l.asked)
			c.counted("requests_per_second/ensemble", "requests/s", "requests/s", l.finished, l.failed)
			c.errors()
			c.latency()
			c.gauges()
			c.hidden()
			c.unknown()
		},
	}
}

// TestTritonDerivedValuesAreTrue applies three levels of load at the same time.
func TestTritonDerivedValuesAreTrue(t *testing.T) {
	t.Setenv("MODELS", slowedModels(t))
	k := tritonCounting()
	capacity := slots / paceOfTruth.Seconds() / k.requests.meanTokens()
	var levels []level
	for n, share := range []float64{0.3, 0.8, 1.15} {
		s := startTriton(t, releases()[0])
		name := []string{"light", "near the limit", "above the limit"}[n]
		levels = append(levels, level{
			name:    name,
			replica: strings.ReplaceAll(name, " ", "-"),
			client:  &openLoop{server: s.server, plan: k.requests.poisson(uint64(n+1), capacity*share, *loadFor)},
		})
	}
	rows := k.measure(t, levels...)
	if !t.Failed() {
		requireDocumented(t, k.kind, rows, fixture.Updating())
	}
}

// hidden requires that the whole queue of a saturated executor, with the hidden part, is larger than
// the shown one and not larger than the real one: while the queue grows, the estimate reflects the
// requests that ended.
func (c *compare) hidden() {
	c.t.Helper()
	var shown, whole tallied
	for _, r := range c.readings {
		if r.value(c.t, "saturated") != 1 {
			continue
		}
		require.Equal(c.t, float64(activeLimit), r.value(c.t, "requests_active"), "what a full executor took in")
		mean, _, waits := c.ledger.sampledAt(r.scraped, c.age, c.underWay)
		got := r.value(c.t, "queue_depth")
		shown.add(mean.waiting, got, max(0, got-waits.most))
		all := got + r.value(c.t, "queue_hidden_requests_estimate")
		whole.add(mean.waiting, all, math.Abs(all-mean.waiting))
	}
	if shown.n < fewestGauges {
		return
	}
	n := float64(whole.n)
	estimated, truth := whole.exporter/n, whole.client/n
	require.Greater(c.t, estimated, shown.exporter/n, "%s: the hidden part of the queue", c.level)
	require.LessOrEqual(c.t, estimated, 1.15*truth, "%s: mean of the whole queue", c.level)
	row := whole.row(c.level, "queue depth, with the hidden part", "C", "requests", "15 too many", "%")
	row.error = digits(100 * math.Abs(truth-estimated) / truth)
	c.rows = append(c.rows,
		shown.row(c.level, "queue depth, saturated", "B", "requests", "0", "requests too many"), row)
}

// generated compares tokens/s with the tokens in the same window, whose requests may have
// begun before it or not ended in it: a batch at each edge.
func (c *compare) generated() {
	c.t.Helper()
	batch := float64(slots * c.kind.requests.mostTokens)
	const metric = "tokens/s, including running requests"
	c.windows("generation_tokens_per_second", metric, "A", "tokens/s", percent(),
		func(first, last reading, seconds float64) (float64, span) {
			arrived := c.ledger.received.around(first, last, c.edge)
			return c.ledger.received.between(first.scraped, last.scraped) / seconds,
				span{(arrived.least - batch) / seconds, (arrived.most + batch) / seconds}
		})
}

// unknown requires that everything that this release does not expose is absent.
func (c *compare) unknown() {
	c.t.Helper()
	for _, r := range c.readings {
		for _, family := range []string{"model_request_", "model_compute_"} {
			r.requireAbsent(c.t, family, "tensorrt_llm", "a decoupled Python model's times end when it hands over")
		}
		for _, family := range []string{
			"time_to_first_token", "inter_token", "time_per_output_token", "request_queue_",
			"request_duration_seconds",
		} {
			r.requireAbsent(c.t, family, "", "this release has no histogram of it")
		}
	}
	last := c.readings[len(c.readings)-1]
	require.Equal(c.t, 1.0, last.value(c.t, "source_anomaly/tensorrt_llm"))
}

// slowedModels returns a copy of the models with paceOfTruth.
func slowedModels(t *testing.T) string {
	t.Helper()
	const iteration = `"iteration_ms" value { string_value: "%d" }`
	return changedModels(t, map[string][2]string{
		"tensorrt_llm/config.pbtxt": {fmt.Sprintf(iteration, 10), fmt.Sprintf(iteration, paceOfTruth.Milliseconds())},
	})
}

// changedModels returns a copy of the models of tools/triton with changed files.
func changedModels(t *testing.T, changes map[string][2]string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join(repositoryRoot(t), "tools/triton/models"))))
	for name, change := range changes {
		file := filepath.Join(dir, name)
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Contains(t, string(text), change[0])
		require.NoError(t, os.WriteFile(file, []byte(strings.Replace(string(text), change[0], change[1], 1)), 0o600))
	}
	return dir
}
