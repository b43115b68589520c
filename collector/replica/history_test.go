package replica

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/canary"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// TestReloadAcquitsNobody has a replica whose predecessor, before a change of configuration, found that all requests
// of its server fail.
func TestReloadAcquitsNobody(t *testing.T) {
	page := func(ok int) string {
		return fmt.Sprintf(
			"trtllm_request_success_total{model_name=\"llama\",engine_type=\"undefined\"} %d\n"+
				"trtllm_request_error_total{http_code=\"500\",model_name=\"llama\",engine_type=\"undefined\"} 9\n", ok,
		)
	}
	for _, c := range []struct {
		name   string
		serves bool
		for30s string
	}{
		{"nobody asks", false, "failing"},
		{"others are served", true, "ready"},
	} {
		t.Run(c.name, bubble(func(t *testing.T) {
			now := serveAnswers("1.3.0", "hi")
			now.page = page(5)
			s := step(t, now, func(_ *target.Target, p *Pool) { p.StallAfter = time.Minute })
			before := assess.Verdict{
				State:    assess.Failing,
				Severity: assess.Broken,
				Probes:   assess.Probes{Judged: true, Live: true, Accused: true},
			}
			s.Inherit(History{hadPage: true, convicted: before})
			s.due()
			status := s.after(time.Second)
			require.Equal(t, "failing", status.State)
			require.False(t, status.ProbeReady, "the probe of one that is %s", status.State)
			for n := range 3 {
				if c.serves {
					s.dueWith(func(now *answering) { now.page = page(6 + n) })
				} else {
					s.due()
				}
				status = s.after(10 * time.Second)
			}
			require.Equal(t, c.for30s, status.State)
			for range 12 {
				s.due()
				status = s.after(10 * time.Second)
			}
			require.Equal(t, "ready", status.State, "its own pages have shown nothing")
		}))
	}
}

// TestReloadKeepsConvictionWhileItIsAskedAgain has a server that hung, and did not answer, before the reload.
func TestReloadKeepsConvictionWhileItIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := step(t, answering{
			page: "sglang:num_running_reqs{model_name=\"m\"} 3\n" +
				"sglang:realtime_tokens_total{mode=\"decode\",model_name=\"m\"} 9\n",
			api: map[string]string{
				"/v1/models": `{"object":"list","data":[{"id":"m","object":"model","owned_by":"sglang"}]}`,
			},
		}, func(tgt *target.Target, p *Pool) {
			tgt.Engine, tgt.MetricsURL = "sglang", "http://10.0.0.1:8000/metrics"
			p.StallAfter = 5 * time.Second
			p.Canary = canary.DefaultConfig
			p.Canary.Confirm = true
		})
		s.slow = map[string]time.Duration{"/health_generate": never}
		s.Inherit(History{hadPage: true, convicted: assess.Verdict{
			State:    assess.Stalled,
			Severity: assess.Broken,
			Probes:   assess.Probes{Judged: true, Accused: true},
		}})
		for n := range 20 {
			s.due()
			status := s.after(5 * time.Second)
			require.Equal(t, "stalled", status.State, "page %d: %s", n, status.StateReason)
			require.False(t, status.ProbeLive, "page %d: %s", n, status.StateReason)
		}
	})
}
