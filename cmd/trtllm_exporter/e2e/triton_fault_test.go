//go:build e2e_triton && linux

package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
)

// tokensPerSec is the capacity of the executor of tools/triton/models, at 10 ms a token.
const tokensPerSec = slots * 100

// testWrongPath scrapes another path, for which recent releases return 200 and no body.
func testWrongPath(t *testing.T, s *tritonServer) {
	t.Helper()
	e := startServing(t, "--target", "http://"+s.address()+"/wrong", "--scrape.interval", scrapeInterval.String())
	// Before its first scrape a target is neither up nor down.
	within(t, patience, "the target is down", func() bool { return e.report(t).Health == "down" })
	require.Equal(t, s.release.wrongPath, e.report(t).Failure)
	e.waitUp(t, false)
	require.Empty(t, e.page(t).raw())
}

func testRestart(t *testing.T, s *tritonServer) {
	t.Helper()
	// The counters of the first server are higher than those of the second one.
	s.crowd(t, 12, request{words: 20, tokens: 50}).requireComplete(t)
	e := startExporter(t, s.address())
	s.crowd(t, 8, request{words: 20, tokens: 50}).requireComplete(t)
	order := s.page(t).order
	requireWithinCapacity(t, e.renewed(t))

	s.kill(t)
	e.waitUp(t, false)
	p := e.page(t)
	require.Empty(t, p.raw(), "the series of a server that is gone leave the page")
	require.Empty(t, p.named("llm_server_queue_depth"))

	s.start(t, withSummaries()...)
	within(t, patience, "the target is up again", func() bool {
		p := e.page(t)
		requireWithinCapacity(t, p)
		return len(p.raw()) > 0 && p.only(t, "trtllm_exporter_target_up") == 1
	})
	l := s.crowd(t, 8, request{words: 20, tokens: 50})
	for !l.over() {
		requireWithinCapacity(t, e.page(t))
		pause(t.Context(), scrapeInterval/2)
	}
	tokens := l.requireComplete(t)
	s.requireSameWhenIdle(t, e)
	requireWithinCapacity(t, e.page(t))
	if s.release.histograms {
		require.Equal(
			t,
			float64(tokens),
			e.page(t).only(t, "nv_llm_output_token_len_sum"),
			"the second server counts from 0",
		)
	}
	again := s.page(t).order
	t.Logf("the order of series changed with the restart: %t", !slices.Equal(order, again))
	require.ElementsMatch(t, order, again)
}

// requireWithinCapacity requires that derived values are finite and within the capacity of the executor.
func requireWithinCapacity(t *testing.T, p page) {
	t.Helper()
	requireFinite(t, p)
	for key, s := range p.samples {
		name := s.labels.Get(model.MetricNameLabel)
		if strings.HasPrefix(name, "llm_server_") && strings.HasSuffix(name, "_per_second") {
			require.LessOrEqual(t, s.value, 1.5*tokensPerSec, key)
		}
	}
}
