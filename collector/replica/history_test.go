package replica

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/canary"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
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
			s.Inherit(History{hadPage: true, verdict: before})
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
		s.Inherit(History{hadPage: true, verdict: assess.Verdict{
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

// refusedWith is the failure of a page in whose place the server answers with a status.
func refusedWith(status string) error {
	return &scrape.Error{Reason: scrape.ReasonHTTPStatus, Class: status, Err: errors.New("no page")}
}

// TestReloadKeepsProbes has a server of which no page comes after a change of configuration.
func TestReloadKeepsProbes(t *testing.T) {
	notReady := assess.Probes{Judged: true, Live: true}
	convicted := assess.Probes{Judged: true, Accused: true}
	ready := assess.Probes{Judged: true, Ready: true, Live: true}
	for _, c := range []struct {
		name    string
		state   assess.State
		before  assess.Probes
		answers func(now *answering)
	}{
		{"its page is late, and its API says that it is not ready", assess.NotReady, notReady, func(now *answering) {
			now.failed, now.api, now.status = failed(scrape.ReasonTimeout), nil, http.StatusServiceUnavailable
		}},
		{"a proxy answers for it", assess.Down, notReady, func(now *answering) {
			now.failed, now.api, now.status = refusedWith("503"), nil, http.StatusServiceUnavailable
		}},
		{"nothing answers any more", assess.Stalled, convicted, func(now *answering) {
			now.failed, now.apiTakes = failed(scrape.ReasonTimeout), never
		}},
		{"its page is withheld from one that is ready", assess.Ready, ready, func(now *answering) {
			now.failed, now.api, now.status = refusedWith("401"), nil, http.StatusUnauthorized
		}},
	} {
		t.Run(c.name, bubble(func(t *testing.T) {
			s := step(t, serveAnswers("1.3.0", "hi"), nil)
			s.Inherit(History{hadPage: true, verdict: assess.Verdict{State: c.state, Probes: c.before}})
			for n := range 3 {
				s.dueWith(c.answers)
				status := s.after(5 * time.Second)
				got := assess.Probes{Judged: status.Judged, Ready: status.ProbeReady, Live: status.ProbeLive}
				want := assess.Probes{Judged: true, Ready: c.before.Ready, Live: c.before.Live}
				require.Equal(t, want, got, "scrape %d: %s", n, status.StateReason)
			}
		}))
	}
}

// TestReloadKeepsThatTheCanarySucceeded has a server that hung while it was idle, which only the canary shows.
func TestReloadKeepsThatTheCanarySucceeded(t *testing.T) {
	for _, c := range []struct {
		name   string
		engine string
		prompt string
		want   string
	}{
		{"the kind of server is configured", "trtllm-serve", "", "canary_failing"},
		{"the kind of server is recognised by its page", target.Auto, "", "canary_failing"},
		{"it asks something else now", "trtllm-serve", "Hello", "ready"},
	} {
		t.Run(c.name, bubble(func(t *testing.T) {
			asks := func(prompt string) func(*target.Target, *Pool) {
				return func(tgt *target.Target, p *Pool) {
					tgt.Engine = c.engine
					p.Canary = canary.DefaultConfig
					p.Canary.Enabled = true
					p.Canary.Prompt = cmp.Or(prompt, p.Canary.Prompt)
				}
			}
			before := step(t, serveAnswers("1.3.0", "hi"), asks(""))
			before.due()
			before.send()
			require.Equal(t, canary.OK, before.memory.Canary.Result())
			now := serveAnswers("1.3.0", "hi")
			now.hung = true
			s := step(t, now, asks(c.prompt))
			s.Inherit(before.History())
			for range 3 {
				s.due()
				s.send()
				s.after(time.Minute)
			}
			s.due()
			require.Equal(t, c.want, s.after(time.Second).State)
		}))
	}
}
