package collector_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

func TestAReloadKeepsWhatTheCanaryKnowsUnlessItChanges(t *testing.T) {
	t.Parallel()
	c := fly(t, nil, simulate.Spec{Kind: simulate.KindServe})
	before := c.well(0, 3)["requests_total ok"]
	c.apply(c.config, pool("other", "nobody=127.0.0.1:1"))
	require.GreaterOrEqual(t, c.well(0, 1)["requests_total ok"], before+1)

	c.config.Canary.MaxTokens = 4
	c.apply(c.config)
	s := c.until("a canary that begins again", 0, func(s map[string]float64) bool { return s["tokens"] == 4 })
	require.LessOrEqual(t, s["requests_total ok"]+before, float64(c.server(0).Truth().Arrived), "what was counted before")
}
