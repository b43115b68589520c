package main

import (
	"bytes"
	"cmp"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// ailing opens the ports of a simulated server after some simulated time.
func ailing(t *testing.T, spec simulate.Spec) *simulate.Replica {
	t.Helper()
	spec.Workload = simulate.Workload{Rate: 5, OutputTokens: 20}
	r, err := simulate.NewReplica(spec)
	require.NoError(t, err)
	r.Advance(30 * time.Second)
	require.NoError(t, r.Listen(t.Context()))
	t.Cleanup(r.Close)
	return r
}

func examined(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	code = run(append([]string{"doctor"}, args...), &out, &err)
	return code, out.String(), err.String()
}

// apiPort returns the flag for a server's API port.
func apiPort(t *testing.T, r *simulate.Replica) string {
	t.Helper()
	_, port, err := net.SplitHostPort(r.APIAddr())
	require.NoError(t, err)
	return "--api-port=" + port
}

func TestDoctorFindsMetricsModuleCapabilities(t *testing.T) {
	r := ailing(t, simulate.Spec{Kind: simulate.KindTritonLLMAPIModule, Streaming: true, GPUs: 1})
	code, text, errors := examined(t, apiPort(t, r), "http://"+r.MetricsAddr())
	require.Equal(t, exitOK, code, errors)
	_, table, found := strings.Cut(text, "\nCAPABILITY ")
	require.True(t, found, text)
	table, _, _ = strings.Cut(table, "\nDETERMINISM ")
	require.Equal(t, 16, strings.Count(table, "  yes  "), table)
	require.NotRegexp(t, `(?m)^\w+ +no `, table)
	require.Regexp(t, `(?m)^TensorRT-LLM +1\.1\.0 \(source: metrics_page\)$`, text)
}

// TestDoctorAsksForNothingThatTheServerCannotGive examines servers that expose all they can: what only another
// program can add is no fault of theirs.
func TestDoctorAsksForNothingThatTheServerCannotGive(t *testing.T) {
	all := simulate.Setup{Summaries: true, Histograms: true}
	for _, spec := range []simulate.Spec{
		{Kind: simulate.KindTriton, GPUs: 1, Streaming: true, Setup: all},
		{Kind: simulate.KindVLLM},
		{Kind: simulate.KindSGLang},
	} {
		r := ailing(t, spec)
		code, text, errors := examined(t, apiPort(t, r), "http://"+r.MetricsAddr()+r.MetricsPath())
		require.Equal(t, exitOK, code, "%s: %s\n%s", spec.Kind, errors, text)
	}
}

// TestDoctorHidesURLParameters uses __param_ labels, which may be secret and which the
// command line does not accept.
func TestDoctorHidesURLParameters(t *testing.T) {
	const closed = "127.0.0.1:1" // Otherwise servers of other tests would be found.
	file := fileOf(
		t,
		`pools: [{pool_id: a, static_configs: [{targets: ["`+closed+`"], labels: {__param_key: hunter2hunter2}}]}]`,
	)
	for _, format := range []string{"--no-json", "--json"} {
		code, output, errors := examined(t, "--config.file", file, format)
		require.Equal(t, exitNoPage, code, errors)
		require.Contains(t, output, "trtllm_exporter doctor --config.file "+file+" --pool-id a http://"+closed)
		require.NotContains(t, output+errors, "hunter2")
	}
	code, _, errors := examined(t, "--config.file", file, "--pool-id", "a", "http://"+closed)
	require.Equal(t, exitNoPage, code, errors)
}

func TestDoctorUsesAPIPath(t *testing.T) {
	answers := map[string]string{
		"/b/metrics":   "vllm:num_requests_running{engine=\"0\",model_name=\"m\"} 0\n",
		"/c/health":    "",
		"/c/version":   `{"version":"0.12.0"}`,
		"/c/v1/models": `{"data":[{"id":"m","owned_by":"vllm"}]}`,
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		text, ok := answers[req.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_, _ = io.WriteString(w, cmp.Or(text, "no backend"))
	}))
	t.Cleanup(s.Close)
	_, text, _ := examined(t, s.URL+"/b/metrics")
	require.Contains(t, text, "nothing shows that what answers at "+s.URL+"/b is its API")
	require.Contains(t, text, "set api_port or api_path")
	_, text, _ = examined(t, "--api-path=/c", s.URL+"/b/metrics")
	require.Contains(t, text, "0.12.0")
	require.Contains(t, text, "ready: the API answers 200")
}

// Control characters in texts of servers are replaced.
func TestDoctorReplacesControlCharacters(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/metrics" {
			_, _ = io.WriteString(w, "# TYPE nv_inference_request_success counter\n"+
				"nv_inference_request_success{model=\"m\x1b[2J\",version=\"1\"} 1\n")
			return
		}
		w.WriteHeader(http.StatusBadRequest)
	}))
	t.Cleanup(s.Close)
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	require.NoError(t, err)
	_, text, _ := examined(t, "--api-port="+port, s.URL)
	require.Contains(t, text, "m·[2J")
	require.NotRegexp(t, `[\x00-\x09\x0b-\x1f\x7f]`, text)
}
