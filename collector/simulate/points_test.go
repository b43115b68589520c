package simulate_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// The tests of this file show, one by one, what a real Triton was seen to do:
// what its page says and what is true are two things.

// listening opens a replica's ports for the length of a test.
func listening(t *testing.T, spec simulate.Spec) *simulate.Replica {
	t.Helper()
	r := newReplica(t, spec)
	require.NoError(t, r.Listen(t.Context()))
	t.Cleanup(r.Close)
	return r
}

type reply struct {
	status int
	header http.Header
	body   string
	err    error
}

func client(t *testing.T) *http.Client {
	t.Helper()
	transport := &http.Transport{DisableCompression: true, DisableKeepAlives: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

func ask(t *testing.T, method, url, body string) reply {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	resp, err := client(t).Do(req)
	if err != nil {
		return reply{err: err}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, string(text), err}
}

func get(t *testing.T, url string) reply { t.Helper(); return ask(t, http.MethodGet, url, "") }

func failure(model, reason string) string {
	return `nv_inference_request_failure{model="` + model + `",reason="` + reason + `",version="1"}`
}

func success(model string) string {
	return `nv_inference_request_success{model="` + model + `",version="1"}`
}

func trt(family, label, value string) string {
	if label < "model" {
		return "nv_trt_llm_" + family + "_metrics{" + label + `="` + value + `",model="tensorrt_llm",version="1"}`
	}
	return "nv_trt_llm_" + family + `_metrics{model="tensorrt_llm",` + label + `="` + value + `",version="1"}`
}

func samplesOf(t *testing.T, r *simulate.Replica) map[string]float64 {
	t.Helper()
	s, _ := parsePage(t, r.Page())
	return s
}

func TestPoint1ReadinessLiesWhenStubsAreDead(t *testing.T) {
	t.Parallel()
	r := listening(t, simulate.Spec{Kind: simulate.KindTritonPython, EngineVersion: "2.51.0", Streaming: true, Workload: simulate.Workload{Rate: 4}})
	r.Advance(time.Minute)
	r.FailRequests(true)
	before := samplesOf(t, r)
	r.Advance(time.Minute)
	after := samplesOf(t, r)
	for _, path := range []string{"/v2/health/live", "/v2/health/ready"} {
		require.Equal(t, http.StatusOK, get(t, r.APIURL()+path).status, path)
	}
	require.Greater(t, after[failure("ensemble", "OTHER")], before[failure("ensemble", "OTHER")])
	require.Greater(t, after[failure("preprocessing", "BACKEND")], before[failure("preprocessing", "BACKEND")])
	require.Equal(t, before[success("ensemble")], after[success("ensemble")])
	require.Equal(t, before[trt("request", "request_type", "active")], after[trt("request", "request_type", "active")], "gauges stay, frozen")
	require.Equal(t, before[trt("general", "general_type", "iteration_counter")], after[trt("general", "general_type", "iteration_counter")])

	answer := ask(t, http.MethodPost, r.APIURL()+"/v2/models/ensemble/generate_stream", `{"text_input":"hi","max_tokens":3}`)
	require.Equal(t, http.StatusBadRequest, answer.status)
	require.Contains(t, answer.body, `data: {"error":`)
	require.Contains(t, answer.body, "is not healthy")
}

func TestPoint2AStuckStreamIsInvisible(t *testing.T) {
	t.Parallel()
	r := listening(t, simulate.Spec{Streaming: true})
	r.Stick(1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.APIURL()+"/v2/models/ensemble/generate_stream", strings.NewReader(`{"text_input":"hi","max_tokens":5}`))
	require.NoError(t, err)
	ended := make(chan int)
	go func() {
		defer close(ended)
		resp, err := client(t).Do(req)
		if err != nil {
			return
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		ended <- strings.Count(string(body), "data: ")
	}()
	require.Eventually(t, func() bool { return r.Truth().InFlight == 1 }, 5*time.Second, time.Millisecond)
	r.Advance(time.Minute)
	require.Never(t, func() bool { return len(ended) > 0 }, 100*time.Millisecond, 10*time.Millisecond, "the stream stays open")
	truth, s := r.Truth(), samplesOf(t, r)
	require.Equal(t, uint64(1), truth.Stuck)
	require.Equal(t, uint64(5), truth.GeneratedTokensSoFar)
	require.Zero(t, s[success("ensemble")])
	require.Zero(t, s[failure("ensemble", "OTHER")])
	require.Zero(t, s[trt("request", "request_type", "active")])
	require.Equal(t, http.StatusOK, get(t, r.APIURL()+"/v2/health/ready").status)
	cancel()
	require.Equal(t, 5, <-ended)
	<-ended
}

func TestPoint4AStepsErrorCountsOnTheEnsembleOnly(t *testing.T) {
	t.Parallel()
	spec := simulate.Spec{Kind: simulate.KindTritonPython, Streaming: true, Workload: simulate.Workload{Rate: 4, ErrorRate: 0.5}}
	spec.EngineVersion = "2.51.0"
	r := newReplica(t, spec)
	r.Advance(time.Minute)
	page, truth := r.Observe()
	s, _ := parsePage(t, page)
	require.Equal(t, float64(2*truth.Failed), s[failure("ensemble", "OTHER")], "it counts each twice")
	require.Zero(t, s[failure("tensorrt_llm", "OTHER")])
	require.Equal(t, float64(truth.Arrived), s[success("tensorrt_llm")], "the step that answered with an error is a success")

	spec.EngineVersion = "2.44.0"
	old := newReplica(t, spec)
	old.Advance(time.Minute)
	page, truth = old.Observe()
	s, _ = parsePage(t, page)
	require.Equal(t, float64(truth.Failed), s[`nv_inference_request_failure{model="ensemble",version="1"}`])
	require.Equal(t, float64(truth.Failed), s[`nv_inference_request_failure{model="tensorrt_llm",version="1"}`])
}

func TestPoint5TheQueueHidesInTheExecutor(t *testing.T) {
	t.Parallel()
	r := newReplica(t, simulate.Spec{Streaming: true, Workload: simulate.Workload{Rate: 30}, Engine: simulate.Engine{MaxActive: 4}})
	r.Advance(30 * time.Second)
	page, truth := r.Observe()
	s, _ := parsePage(t, page)
	require.Greater(t, truth.Hidden, 100)
	require.Equal(t, 4.0, s[trt("request", "request_type", "active")])
	require.Equal(t, 4.0, s[trt("request", "request_type", "max")])
	require.Zero(t, s[trt("request", "request_type", "waiting")])
	for _, m := range []string{"ensemble", "preprocessing", "tensorrt_llm", "postprocessing", "tensorrt_llm_bls"} {
		require.Zero(t, s[`nv_inference_pending_request_count{model="`+m+`",version="1"}`])
	}
}

func TestPoint6ADecoupledModelsDurationEndsWithExecute(t *testing.T) {
	t.Parallel()
	duration := func(m string) string { return `nv_inference_request_duration_us{model="` + m + `",version="1"}` }
	r := newReplica(t, simulate.Spec{Kind: simulate.KindTritonPython, Streaming: true, Workload: simulate.Workload{Rate: 2}})
	r.Advance(time.Minute)
	page, truth := r.Observe()
	s, _ := parsePage(t, page)
	require.Greater(t, s[duration("ensemble")], 20*s[duration("tensorrt_llm")])
	require.Equal(t, float64(truth.Arrived), s[`nv_inference_count{model="tensorrt_llm",version="1"}`], "counted at acceptance")
	require.Equal(t, float64(truth.GeneratedTokensSoFar), s[`nv_inference_count{model="postprocessing",version="1"}`], "one a token")
}

func TestPoint7ClientsThatLeaveAreNotSeen(t *testing.T) {
	t.Parallel()
	r := newReplica(t, simulate.Spec{Streaming: true, Workload: simulate.Workload{Rate: 4, AbandonRate: 0.5}})
	r.Advance(time.Minute)
	page, truth := r.Observe()
	s, _ := parsePage(t, page)
	require.Positive(t, truth.Abandoned)
	require.Equal(t, float64(truth.Finished), s[success("ensemble")])
	require.Zero(t, s[failure("ensemble", "CANCELED")])
	require.Zero(t, s[failure("tensorrt_llm", "CANCELED")])
	require.Equal(t, float64(truth.GenerationTokens),
		s[`nv_llm_output_token_len_sum{model="tensorrt_llm",response_metric_type="total_output_tokens",version="1"}`])
}

func TestPoint8RequestsThatCannotBeAreTurnedAway(t *testing.T) {
	t.Parallel()
	r := listening(t, simulate.Spec{})
	for _, c := range []struct {
		model, body string
		status      int
	}{
		{"ensemble", `{"text_input":"hi","max_tokens":1000}`, http.StatusOK},
		{"nobody", `{"text_input":"hi"}`, http.StatusNotFound},
		{"ensemble", `{}`, http.StatusBadRequest},
	} {
		answer := make(chan reply, 1)
		go func() { answer <- ask(t, http.MethodPost, r.APIURL()+"/v2/models/"+c.model+"/generate_stream", c.body) }()
		require.Eventually(t, func() bool {
			r.Advance(time.Second)
			return len(answer) > 0
		}, 5*time.Second, time.Millisecond)
		got := <-answer
		require.Equal(t, c.status, got.status)
		if c.status == http.StatusOK {
			require.Equal(t, 1, strings.Count(got.body, "data: "), "a model that is not decoupled answers once")
		}
	}
}

func TestPoint9UnloadLeavesHalfOfTheModelOnThePage(t *testing.T) {
	for _, c := range []struct {
		name       string
		kind       simulate.Kind
		customStay bool
	}{
		{"the Python backend's own series stay, frozen", simulate.KindTritonPython, true},
		{"the C++ backend's own series go", simulate.KindTriton, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := listening(t, simulate.Spec{Kind: c.kind, Streaming: true, Workload: simulate.Workload{Rate: 4, ErrorRate: 0.2}})
			r.Advance(time.Minute)
			r.SetRate(0)
			r.Advance(time.Minute)
			before := samplesOf(t, r)
			r.Unload("tensorrt_llm")
			r.Advance(time.Second)
			require.Equal(t, http.StatusBadRequest, get(t, r.APIURL()+"/v2/health/ready").status, "unloading")
			require.Contains(t, ask(t, http.MethodPost, r.APIURL()+"/v2/repository/index", "").body, `"state":"UNLOADING"`)
			require.Len(t, samplesOf(t, r), len(before))

			r.Advance(time.Second)
			require.Equal(t, http.StatusOK, get(t, r.APIURL()+"/v2/health/ready").status, "unloaded is ready again")
			var index []struct{ Name, State, Reason string }
			require.NoError(t, json.Unmarshal([]byte(ask(t, http.MethodPost, r.APIURL()+"/v2/repository/index", "").body), &index))
			states := map[string]string{}
			for _, m := range index {
				states[m.Name] = m.State + "/" + m.Reason
			}
			require.Equal(t, "UNAVAILABLE/unloaded", states["tensorrt_llm"])
			require.Equal(t, "UNAVAILABLE/unloaded", states["ensemble"])
			require.Equal(t, "READY/", states["preprocessing"])
			gone := samplesOf(t, r)
			require.NotContains(t, gone, success("tensorrt_llm"))
			require.NotContains(t, gone, success("ensemble"))
			for _, reason := range []string{"REJECTED", "CANCELED", "BACKEND", "OTHER"} {
				require.Equal(t, before[failure("tensorrt_llm", reason)], gone[failure("tensorrt_llm", reason)])
				require.Contains(t, gone, failure("tensorrt_llm", reason))
			}
			iterations := trt("general", "general_type", "iteration_counter")
			if c.customStay {
				require.Equal(t, before[iterations], gone[iterations])
			} else {
				require.NotContains(t, gone, iterations)
			}

			r.Load("tensorrt_llm")
			r.Advance(time.Second)
			require.Equal(t, http.StatusBadRequest, get(t, r.APIURL()+"/v2/health/ready").status, "loading")
			r.Advance(2 * time.Second)
			back := samplesOf(t, r)
			require.Zero(t, back[success("tensorrt_llm")])
			require.Contains(t, back, success("tensorrt_llm"))
			require.Equal(t, before[failure("ensemble", "OTHER")], back[failure("ensemble", "OTHER")], "failures go on")
			tokens := `nv_llm_output_token_len_count{model="tensorrt_llm",response_metric_type="total_output_tokens",version="1"}`
			if c.customStay {
				require.Equal(t, before[tokens], back[tokens], "custom histograms go on: two resets of one model")
			} else {
				require.Zero(t, back[tokens])
			}
			r.SetRate(4)
			r.Advance(30 * time.Second)
			require.Positive(t, samplesOf(t, r)[success("ensemble")])
		})
	}
}

func TestPoint10ShuttingDownAPIRefusesWhileThePageShrinks(t *testing.T) {
	t.Parallel()
	r := listening(t, simulate.Spec{Streaming: true, Workload: simulate.Workload{Rate: 6}})
	r.Advance(time.Minute)
	inFlight := r.Truth().InFlight
	require.Positive(t, inFlight)
	failedBefore := r.Truth().Failed
	r.Drain()
	require.ErrorContains(t, get(t, r.APIURL()+"/v2/health/ready").err, "connection refused")
	require.Equal(t, simulate.PhaseDraining, r.Truth().Phase)
	sizes := map[int]bool{}
	lines := strings.Count(get(t, r.MetricsURL()).body, "\n")
	for range 40 {
		r.Advance(250 * time.Millisecond)
		answer := get(t, r.MetricsURL())
		if answer.err != nil {
			break
		}
		now := strings.Count(answer.body, "\n")
		require.LessOrEqual(t, now, lines)
		lines, sizes[now] = now, true
	}
	require.Greater(t, len(sizes), 3, "the page shrinks step by step")
	require.ErrorContains(t, get(t, r.MetricsURL()).err, "connection refused")
	truth := r.Truth()
	require.Equal(t, simulate.PhaseDown, truth.Phase)
	require.Equal(t, failedBefore, truth.Failed, "streams in flight finish")
	require.Zero(t, truth.InFlight)
	require.Positive(t, truth.Refused)
}

func TestPoint10AStuckStreamHoldsTheExitForItsWholeTimeout(t *testing.T) {
	t.Parallel()
	r := newReplica(t, simulate.Spec{Streaming: true, Workload: simulate.Workload{Rate: 4}})
	r.Stick(1)
	r.Advance(30 * time.Second)
	require.Equal(t, uint64(1), r.Truth().Stuck)
	r.Drain()
	r.Advance(29 * time.Second)
	require.Equal(t, simulate.PhaseDraining, r.Truth().Phase)
	r.Advance(2 * time.Second)
	require.Equal(t, simulate.PhaseDown, r.Truth().Phase)
}

func TestPoint11BothPortsRefuseWhileModelsLoad(t *testing.T) {
	t.Parallel()
	r := listening(t, simulate.Spec{Loading: simulate.Loading{LoadDuration: time.Minute}, Workload: simulate.Workload{Rate: 2}})
	r.Advance(time.Minute - time.Nanosecond)
	require.ErrorContains(t, get(t, r.APIURL()+"/v2/health/live").err, "connection refused")
	require.ErrorContains(t, get(t, r.MetricsURL()).err, "connection refused")
	require.Equal(t, simulate.PhaseLoading, r.Truth().Phase)
	r.Advance(time.Nanosecond)
	require.Equal(t, http.StatusOK, get(t, r.APIURL()+"/v2/health/live").status)
	first := samplesOf(t, r)
	require.Contains(t, first, success("ensemble"))
	require.Zero(t, first[trt("request", "request_type", "max")], "even max is 0 before the first iteration")
	require.Positive(t, r.Truth().Refused)
	require.Zero(t, r.Truth().Arrived)
}
