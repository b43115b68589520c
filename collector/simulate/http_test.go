package simulate_test

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

func TestTritonMetricsPort(t *testing.T) {
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
}

func TestTritonAPIPort(t *testing.T) {
	t.Parallel()
	r := listening(t, simulate.Spec{
		Streaming: true,
		Setup:     simulate.Setup{DeclareVersion: true},
		Workload:  simulate.Workload{Rate: 2},
	})
	r.Advance(time.Minute)
	for _, c := range []struct {
		method, path string
		status       int
		contains     []string
	}{
		{
			http.MethodGet, "/v2", 200,
			[]string{`"name":"triton","version":"2.64.0"`, "model_repository(unload_dependents)"},
		},
		{http.MethodGet, "/v2/health/live", 200, nil},
		{http.MethodGet, "/v2/health/ready", 200, nil},
		{http.MethodGet, "/v2/models/tensorrt_llm/config", 200, []string{
			`"backend":"tensorrtllm"`,
			`"decoupled":true`, `"gpt_model_type":{"string_value":"inflight_fused_batching"}`,
			`"trtllm_version":{"string_value":"1.1.0"}`,
		}},
		{
			http.MethodGet, "/v2/models/ensemble/config", 200,
			[]string{`"platform":"ensemble"`, `"ensemble_scheduling":{"step":[`, `"model_name":"tensorrt_llm"`},
		},
		{
			http.MethodGet, "/v2/models/ensemble", 200,
			[]string{`"versions":["1"]`, `{"datatype":"BOOL","name":"stream","shape":[-1,1]}`},
		},
		{http.MethodGet, "/v2/models/preprocessing", 200, []string{`"name":"QUERY"`}},
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

func TestTRTLLMServePageMatchesMethodsAndPrefixes(t *testing.T) {
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

func TestTRTLLMServeCompresses(t *testing.T) {
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

func TestTRTLLMServeOtherRoutes(t *testing.T) {
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

func TestNIMAndDynamoAnswerAsRecorded(t *testing.T) {
	t.Parallel()
	nim := listening(t, simulate.Spec{Kind: simulate.KindNIM, Workload: simulate.Workload{Rate: 3}})
	nim.Advance(time.Minute)
	require.JSONEq(t, `{"release":"1.0.0","api":"1.0.0"}`, get(t, nim.APIURL()+"/v1/version").body)
	page := get(t, nim.MetricsURL()).body
	unended := !strings.HasSuffix(page, "\n")
	require.True(t, unended, "no newline at the end")
	s, _ := parsePage(t, []byte(page+"\n"))
	require.Equal(
		t,
		float64(nim.Truth().GeneratedTokensSoFar),
		s[`generation_tokens_total{model_name="meta/llama-3.1-8b-instruct"}`],
	)

	dynamo := listening(t, simulate.Spec{Kind: simulate.KindDynamo, Workload: simulate.Workload{Rate: 3}})
	dynamo.Advance(time.Minute)
	require.Equal(
		t,
		http.StatusServiceUnavailable,
		get(t, "http://"+dynamo.MetricsAddr()+"/health").status,
		"a worker is notready while it serves",
	)
	require.Contains(t, get(t, dynamo.APIURL()+"/health").body, `"status":"healthy"`)
	front, _ := parsePage(t, []byte(get(t, dynamo.APIURL()+"/metrics").body))
	require.Equal(
		t,
		float64(dynamo.Truth().GeneratedTokensSoFar),
		front[`dynamo_frontend_output_tokens_total{model="tiny-llama"}`],
	)
	worker, _ := parsePage(t, []byte(get(t, dynamo.MetricsURL()).body))
	require.Contains(
		t,
		worker,
		`trtllm_e2e_request_latency_seconds_count{engine_type="trtllm",model_name="tiny-llama"}`,
	)
}
