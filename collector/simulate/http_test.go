package simulate_test

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

func TestTritonsMetricsPortAnswersEveryPathAndGetAlone(t *testing.T) {
	t.Parallel()
	r := listening(t, simulate.Spec{Workload: simulate.Workload{Rate: 2}})
	r.Advance(time.Minute)
	base := "http://" + r.MetricsAddr()
	for _, path := range []string{"/metrics", "/metrics/", "/metrics?x=1"} {
		answer := get(t, base+path)
		require.Equal(t, http.StatusOK, answer.status)
		require.Equal(t, "text/plain; charset=utf-8", answer.header.Get("Content-Type"))
		require.Equal(t, strconv.Itoa(len(answer.body)), answer.header.Get("Content-Length"))
		require.Empty(t, answer.header.Get("Date"))
		require.Equal(t, string(r.Page()), answer.body)
	}
	for _, path := range []string{"/", "/metric", "/v2/health/ready"} {
		answer := get(t, base+path)
		require.Equal(t, http.StatusOK, answer.status)
		require.Empty(t, answer.body)
	}
	for _, method := range []string{http.MethodHead, http.MethodPost} {
		require.Equal(t, http.StatusMethodNotAllowed, ask(t, method, base+"/metrics", "").status)
	}
	r.SetEmptyPage(true)
	require.Empty(t, get(t, base+"/metrics").body)
	require.Equal(t, http.StatusOK, get(t, base+"/metrics").status)
}

func TestTritonsAPIPort(t *testing.T) {
	t.Parallel()
	r := listening(t, simulate.Spec{Streaming: true, Setup: simulate.Setup{DeclareVersion: true}, Workload: simulate.Workload{Rate: 2}})
	r.Advance(time.Minute)
	for _, c := range []struct {
		method, path string
		status       int
		contains     []string
	}{
		{http.MethodGet, "/v2", 200, []string{`"name":"triton","version":"2.64.0"`, "model_repository(unload_dependents)"}},
		{http.MethodGet, "/v2/health/live", 200, nil},
		{http.MethodGet, "/v2/health/ready", 200, nil},
		{http.MethodGet, "/v2/models/tensorrt_llm/config", 200, []string{
			`"backend":"tensorrtllm"`, `"decoupled":true`, `"gpt_model_type":{"string_value":"inflight_fused_batching"}`,
			`"trtllm_version":{"string_value":"1.1.0"}`,
		}},
		{http.MethodGet, "/v2/models/ensemble/config", 200, []string{`"platform":"ensemble"`, `"ensemble_scheduling":{"step":[`, `"model_name":"tensorrt_llm"`}},
		{http.MethodGet, "/v2/models/ensemble", 200, []string{`"versions":["1"]`}},
		{http.MethodGet, "/v2/models/nobody/config", 404, []string{`{"error":"Request for unknown model`}},
		{http.MethodGet, "/v2/repository/index", 405, nil},
		{http.MethodPost, "/v2/repository/index", 200, []string{`{"name":"ensemble","version":"1","state":"READY"}`}},
		{http.MethodGet, "/metrics", 404, nil},
	} {
		answer := ask(t, c.method, r.APIURL()+c.path, "")
		require.NoError(t, answer.err)
		require.Equal(t, c.status, answer.status, c.path)
		for _, text := range c.contains {
			require.Contains(t, answer.body, text, c.path)
		}
	}
}

func TestCountersFreezeWhileSummariesMove(t *testing.T) {
	t.Parallel()
	r := newReplica(t, simulate.Spec{Setup: simulate.Setup{CountersFrozen: true, Summaries: true}, Workload: simulate.Workload{Rate: 2}})
	r.Advance(time.Minute)
	s := samplesOf(t, r)
	require.Zero(t, s[success("ensemble")])
	require.NotContains(t, s, `nv_inference_request_duration_us{model="ensemble",version="1"}`)
	require.Equal(t, float64(r.Truth().Finished), s[`nv_inference_request_summary_us_count{model="ensemble",version="1"}`])
}

func TestServesPageIsMountedForEveryMethodAndPrefix(t *testing.T) {
	t.Parallel()
	r := listening(t, simulate.Spec{Kind: simulate.KindServe, Workload: simulate.Workload{Rate: 5}})
	r.Advance(time.Minute)
	page := string(r.Page())
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodOptions} {
		for _, path := range []string{"", "/", "foo", "/any/thing"} {
			answer := ask(t, method, r.MetricsURL()+path, "")
			require.Equal(t, http.StatusOK, answer.status)
			require.Equal(t, page, answer.body)
			require.Empty(t, answer.header.Get("Content-Length"))
			require.Equal(t, "text/plain; version=0.0.4; charset=utf-8", answer.header.Get("Content-Type"))
			require.Equal(t, "uvicorn", answer.header.Get("Server"))
		}
	}
	require.Empty(t, get(t, r.MetricsURL()+"?name[]=trtllm_num_requests_running").body)
	require.Equal(t, http.StatusNotFound, get(t, r.APIURL()+"/prometheus").status)
}

func TestServeCompresses(t *testing.T) {
	t.Parallel()
	r := listening(t, simulate.Spec{Kind: simulate.KindServe, Workload: simulate.Workload{Rate: 5}})
	r.Advance(time.Minute)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.MetricsURL(), http.NoBody)
	require.NoError(t, err)
	req.Header.Set("Accept-Encoding", "br, gzip;q=0")
	resp, err := client(t).Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Equal(t, "gzip", resp.Header.Get("Content-Encoding"))
	z, err := gzip.NewReader(resp.Body)
	require.NoError(t, err)
	body, err := io.ReadAll(z)
	require.NoError(t, err)
	require.Contains(t, string(body), "\ntrtllm_generation_tokens_total{")
}

func TestServesOtherRoutes(t *testing.T) {
	t.Parallel()
	r := listening(t, simulate.Spec{Kind: simulate.KindServe, Model: "qwen", Workload: simulate.Workload{Rate: 5}})
	r.Advance(time.Minute)
	require.Equal(t, http.StatusOK, get(t, r.APIURL()+"/health").status)
	require.JSONEq(t, `{"version":"1.3.0rc14"}`, get(t, r.APIURL()+"/version").body)
	require.Contains(t, get(t, r.APIURL()+"/v1/models").body, `"id":"qwen"`)
	var records []map[string]any
	require.NoError(t, json.Unmarshal([]byte(get(t, r.APIURL()+"/metrics").body), &records))
	require.NotEmpty(t, records)
	require.Contains(t, records[0], "numQueuedRequests")
	require.LessOrEqual(t, len(records), 1000)
	require.JSONEq(t, `[]`, get(t, r.APIURL()+"/metrics").body, "each record is handed out once")
	r.FailRequests(true)
	require.Equal(t, http.StatusServiceUnavailable, get(t, r.APIURL()+"/health").status)

	old := listening(t, simulate.Spec{Kind: simulate.KindServeOld, Setup: simulate.Setup{NoPerfMetrics: true}})
	require.Equal(t, http.StatusNotFound, get(t, old.MetricsURL()).status, "no page without return_perf_metrics")
	require.JSONEq(t, `[]`, get(t, old.APIURL()+"/metrics").body)
	old.FailRequests(true)
	require.Equal(t, http.StatusOK, get(t, old.APIURL()+"/health").status, "the old server is always healthy")
}

func TestAServerWithoutACollectorHandsOutItsRecordsToo(t *testing.T) {
	t.Parallel()
	r := listening(t, simulate.Spec{Kind: simulate.KindServeOld, Workload: simulate.Workload{Rate: 5}})
	r.Advance(time.Minute)
	var records []map[string]any
	require.NoError(t, json.Unmarshal([]byte(get(t, r.APIURL()+"/metrics").body), &records))
	require.Greater(t, len(records), 100)
	require.JSONEq(t, `[]`, get(t, r.APIURL()+"/metrics").body)
}

func TestStreamsAreAnsweredTokenByToken(t *testing.T) {
	for _, c := range []struct {
		name         string
		spec         simulate.Spec
		path, body   string
		frames, last string
	}{
		{"Triton", simulate.Spec{Streaming: true}, "/v2/models/ensemble/generate_stream", `{"text_input":"hello","max_tokens":6}`, `"text_output":"`, "}"},
		{"trtllm-serve chat", simulate.Spec{Kind: simulate.KindServe}, "/v1/chat/completions", `{"messages":[{"role":"user","content":"hello"}],"max_tokens":6,"stream":true,"stream_options":{"include_usage":true}}`, `"content":"`, "data: [DONE]"},
		{"Triton's OpenAI frontend", simulate.Spec{Kind: simulate.KindTritonOpenAI, Streaming: true}, "/v1/chat/completions", `{"messages":[{"role":"user","content":"hello"}],"max_tokens":6,"stream":true}`, `"content":"`, "data: [DONE]"},
		{"vLLM", simulate.Spec{Kind: simulate.KindVLLM}, "/v1/chat/completions", `{"messages":[{"role":"user","content":"hello"}],"max_tokens":6,"stream":true}`, `"content":"`, "data: [DONE]"},
		{"SGLang", simulate.Spec{Kind: simulate.KindSGLang}, "/v1/chat/completions", `{"messages":[{"role":"user","content":"hello"}],"max_tokens":6,"stream":true}`, `"content":"`, "data: [DONE]"},
		{"Dynamo", simulate.Spec{Kind: simulate.KindDynamo}, "/v1/chat/completions", `{"messages":[{"role":"user","content":"hello"}],"max_tokens":6,"stream":true}`, `"content":"`, "data: [DONE]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.spec.Speed = 20
			fleet, err := simulate.StartFleet(t.Context(), simulate.FleetSpec{Pools: []simulate.PoolSpec{{Name: "p", Replicas: []simulate.Spec{c.spec}}}})
			require.NoError(t, err)
			defer fleet.Close()
			url := fleet.Pools()[0].Replicas[0].APIURL() + c.path
			first := ask(t, http.MethodPost, url, c.body)
			require.NoError(t, first.err)
			require.Equal(t, http.StatusOK, first.status)
			require.Contains(t, first.header.Get("Content-Type"), "text/event-stream")
			require.Equal(t, 6, strings.Count(first.body, c.frames))
			ends := strings.HasSuffix(strings.TrimSpace(first.body), c.last)
			require.True(t, ends, first.body)
			require.Equal(t, uint64(1), fleet.Pools()[0].Replicas[0].Truth().Finished)
		})
	}
}

func TestNIMAndDynamoAnswerAsTheyWereSeen(t *testing.T) {
	t.Parallel()
	nim := listening(t, simulate.Spec{Kind: simulate.KindNIM, Workload: simulate.Workload{Rate: 3}})
	nim.Advance(time.Minute)
	require.JSONEq(t, `{"release":"1.0.0","api":"1.0.0"}`, get(t, nim.APIURL()+"/v1/version").body)
	page := get(t, nim.MetricsURL()).body
	unended := !strings.HasSuffix(page, "\n")
	require.True(t, unended, "no newline at the end")
	s, _ := parsePage(t, []byte(page+"\n"))
	require.Equal(t, float64(nim.Truth().GeneratedTokensSoFar), s[`generation_tokens_total{model_name="meta/llama-3.1-8b-instruct"}`])

	dynamo := listening(t, simulate.Spec{Kind: simulate.KindDynamo, Workload: simulate.Workload{Rate: 3}})
	dynamo.Advance(time.Minute)
	require.Equal(t, http.StatusServiceUnavailable, get(t, "http://"+dynamo.MetricsAddr()+"/health").status, "a worker is notready while it serves")
	require.Contains(t, get(t, dynamo.APIURL()+"/health").body, `"status":"healthy"`)
	front, _ := parsePage(t, []byte(get(t, dynamo.APIURL()+"/metrics").body))
	require.Equal(t, float64(dynamo.Truth().GeneratedTokensSoFar), front[`dynamo_frontend_output_tokens_total{model="tiny-llama"}`])
	worker, _ := parsePage(t, []byte(get(t, dynamo.MetricsURL()).body))
	require.Contains(t, worker, `trtllm_e2e_request_latency_seconds_count{engine_type="trtllm",model_name="tiny-llama"}`)
}

func TestTritonsOpenAIFrontendHasOnePort(t *testing.T) {
	t.Parallel()
	r := listening(t, simulate.Spec{Kind: simulate.KindTritonOpenAI, Workload: simulate.Workload{Rate: 3}})
	r.Advance(time.Minute)
	require.Equal(t, r.APIAddr(), r.MetricsAddr())
	require.Contains(t, get(t, r.MetricsURL()).body, "nv_trt_llm_request_metrics")
	require.Equal(t, http.StatusOK, get(t, r.APIURL()+"/health/ready").status)
	require.Contains(t, get(t, r.APIURL()+"/v1/models").body, `"id":"tensorrt_llm_bls"`)
	require.Equal(t, http.StatusNotFound, get(t, r.APIURL()+"/v2").status)
}

func TestTheSamePromptGetsTheSameAnswerOfTheSameVersions(t *testing.T) {
	for _, c := range []struct {
		name, path, body string
		spec             simulate.Spec
	}{
		{"Triton", "/v2/models/ensemble/generate_stream", `{"text_input":"hello","max_tokens":6}`, simulate.Spec{Streaming: true}},
		{"Triton's llmapi", "/v2/models/tensorrt_llm/generate_stream", `{"text_input":"hello","sampling_param_max_tokens":6}`, simulate.Spec{Kind: simulate.KindTritonLLMAPI}},
		{"Triton's vLLM", "/v2/models/vllm_model/generate_stream", `{"text_input":"hello","sampling_parameters":"{\"max_tokens\":6}"}`, simulate.Spec{Kind: simulate.KindTritonVLLM}},
		{"trtllm-serve", "/v1/chat/completions", `{"messages":[{"content":"hello"}],"max_tokens":6,"stream":true}`, simulate.Spec{Kind: simulate.KindServe}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.spec.Speed, c.spec.Workload.Rate = 20, 0.00001
			fleet, err := simulate.StartFleet(t.Context(), simulate.FleetSpec{Pools: []simulate.PoolSpec{{Name: "p", Replicas: []simulate.Spec{c.spec}}}})
			require.NoError(t, err)
			defer fleet.Close()
			r := fleet.Pools()[0].Replicas[0]
			words := func() string {
				t.Helper()
				answer := ask(t, http.MethodPost, r.APIURL()+c.path, c.body)
				require.NoError(t, answer.err)
				found := regexp.MustCompile(`"(?:text_output|content)":"([^"]*)"`).FindAllStringSubmatch(answer.body, -1)
				require.Len(t, found, 6, answer.body)
				var text strings.Builder
				for _, f := range found {
					text.WriteString(f[1])
				}
				return text.String()
			}
			first := words()
			require.Equal(t, first, words())
			r.Unsteady(true)
			before := words()
			require.NotEqual(t, before, words())
			r.Unsteady(false)
			require.Equal(t, first, words())
			r.Rollout(0, "", "9.9.9")
			require.Eventually(t, func() bool { return ask(t, http.MethodGet, r.APIURL()+"/", "").err == nil }, 10*time.Second, 10*time.Millisecond)
			require.NotEqual(t, first, words())
		})
	}
}

func TestTritonSaysWhatItsModelsTake(t *testing.T) {
	t.Parallel()
	r := listening(t, simulate.Spec{Streaming: true})
	require.Contains(t, get(t, r.APIURL()+"/v2/models/ensemble").body, `{"datatype":"BOOL","name":"stream","shape":[-1,1]}`)
	require.NotContains(t, get(t, r.APIURL()+"/v2/models/tensorrt_llm").body, "text_input")
	require.Contains(t, get(t, r.APIURL()+"/v2/models/preprocessing").body, `"name":"QUERY"`)
}
