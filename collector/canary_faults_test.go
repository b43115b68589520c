package collector_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
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

func TestACanaryThatHangsIsInNobodysWay(t *testing.T) {
	t.Parallel()
	r := worked(t, simulate.Spec{Name: "r0", Kind: simulate.KindServe})
	still := worked(t, simulate.Spec{Name: "still", Kind: simulate.KindTriton})
	arrived := make(chan struct{}, 1000)
	hangs := func() int { return len(arrived) }
	// Its chats hang, its page is as ever.
	address := apiInFront(t, r, func(w http.ResponseWriter, req *http.Request) bool {
		if req.URL.Path != "/v1/chat/completions" {
			return false
		}
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		arrived <- struct{}{}
		<-req.Context().Done()
		return true
	})
	asking := pool("p", "r0="+address+"|"+address)
	withCanary(&asking)
	asking.Canary.FirstTokenTimeout = model.Duration(time.Hour)
	asking.Canary.Timeout = model.Duration(time.Hour)
	c := &cage{line: startLine(t, asking, pool("bystander", of(t, still)...))}
	c.eventually(`engine_version="2.64.0",pool_id="bystander",replica_id="still",state="ready",trtllm_version="1.1.0"} 1`)
	bystander := func() string {
		var b strings.Builder
		for text := range strings.Lines(c.page()) {
			if strings.Contains(text, `pool_id="bystander"`) && strings.HasPrefix(text, "nv_") {
				b.WriteString(text)
			}
		}
		return b.String()
	}
	c.until("a request that hangs", 0, func(map[string]float64) bool { return hangs() > 0 })
	before, scrapes := bystander(), c.status(0).Scrapes
	require.NotEmpty(t, before)
	c.until("scrapes go on", 0, func(map[string]float64) bool { return c.status(0).Scrapes >= scrapes+10 })
	requireSame(t, before, bystander())
	require.Equal(t, target.HealthUp, c.status(0).Health)
	require.Equal(t, "ready", c.status(0).State)
	require.Equal(t, 1, hangs(), "one request at a time")
	require.Equal(t, map[string]float64{"active": 1}, c.series(0), "no result before the first request ended")

	began := time.Now()
	require.NoError(t, c.end())
	require.Less(t, time.Since(began), time.Minute, "a request ends with its target")
}
