package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

func TestUnreadyModelsAreNamed(t *testing.T) {
	for _, c := range []struct{ name, index, want string }{
		{"all are ready", `[{"name":"a","version":"1","state":"READY"}]`, "the API answers 200"},
		{
			"one was never loaded, one has no name",
			`[{"name":"a","version":"1","state":"READY"},{"name":"b"},{"name":"","version":"1","state":"READY"}]`,
			"the API answers 200",
		},
		{
			"one failed",
			`[{"name":"b","version":"2","state":"UNAVAILABLE","reason":"no memory"}]`,
			"the API answers 200; not loaded: b (no memory)",
		},
		{
			"an older version gave way",
			`[{"name":"a","version":"1","state":"UNAVAILABLE","reason":"unloaded"},{"name":"a","version":"2","state":"READY"}]`,
			"the API answers 200",
		},
		{
			"the model and the ensemble over it are going", // Triton 2.51, while tensorrt_llm unloads.
			`[{"name":"ensemble","version":"1","state":"UNAVAILABLE","reason":"unloaded"},{"name":"preprocessing","version":"1","state":"READY"},{"name":"tensorrt_llm","version":"1","state":"UNLOADING"}]`,
			"the API answers 200; not loaded: ensemble (unloaded), tensorrt_llm (unloading)",
		},
		{
			"two versions of one",
			`[{"name":"a","version":"1","state":"UNAVAILABLE","reason":"old"},{"name":"a","version":"2","state":"UNAVAILABLE","reason":"no memory"}]`,
			"the API answers 200; not loaded: a (old)",
		},
		{
			"as many as a line can hold",
			`[{"name":"a","state":"LOADING","version":"1"},{"name":"b","state":"LOADING","version":"1"},{"name":"c","state":"UNAVAILABLE","version":"1"},{"name":"d","state":"LOADING","version":"1"}]`,
			"the API answers 200; not loaded: a (loading), b (loading), c (unavailable), d (loading)",
		},
		{
			"more than a line can hold",
			`[{"name":"a","state":"LOADING","version":"1"},{"name":"b","state":"LOADING","version":"1"},{"name":"c","state":"LOADING","version":"1"},{"name":"d","state":"LOADING","version":"1"},{"name":"e","state":"LOADING","version":"1"},{"name":"f","state":"LOADING","version":"1"}]`,
			"the API answers 200; not loaded: a (loading), b (loading), c (loading), d (loading) and 2 more",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := engineOf(t, engine.Triton)
			server := answers{"/v2/health/ready": "", "/v2/health/live": "", "/v2/repository/index": c.index}
			h := e.Health(t.Context(), server, "http://server")
			require.Equal(t, c.want, h.Detail)
			for _, m := range h.Models {
				require.True(t, m.Name != "" && m.State != "", "what was never loaded is none")
			}
		})
	}
}

func TestClosedConnectionCountsAsRefused(t *testing.T) {
	for _, c := range []struct {
		name   string
		err    error
		want   engine.APIState
		detail string
	}{
		{"nothing listens", syscall.ECONNREFUSED, engine.APIRefused, "the API refuses connections"},
		// Triton 2.51 after SIGTERM, with streams in flight.
		{"it ends the connection", io.EOF, engine.APIRefused, "the API closes connections without an answer"},
		{
			"it resets the connection", syscall.ECONNRESET, engine.APIRefused,
			"the API closes connections without an answer",
		},
		{
			"it ends the connection before the question",
			errors.New("http: server closed idle connection"),
			engine.APIRefused, "the API closes connections without an answer",
		},
		{"it does not answer in time", context.DeadlineExceeded, engine.APIFailed, "the API does not answer"},
		{
			"it speaks something else", errors.New("malformed HTTP response"), engine.APIFailed,
			"the API does not answer",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := engineOf(t, engine.Triton)
			h := e.Health(t.Context(), response{err: fmt.Errorf("scrape: %w", c.err)}, "http://server")
			require.Equal(t, c.want, h.API)
			require.True(t, strings.HasPrefix(h.Detail, c.detail), "%q begins with %q", h.Detail, c.detail)
			require.False(t, h.LiveKnown, "nobody knows whether it is live: %+v", h)
		})
	}
}

// TestOneClosedConnectionIsNoShutdown has an API on a port of its own, which was ready.
func TestOneClosedConnectionIsNoShutdown(t *testing.T) {
	hangsUp := response{err: fmt.Errorf("scrape: %w", io.EOF)}
	refuses := response{err: fmt.Errorf("scrape: %w", syscall.ECONNREFUSED)}
	late := response{err: context.DeadlineExceeded}
	for _, c := range []struct {
		name    string
		answers []response
		drains  bool
	}{
		{"it hangs up once", []response{hangsUp}, false},
		{"twice", []response{hangsUp, hangsUp}, true},
		{"twice, and is late in between", []response{hangsUp, late, hangsUp}, false},
		{"nothing listens any more", []response{refuses}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := engineOf(t, engine.Triton)
			var a engine.Answers
			a.AddHealth(engine.Health{API: engine.APIReady, Live: true, LiveKnown: true, Status: http.StatusOK})
			a.Reconcile(given(t), nil)
			for _, answer := range c.answers {
				a.AddHealth(e.Health(t.Context(), answer, "http://server:8000"))
				a.Reconcile(given(t), nil)
				a.Reconcile(given(t), nil)
			}
			require.Equal(t, c.drains, a.Health.Draining)
		})
	}
}

func TestModelsAreNotRequestedUnlessLive(t *testing.T) {
	// The index of Triton 2.36 does not answer while it exits.
	e := engineOf(t, engine.Triton)
	server := &recorder{Client: response{status: http.StatusBadRequest}}
	h := e.Health(t.Context(), server, "http://server")
	require.Equal(t, engine.APINotReady, h.API)
	require.True(t, h.LiveKnown, "it is known whether it is live: %+v", h)
	require.False(t, h.Live, "it is not live: %+v", h)
	require.Equal(t, []string{"/v2/health/ready", "/v2/health/live"}, server.paths)
}

// response is a server with one response to all requests, or the error err.
type response struct {
	status int
	state  string
	body   string
	err    error
}

// Do implements engine.Client.
func (s response) Do(context.Context, string, string, []byte, int64) (int, http.Header, []byte, error) {
	header := http.Header{}
	header.Set("X-Trtllm-Server-State", s.state)
	return s.status, header, []byte(s.body), s.err
}

func TestHealthByStatus(t *testing.T) {
	kinds := []engine.Name{engine.Triton, engine.TritonOpenAI, engine.TRTLLMServe, engine.NIM}
	for _, c := range []struct {
		server response
		want   engine.APIState
		detail string
	}{
		{response{status: 200}, engine.APIReady, "the API answers 200"},
		{response{status: 400}, engine.APINotReady, "the API answers Bad Request"},
		{response{status: 500}, engine.APINotReady, "the API answers Internal Server Error"},
		{response{status: 503}, engine.APINotReady, "the API answers Service Unavailable"},
		{
			response{status: 401, body: "no"},
			engine.APIFailed,
			"the API is restricted: set the header that the server expects in http_headers (no)",
		},
		{
			response{status: 403, body: `{"error":"expecting header"}`},
			engine.APIFailed,
			"the API is restricted: set the header that the server expects in http_headers (expecting header)",
		},
		{
			response{status: 403, body: `{"detail":"` + strings.Repeat("x", 121) + `"}`},
			engine.APIFailed,
			"the API is restricted: set the header that the server expects in " +
				"http_headers (" + strings.Repeat("x", 120) + ")",
		},
		{
			response{status: 403, body: "no\n\tright \xff"},
			engine.APIFailed,
			"the API is restricted: set the header that the server expects in http_headers (no right ?)",
		},
		{
			response{status: 403, body: "x" + strings.Repeat("é", 60)},
			engine.APIFailed,
			"the API is restricted: set the header that the server expects in " +
				"http_headers (x" + strings.Repeat("é", 59) + ")",
		},
		{response{status: 404}, engine.APIFailed, "the API answers Not Found to http://server/"},
		{
			response{status: 513, body: `{"message":"NIM server has crashed"}`},
			engine.APINotReady, "the API answers 513",
		},
		{response{status: 599}, engine.APINotReady, "the API answers 599"},
		{response{status: 502}, engine.APIFailed, "the API answers Bad Gateway to http://server/"},
		{response{status: 504}, engine.APIFailed, "the API answers Gateway Timeout to http://server/"},
		{response{status: 501}, engine.APIFailed, "the API answers Not Implemented to http://server/"},
		{response{status: 429}, engine.APIFailed, "the API answers Too Many Requests to http://server/"},
		{
			response{status: 200, body: "\n<html>Sign in</html>"},
			engine.APIFailed,
			"a web page, as of a proxy that asks for a login, is at http://server/",
		},
	} {
		for _, kind := range kinds {
			if kind == engine.Triton && c.want == engine.APINotReady && c.server.status != http.StatusBadRequest {
				continue // Triton has one answer for that: TestOnlyTritonSaysThatItIsNotReady.
			}
			h := engineOf(t, kind).Health(t.Context(), c.server, "http://server")
			require.Equal(t, c.want, h.API, kind)
			require.Equal(t, c.server.status, h.Status, kind)
			require.False(t, h.Starting, kind)
			if strings.HasSuffix(c.detail, "/") {
				require.True(t, strings.HasPrefix(h.Detail, c.detail), "%q begins with %q", h.Detail, c.detail)
			} else {
				require.Equal(t, c.detail, h.Detail, kind)
			}
		}
	}
}

// TestOnlyTritonSaysThatItIsNotReady asks at the port of an API that was ready, while its page still comes.
func TestOnlyTritonSaysThatItIsNotReady(t *testing.T) {
	const tls = "Client sent an HTTP request to an HTTPS server.\n"
	for _, c := range []struct {
		name   string
		server response
		want   engine.Said
		detail string
	}{
		{"Triton exits", response{status: 400}, engine.SaidDraining, "the API answers Bad Request"},
		{
			"a mesh wants TLS",
			response{status: 400, body: tls},
			engine.SaidNothing,
			"the API answers Bad Request to http://10.0.0.1:8000/v2/health/ready, as a proxy does and Triton does not " +
				"(Client sent an HTTP request to an HTTPS server.)",
		},
		{
			"nginx rejects the request",
			response{status: 400, body: "<html>400 Bad Request</html>"},
			engine.SaidNothing,
			"(<html>400 Bad Request</html>)",
		},
		{
			"a gateway rejects it in JSON",
			response{status: 400, body: `{"error":"no route"}`},
			engine.SaidNothing,
			"(no route)",
		},
		{
			"a proxy reaches nothing",
			response{status: 503, body: "<html>no upstream</html>"},
			engine.SaidNothing,
			"the API answers Service Unavailable to http://10.0.0.1:8000/v2/health/ready, as a proxy does",
		},
		{"a proxy reaches nothing and does not say so", response{status: 503}, engine.SaidNothing, "Triton does not"},
		{"a proxy fails", response{status: 500, body: "oops"}, engine.SaidNothing, "(oops)"},
		{"a proxy limits requests", response{status: 429}, engine.SaidNothing, "Too Many Requests"},
	} {
		up := response{status: 200}
		word, h := wordOf(t, engine.Triton, up, c.server)
		require.Equal(t, c.want, word, "%s: %s", c.name, h.Detail)
		require.Contains(t, h.Detail, c.detail, c.name)
		require.Equal(t, c.want == engine.SaidDraining, h.Ends(), c.name)
		require.Equal(t, c.want == engine.SaidDraining, h.LiveKnown, c.name)
	}
}

// TestTritonInsideAnotherServer has the page of a Triton two ports above the API of a NIM, which starts it.
func TestTritonInsideAnotherServer(t *testing.T) {
	server := answers{"/v1/version": `{"release":"1.3.0","api":"1.0.0"}`}
	h := engineOf(t, engine.Triton).Health(t.Context(), server, "http://server")
	require.Equal(t, engine.SaidNothing, h.Said())
	require.Contains(t, h.Detail, "/v1/version names a release of NIM; set engine: nim, metrics_path and api_port")
}

func TestLivenessByKind(t *testing.T) {
	const yes, no, silent = "live", "not live", "nothing"
	name := func(h engine.Health) string {
		switch {
		case h.Live && h.LiveKnown:
			return yes
		case h.LiveKnown:
			return no
		}
		require.False(t, h.Live, "it is not live: %+v", h)
		return silent
	}
	// Servers with one health request are live if they answer it either way. Liveness is unknown if
	// they require a header or lack the path.
	either := map[int]string{200: yes, 400: yes, 500: yes, 503: yes, 401: silent, 403: silent, 404: silent}
	for kind, want := range map[engine.Name]map[int]string{
		engine.Triton: {200: yes, 400: no, 500: silent, 503: silent, 401: silent, 403: silent, 404: silent},
		engine.NIM:    {200: yes, 400: no, 500: no, 503: no, 401: silent, 403: silent, 404: silent},
		engine.TritonOpenAI: {
			200: silent,
			400: silent,
			500: silent,
			503: silent,
			401: silent,
			403: silent,
			404: silent,
		},
		engine.TRTLLMServe: either,
		engine.VLLM:        either,
		engine.SGLang:      either,
	} {
		for status, word := range want {
			require.Equal(
				t,
				word,
				name(engineOf(t, kind).Health(t.Context(), response{status: status}, "http://server")),
				"%s, %d",
				kind,
				status,
			)
		}
	}
	for _, kind := range []engine.Name{
		engine.Triton, engine.NIM, engine.TritonOpenAI, engine.TRTLLMServe, engine.VLLM, engine.SGLang,
		engine.Dynamo,
	} {
		for _, err := range []error{syscall.ECONNREFUSED, context.DeadlineExceeded} {
			require.Equal(
				t,
				silent,
				name(engineOf(t, kind).Health(t.Context(), response{err: err}, "http://server")),
				kind,
			)
		}
	}
}

func TestLoadingEngine(t *testing.T) {
	serve := engineOf(t, engine.TRTLLMServe)
	for _, status := range []int{503, 404} {
		h := serve.Health(t.Context(), response{status: status, state: "starting"}, "http://server")
		require.Equal(t, engine.Health{
			API:        engine.APINotReady,
			Live:       true,
			LiveKnown:  true,
			Status:     status,
			FromServer: true,
			Starting:   true,
			Detail:     "the server loads its engine",
		}, h)
	}
	loaded := serve.Health(t.Context(), response{status: 503, state: "ready"}, "http://server")
	require.False(t, loaded.Starting, "a 503 alone does not say that it starts")
	require.False(
		t,
		serve.Health(t.Context(), response{status: 200, state: "starting"}, "http://server").Starting,
		"it is ready",
	)
	h := serve.Health(t.Context(), response{err: syscall.ECONNREFUSED}, "http://server")
	require.Equal(t, engine.APIRefused, h.API)
	require.False(t, h.Live, "it is not live: %+v", h)
	require.False(
		t,
		engineOf(t, engine.NIM).Health(t.Context(), response{status: 503, state: "starting"}, "http://server").Starting,
		"nobody else says it so",
	)
}

func TestHealthAddress(t *testing.T) {
	for kind, want := range map[engine.Name]string{
		engine.Triton: "/v2/health/ready /v2/health/live /v2/repository/index", engine.TritonOpenAI: "/health/ready",
		engine.TRTLLMServe: "/health", engine.NIM: "/v1/health/ready /v1/health/live", engine.Dynamo: "/health",
	} {
		rec := &recorder{Client: answers{"*": "{}"}}
		engineOf(t, kind).Health(t.Context(), rec, "http://server")
		require.Equal(t, want, strings.Join(rec.paths, " "), kind)
	}
}

// TestWords names what servers say of themselves; each has answered before that it is live and ready.
func TestWords(t *testing.T) {
	const up, absent, list = "", "absent", `{"data":[{"id":"m","owned_by":"sglang"}]}`
	serving := func(kind engine.Name, more answers) answers {
		server := answers{
			"/health":          up,
			"/v1/models":       list,
			"/v2/health/ready": up,
			"/v2/health/live":  up,
			"/health/ready":    up,
			"/v1/health/ready": up,
			"/v1/health/live":  up,
		}
		if kind == engine.Dynamo {
			server = answers{"/health": `{"status":"healthy","endpoints":{"generate":"ready"}}`}
		}
		maps.Copy(server, more)
		maps.DeleteFunc(server, func(_, text string) bool { return text == absent })
		return server
	}
	for _, c := range []struct {
		says string
		kind engine.Name
		more answers
		want engine.Said
	}{
		{"a vLLM that is not in development mode", engine.VLLM, nil, engine.SaidReady},
		{
			"a vLLM that is not paused", engine.VLLM,
			answers{"/is_paused": `{"is_paused":false}`, "/is_sleeping": `{"is_sleeping":false}`},
			engine.SaidReady,
		},
		{
			"a paused vLLM", engine.VLLM,
			answers{"/is_paused": `{"is_paused":true}`, "/is_sleeping": `{"is_sleeping":true}`},
			engine.SaidPaused,
		},
		{
			"a paused vLLM of 0.12, outside of development mode",
			engine.VLLM,
			answers{"/is_paused": `{"is_paused":true}`},
			engine.SaidPaused,
		},
		{
			"a sleeping vLLM of 0.12", engine.VLLM,
			answers{"/is_paused": `{"is_paused":false}`, "/is_sleeping": `{"is_sleeping":true}`},
			engine.SaidPaused,
		},
		{
			"a sleeping vLLM before 0.12", engine.VLLM,
			answers{"/is_sleeping": `{"is_sleeping":true}`},
			engine.SaidPaused,
		},
		{
			"a vLLM whose engine does not say whether it is paused",
			engine.VLLM,
			answers{"/is_paused": refuses, "/is_sleeping": refuses},
			engine.SaidReady,
		},
		{
			"a page of a proxy at the path", engine.VLLM,
			answers{"/is_paused": "<html>", "/is_sleeping": "{}"},
			engine.SaidReady,
		},
		{
			"a vLLM whose engine died while it was paused", engine.VLLM,
			answers{"/health": notReady, "/is_paused": `{"is_paused":true}`},
			engine.SaidNotReady,
		},
		{"an SGLang before 0.5.20", engine.SGLang, answers{"/ping": up}, engine.SaidReady},
		{"an SGLang that is ready", engine.SGLang, answers{"/ready": up, "/ping": up}, engine.SaidReady},
		{"a paused SGLang", engine.SGLang, answers{"/ready": notReady, "/ping": up}, engine.SaidPaused},
		{
			"an SGLang whose last health check failed, or that exits",
			engine.SGLang,
			answers{"/ready": notReady, "/ping": notReady},
			engine.SaidReady,
		},
		{
			"a NIM behind a wrapper", engine.NIM,
			answers{"/v1/health/ready": notReady, "/v1/health/live": notReady},
			engine.SaidNotReady,
		},
		{"a NIM without that path", engine.NIM, answers{"/v1/health/ready": absent}, engine.SaidNothing},
		{"a Triton while a model loads", engine.Triton, answers{"/v2/health/ready": denies}, engine.SaidNotReady},
		{
			"a Triton whose API is closed already", engine.Triton,
			answers{"/v2/health/ready": refuses},
			engine.SaidDraining,
		},
		{"a vLLM whose port is closed", engine.VLLM, answers{"/health": refuses}, engine.SaidNothing},
		{
			"a worker that lost its endpoint", engine.Dynamo,
			answers{"/health": `{"status":"notready","endpoints":{}}`},
			engine.SaidNotReady,
		},
	} {
		word, h := wordOf(t, c.kind, serving(c.kind, nil), serving(c.kind, c.more))
		require.Equal(t, c.want, word, "%s: %s", c.says, h.Detail)
		require.Equal(t, h.API != engine.APIRefused, h.WasReady, c.says)
		require.NotEmpty(t, h.Detail, c.says)
	}
	word, _ := wordOf(t, engine.Triton, serving(engine.Triton, nil), response{status: http.StatusBadRequest})
	require.Equal(t, engine.SaidDraining, word, "a Triton that exits")
}

// TestSGLangWarmsUp has an SGLang that lists its models and says that it is neither ready nor healthy, as it does
// while it warms up, and long after a failed request for /health.
func TestSGLangWarmsUp(t *testing.T) {
	list := `{"data":[{"id":"m","owned_by":"sglang"}]}`
	well := answers{"/v1/models": list, "/ready": "", "/ping": ""}
	unwell := answers{"/v1/models": list, "/ready": notReady, "/ping": notReady}
	const idle = "sglang:num_running_reqs{model_name=\"m\"} 0\n"
	for _, c := range []struct {
		name    string
		page    string
		servers []engine.Client
		want    engine.Said
	}{
		{"it never was ready, and no request ended", idle, []engine.Client{unwell, unwell}, engine.SaidStarting},
		{
			"requests have ended",
			idle + "sglang:num_requests_total{model_name=\"m\"} 3\n",
			[]engine.Client{unwell},
			engine.SaidReady,
		},
		{"it was ready before", idle, []engine.Client{well, unwell}, engine.SaidReady},
		{"it is ready since", idle, []engine.Client{unwell, well}, engine.SaidReady},
	} {
		word, h := wordBeside(t, readPage(t, engine.SGLang, []byte(c.page)), engine.SGLang, c.servers...)
		require.Equal(t, c.want, word, "%s: %s", c.name, h.Detail)
	}
}

// TestRestartedWorkerStartsAgain has a worker that was ready, and another process in its place.
func TestRestartedWorkerStartsAgain(t *testing.T) {
	ready, none := answers{
		"/health": `{"status":"ready","endpoints":{"generate":"ready"}}`,
	}, answers{
		"/health": `{"status":"notready","endpoints":{}}`,
	}
	word, h := wordOf(t, engine.Dynamo, ready, answers{"*": refuses}, none)
	require.Equal(t, engine.SaidStarting, word, h.Detail)
	require.True(t, h.NoEndpoint, "it has no endpoint: %+v", h)
	word, h = wordOf(t, engine.Dynamo, ready, none)
	require.Equal(t, engine.SaidNotReady, word)
	require.Equal(t, "it has no endpoint for requests any more", h.Detail)
}

// TestFirstWords names what servers say that were never ready.
func TestFirstWords(t *testing.T) {
	for _, c := range []struct {
		says   string
		kind   engine.Name
		server answers
		want   engine.Said
	}{
		{
			"a worker without endpoint, or a follower", engine.Dynamo,
			answers{"/health": `{"status":"notready","endpoints":{}}`},
			engine.SaidStarting,
		},
		{
			"a follower node of an SGLang", engine.SGLang,
			answers{"/ping": "", "/health": "", "/health_generate": ""},
			engine.SaidStarting,
		},
		{"an SGLang of which a proxy shows the page only", engine.SGLang, answers{}, engine.SaidNothing},
		{
			"a worker whose endpoint is not ready", engine.Dynamo,
			answers{"/health": `{"status":"notready","endpoints":{"generate":"notready"}}`},
			engine.SaidNotReady,
		},
		{
			"a frontend without workers", engine.Dynamo,
			answers{"/health": `{"status":"healthy","instances":[]}`},
			engine.SaidNotReady,
		},
		{
			"a Triton that is not live yet", engine.Triton,
			answers{"/v2/health/ready": denies, "/v2/health/live": denies},
			engine.SaidNotReady,
		},
		{"a Triton that nobody found", engine.Triton, answers{"*": refuses}, engine.SaidNothing},
		{
			"a vLLM that was paused before its first request", engine.VLLM,
			answers{"/health": "", "/is_paused": `{"is_paused":true}`},
			engine.SaidPaused,
		},
	} {
		word, h := wordOf(t, c.kind, c.server)
		require.Equal(t, c.want, word, "%s: %s", c.says, h.Detail)
		require.False(t, h.WasReady, c.says)
	}
}

// wordOf returns the word after each of the servers in turn was asked at a given address.
func wordOf(t *testing.T, kind engine.Name, servers ...engine.Client) (engine.Said, *engine.Health) {
	t.Helper()
	return wordBeside(t, nil, kind, servers...)
}

// wordBeside is wordOf beside a page.
func wordBeside(
	t *testing.T,
	page *engine.Page,
	kind engine.Name,
	servers ...engine.Client,
) (engine.Said, *engine.Health) {
	t.Helper()
	var a engine.Answers
	for _, server := range servers {
		e := engineOf(t, kind)
		a.AddHealth(e.Health(t.Context(), server, "http://10.0.0.1:8000"))
		var l engine.Locator
		a.Reconcile(l.Locate(nil, &target.Target{
			MetricsURL: "http://10.0.0.1:8002/metrics",
			APIURL:     "http://10.0.0.1:8000",
		}, e, false), page)
	}
	return a.Health.Said(), a.Health
}
