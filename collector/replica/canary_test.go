package replica

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/canary"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

const chats = "/v1/chat/completions"

// withCanary returns a replica after two canary requests that succeeded.
func withCanary(t *testing.T) *stepped {
	t.Helper()
	s := step(t, serveAnswers("1.1.0", "one"), func(_ *target.Target, p *Pool) {
		p.Canary = canary.DefaultConfig
		p.Canary.Enabled, p.Canary.Interval = true, model.Duration(10*time.Second)
		p.IdentityInterval = time.Hour
	})
	s.due()
	s.send()
	s.after(time.Minute)
	s.due()
	s.send()
	require.Equal(t, 2, s.count(chats))
	require.Equal(t, 2, s.memory.Canary.Last().Answers())
	require.True(t, s.memory.Canary.Last().Alike(), "both answers are alike")
	require.Equal(t, 1, s.count("/version"))
	s.after(time.Minute)
	return s
}

// send sends a due canary request.
func (s *stepped) send() {
	s.read()
	all := s.Schedules()
	all[len(all)-1].Due(s.ctx, 0, nil)
	synctest.Wait()
}

// waits reports whether a canary report waits for the identity.
func (s *stepped) waits() bool {
	_, _, waits := s.memory.Canary.Unconfirmed()
	return waits
}

func TestDifferentOutputNeedsFreshIdentity(t *testing.T) {
	t.Run("the same server is not deterministic", bubble(func(t *testing.T) {
		s := withCanary(t)
		s.change(func(now *answering) { *now = serveAnswers("1.1.0", "two") })
		s.send()
		require.Equal(t, 2, s.count("/version"), "requested at once")
		require.False(t, s.waits(), "nothing waits for the new identity")
		require.EqualValues(t, 1, s.memory.Canary.Last().Changes)
		require.Equal(t, 3, s.memory.Canary.Last().Answers())
		require.False(t, s.memory.Canary.Last().Alike(), "the last answer differs")
		s.due()
		s.shows(
			`llm_server_canary_deterministic{engine="trtllm-serve",engine_version="1.1.0",model_id="llama",` +
				`pool_id="llama-70b-prod",replica_id="r0",trtllm_version="1.1.0"} 0`,
		)
	}))
	t.Run("another version may answer otherwise", bubble(func(t *testing.T) {
		s := withCanary(t)
		s.change(func(now *answering) { *now = serveAnswers("1.2.0", "two") })
		s.send()
		require.True(t, s.waits(), "no page has shown the new version yet")
		require.EqualValues(t, 2, s.memory.Canary.Last().Counts[canary.OK])
		s.after(10 * time.Second)
		s.send()
		require.Equal(t, 3, s.count(chats), "nothing is sent meanwhile")
		s.due()
		require.False(t, s.waits(), "nothing waits for a confirmation")
		require.Equal(t, 4, s.count(chats), "but then")
		require.EqualValues(t, 4, s.memory.Canary.Last().Counts[canary.OK])
		require.Zero(t, s.memory.Canary.Last().Changes)
		require.Equal(t, 2, s.memory.Canary.Last().Answers(), "answers of the new version only")
	}))
	t.Run("the wait for a page is limited", bubble(func(t *testing.T) {
		s := withCanary(t)
		s.change(func(now *answering) { *now = serveAnswers("1.2.0", "two") })
		s.send()
		s.after(2*(s.target.Timeout+s.target.Interval) - time.Second)
		s.send()
		require.True(t, s.waits(), "it waits for a confirmation")
		s.after(2 * time.Second)
		s.send()
		require.False(t, s.waits(), "it has waited long enough")
		require.GreaterOrEqual(t, s.memory.Canary.Last().Counts[canary.OK], uint64(3))
	}))
}

func TestDueRequestWaitsUntilAllowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := withCanary(t)
		s.change(func(now *answering) { now.failed, now.refused = failed("connect"), true })
		s.due()
		require.Equal(t, "down", s.after(0).State)
		require.Equal(t, "the replica is down", s.status.Canary.Hold)
		s.send()
		require.Equal(t, 2, s.count(chats))
		s.change(func(now *answering) { *now = serveAnswers("1.1.0", "one") })
		s.after(5 * time.Second)
		s.due()
		require.Equal(t, "ready", s.after(0).State)
		require.Equal(t, 3, s.count(chats), "as soon as it is back")
		s.send()
		require.Equal(t, 3, s.count(chats), "the last one was late, so this is none")
	})
}

// TestOneRequestDistinguishesHangFromStaleGauge has a vLLM whose gauges say that
// requests are in flight while nothing moves.
func TestOneRequestDistinguishesHangFromStaleGauge(t *testing.T) {
	suspected := func(t *testing.T, confirm, hung bool) *stepped {
		t.Helper()
		now := serveAnswers("0.32.0", "one")
		now.hung = hung
		now.page = "vllm:num_requests_running{model_name=\"llama\"} 3\n" +
			"vllm:generation_tokens_total{model_name=\"llama\"} 9\n"
		now.api["/v1/models"] = `{"object":"list","data":[{"id":"llama","object":"model","owned_by":"vllm"}]}`
		s := step(t, now, func(tgt *target.Target, p *Pool) {
			tgt.Engine, tgt.MetricsURL = "vllm", "http://10.0.0.1:8000/metrics"
			p.Canary = canary.DefaultConfig
			p.Canary.Confirm = confirm
		})
		for range 7 {
			require.Zero(t, s.count(chats))
			s.due()
			s.after(5 * time.Second)
		}
		return s
	}
	t.Run("nobody asks", bubble(func(t *testing.T) {
		s := suspected(t, false, true)
		now := s.after(0)
		require.Equal(t, "ready", now.State)
		require.Equal(t, "look", now.Severity)
		require.True(t, now.Suspected, "suspected, %s", now.StateReason)
		require.Equal(t, "LLMReplicaSuspected", now.Runbook)
		s.shows(`llm_server_suspected{engine="vllm"`)
		require.Zero(t, s.count(chats))
	}))
	t.Run("the server answers", bubble(func(t *testing.T) {
		s := suspected(t, true, false)
		require.Equal(t, 1, s.count(chats))
		for range 24 {
			s.due()
			now := s.after(5 * time.Second)
			require.Equal(t, "ready", now.State)
			require.False(t, now.Suspected, "not suspected, %s", now.StateReason)
			require.Contains(t, now.StateReason, "the exporter's own request was answered")
		}
		require.Equal(t, 3, s.count(chats), "once a minute, as it may hang at any time")
	}))
	t.Run("the server hangs", bubble(func(t *testing.T) {
		s := suspected(t, true, true)
		now := s.after(11 * time.Second)
		require.Equal(t, "stalled", now.State)
		require.False(t, now.Suspected, "convicted, not suspected: %s", now.StateReason)
		require.False(t, now.ProbeLive, "not live, %s", now.StateReason)
		require.Equal(t, 1, s.count(chats))
		for range 12 {
			s.due()
			require.Equal(t, "stalled", s.after(5*time.Second).State)
		}
		require.Equal(t, 2, s.count(chats), "no more than one a minute")
		s.change(func(now *answering) {
			now.hung = false
			now.page = strings.Replace(now.page, " 9", " 10", 1)
		})
		s.due()
		require.Equal(t, "ready", s.after(0).State)
	}))
}

// TestQuestionGoesToTheModelThatFails has a Triton with several models, all requests to one of which fail.
func TestQuestionGoesToTheModelThatFails(t *testing.T) {
	ask := func(t *testing.T, configured, inputs string, others ...string) *stepped {
		t.Helper()
		now := tritonAnswers()
		now.api["/v2/repository/index"] = `[{"name":"a","version":"1","state":"READY"},{"name":"b",` +
			`"version":"1","state":"READY"}]`
		if len(others) > 0 {
			now.api["/v2/repository/index"] = `[{"name":"b","version":"2","state":"READY"}]`
		}
		now.stream = inputs
		s := step(t, now, func(_ *target.Target, p *Pool) {
			p.Canary = canary.DefaultConfig
			p.Canary.Confirm, p.Canary.Model = true, configured
		})
		for failures := range 6 {
			s.change(func(now *answering) {
				now.page = "nv_inference_request_success{model=\"a\",version=\"1\"} 5\n" +
					"nv_inference_request_success{model=\"b\",version=\"1\"} 5\n" +
					"nv_inference_request_failure{model=\"a\",version=\"1\"} 0\n" +
					fmt.Sprintf("nv_inference_request_failure{model=\"b\",version=\"1\"} %d\n", 3*failures) +
					strings.Join(others, "\n")
			})
			s.due()
			s.after(5 * time.Second)
		}
		return s
	}
	const text = `{"inputs":[{"name":"text_input"}]}`
	t.Run("it is asked, and its answer is none", bubble(func(t *testing.T) {
		s := ask(t, "", text)
		require.Equal(t, 1, s.count("/v2/models/b/generate_stream"), "no other model can answer for it")
		require.Zero(t, s.count("/v2/models/a/generate_stream"))
		require.Equal(t, "failing", s.after(0).State)
		require.False(t, s.after(0).ProbeLive, "not live, %s", s.after(0).StateReason)
	}))
	t.Run("its version is not loaded, as of an ensemble", bubble(func(t *testing.T) {
		s := ask(
			t, "", text, `nv_inference_request_success{model="b",version="2"} 0`,
			`nv_inference_request_failure{model="b",version="2"} 0`, "",
		)
		require.Equal(t, 1, s.count("/v2/models/b/generate_stream"), "the server chooses the version")
	}))
	t.Run("it takes no text", bubble(func(t *testing.T) {
		s := ask(t, "", `{"inputs":[{"name":"image"}]}`)
		require.Zero(t, s.count("/v2/models/a/generate_stream"))
		require.Zero(t, s.count("/v2/models/b/generate_stream"))
		require.Equal(t, "failing", s.after(0).State)
		require.True(t, s.after(0).ProbeLive, "a question that cannot be put says nothing")
	}))
	t.Run("the configuration names another", bubble(func(t *testing.T) {
		s := ask(t, "a", text)
		require.Equal(t, 1, s.count("/v2/models/a/generate_stream"))
		require.Zero(t, s.count("/v2/models/b/generate_stream"))
	}))
}

// TestServerThatRemembersFailureIsAskedOnceItMoves has an SGLang that hung, whose own readiness stays
// failed until its next health check succeeds.
func TestServerThatRemembersFailureIsAskedOnceItMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const check = "/health_generate"
		page := func(tokens int) string {
			return fmt.Sprintf(
				"sglang:num_running_reqs{model_name=\"m\"} 3\nsglang:realtime_tokens_total{mode=\"decode\",model_name=\"m\"} %d\n",
				tokens,
			)
		}
		now := answering{
			page: page(9),
			api: map[string]string{
				"/v1/models": `{"object":"list","data":[{"id":"m","object":"model","owned_by":"sglang"}]}`,
			},
		}
		s := step(t, now, func(tgt *target.Target, p *Pool) {
			tgt.Engine, tgt.MetricsURL = "sglang", "http://10.0.0.1:8000/metrics"
			p.Canary = canary.DefaultConfig
			p.Canary.Confirm = true
		})
		s.slow = map[string]time.Duration{check: never}
		pass := func(pages, tokens int) {
			for range pages {
				s.change(func(now *answering) { now.page = page(tokens) })
				s.due()
				s.after(5 * time.Second)
			}
		}
		pass(14, 9)
		require.Equal(t, 1, s.count(check))
		require.Equal(t, "stalled", s.after(0).State)
		s.slow = nil
		s.change(func(now *answering) { now.api[check] = "" })
		pass(2, 10)
		require.Equal(t, 2, s.count(check), "at once, since others are told that it is not ready")
		require.Equal(t, "ready", s.after(0).State)
		for tokens := range 20 {
			pass(1, 11+tokens)
		}
		require.Equal(t, 2, s.count(check), "it answered")
	})
}

// TestHealthCheckDoesNotAnswerForRequestsThatFail has servers whose own health check passes by what fails.
func TestHealthCheckDoesNotAnswerForRequestsThatFail(t *testing.T) {
	const check, paths = "/health_generate", `endpoint="/v1/chat/completions",method="POST"`
	sglang := func(failed int) string {
		return fmt.Sprintf(
			"sglang:num_running_reqs{model_name=\"m\"} 0\nsglang:http_responses_total{%s,status_code=\"500\"} %d\n",
			paths, failed,
		)
	}
	serve := func(failed int) string {
		return fmt.Sprintf(
			"trtllm_num_requests_running 0\ntrtllm_request_error_total{error_type=\"internal\",http_code=\"500\"} %d\n",
			failed,
		)
	}
	for name, tt := range map[string]struct {
		engine         string
		page           func(failed int) string
		requestsAnswer bool
		want           string
		live           bool
	}{
		"an SGLang that fails all requests": {engine: "sglang", page: sglang, want: "failing"},
		"an SGLang of which one client's are bad": {
			engine:         "sglang",
			page:           sglang,
			requestsAnswer: true,
			want:           "ready",
			live:           true,
		},
		"a trtllm-serve that fails all requests": {engine: "trtllm-serve", page: serve, want: "failing"},
		"a trtllm-serve of which one client's are bad": {
			engine:         "trtllm-serve",
			page:           serve,
			requestsAnswer: true,
			want:           "ready",
			live:           true,
		},
	} {
		t.Run(name, bubble(func(t *testing.T) {
			now := serveAnswers("1.3.0", "one")
			now.api["/v1/models"] = `{"object":"list","data":[{"id":"m","object":"model","owned_by":"` + tt.engine + `"}]}`
			now.api[check] = ""
			if !tt.requestsAnswer {
				now.stream = `data: {"error":{"message":"the template is broken","code":500}}` + "\n\n"
			}
			s := step(t, now, func(tgt *target.Target, p *Pool) {
				tgt.Engine, tgt.MetricsURL = tt.engine, "http://10.0.0.1:8000/metrics"
				p.Canary = canary.DefaultConfig
				p.Canary.Confirm = true
			})
			for pages := range 6 {
				s.change(func(now *answering) { now.page = tt.page(3 * pages) })
				s.due()
				s.after(5 * time.Second)
			}
			got := s.after(0)
			require.Equal(t, tt.want, got.State, got.StateReason)
			require.Equal(t, tt.live, got.ProbeLive, got.StateReason)
			require.Zero(t, s.count(check), "it would answer whatever becomes of requests")
			require.Equal(t, 1, s.count(chats))
		}))
	}
}

// anotherKind replaces the server by one of another kind.
func (s *stepped) anotherKind() {
	s.update(func() {
		now := s.Replica.server
		now.Epoch++
		s.setServer(s.ctx, now)
	})
	synctest.Wait()
}

func TestKindChangeDuringCanaryRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := withCanary(t)
		s.change(func(now *answering) { *now = serveAnswers("1.2.0", "two") })
		s.send()
		require.True(t, s.waits(), "another output waits for its identity")
		s.anotherKind()
		require.False(t, s.waits(), "it was another server's")
	})
}

func TestKindChangeDuringCancelCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := withCanary(t)
		s.memory.Canary.WantCancel(time.Minute)
		now := time.Now().Add(time.Second)
		s.memory.Canary.Observe(canary.Load{Requested: now, Received: now, Known: true})
		order, _, _ := s.memory.Canary.NextCancel()
		require.NotNil(t, order)
		s.anotherKind() // The answer of that job is dropped.
		for range 5 {
			s.after(time.Hour)
			s.due()
			s.send()
		}
		require.Greater(t, s.count(chats), 2, "the canary asks again")
	})
}

func TestKindChangeIsShownBeforeCanary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := withCanary(t)
		s.anotherKind()
		s.due()
		require.Equal(t, "ready", s.after(time.Second).State)
		s.shows(
			`llm_server_state{engine="trtllm-serve",engine_version="1.1.0",pool_id="llama-70b-prod",replica_id="r0",` +
				`state="ready",trtllm_version="1.1.0"} 1`,
		)
	})
}

func TestCanaryFailureAndRecoveryAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := withCanary(t)
		var log bytes.Buffer
		s.log = slog.New(slog.NewTextHandler(&log, nil))
		send := func(hung bool) string {
			log.Reset()
			s.change(func(now *answering) { now.hung = hung })
			s.send()
			s.after(time.Minute)
			return log.String()
		}
		require.NotContains(t, send(false), "Canary")
		require.Contains(t, send(true), `msg="Canary fails" model=llama result=no_first_token`)
		require.NotContains(t, send(true), "Canary", "once")
		require.Contains(t, send(false), `msg="Canary recovered" model=llama`)
	})
}
