package replica

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// vllmAt returns the responses of a vLLM with a model under a path.
func vllmAt(path, model, version string) map[string]string {
	return map[string]string{
		path + "/health": "", path + "/version": fmt.Sprintf(`{"version":%q}`, version),
		path + "/v1/models": fmt.Sprintf(
			`{"object":"list","data":[{"id":%[1]q,"root":%[1]q,"owned_by":"vllm"}]}`, model,
		),
	}
}

func TestForeignAPIIsNotUsed(t *testing.T) {
	const (
		tritonPage = "nv_inference_request_success{model=\"m\",version=\"1\"} 5\n"
		vllmPage   = "vllm:num_requests_running{engine=\"0\",model_name=\"m\"} 0\n"
		meta       = `{"name":"triton","version":"2.51.0","extensions":["statistics"]}`
		loaded     = `[{"name":"m","version":"1","state":"READY"}]`
	)
	triton := func(index string) map[string]string {
		return map[string]string{
			"/v2": meta, "/v2/repository/index": index, "/v2/health/ready": "", "/v2/health/live": "",
		}
	}
	merge := func(all ...map[string]string) map[string]string {
		merged := make(map[string]string)
		for _, some := range all {
			maps.Copy(merged, some)
		}
		return merged
	}
	for _, c := range []struct {
		name, engine, url, api string
		answers                map[string]string
		// status is the status and body of everything that is not answered.
		status int
		body   string
		// version, ready and state are what is shown; ready is empty for nothing.
		version, ready, state string
	}{
		{
			"a guessed Triton with the models of the page", "triton", "/metrics", "", triton(loaded), 404, "", "2.51.0",
			"1", "ready",
		},
		{
			"a guessed Triton with other models", "triton", "/metrics", "",
			triton(`[{"name":"other","version":"1","state":"READY"}]`), 404, "", "unknown", "", "ready",
		},
		{
			"a guessed Triton with the model of the page and a missing one", "triton", "/metrics", "",
			triton(`[{"name":"m","state":"READY"},{"name":"other","state":"READY"}]`), 404, "", "unknown", "", "ready",
		},
		{
			"a guessed Triton that also lists an unloaded model", "triton", "/metrics", "",
			triton(`[{"name":"m","state":"READY"},{"name":"other"}]`), 404, "", "2.51.0", "1", "ready",
		},
		{
			"a guessed Triton without index", "triton", "/metrics", "",
			map[string]string{"/v2": meta, "/v2/health/ready": ""},
			403, "", "unknown", "", "ready",
		},
		{
			"a guessed Triton that is not ready", "triton", "/metrics", "",
			map[string]string{"/v2": meta, "/v2/repository/index": loaded},
			400, "", "2.51.0", "0", "not_ready",
		},
		{
			"a proxy at a guessed port", "triton", "/metrics", "", nil, 503, "upstream connect error", "unknown", "",
			"ready",
		},
		{"silence at a guessed port", "triton", "/metrics", "", nil, 503, "", "unknown", "", "ready"},
		{
			"a web server at a guessed port", "triton", "/metrics", "",
			map[string]string{"/v2/health/ready": "<html>", "/v2/health/live": "<html>"},
			404, "", "unknown", "",
			"ready",
		},
		{
			"a proxy at a given address", "triton", "/metrics", "http://10.0.0.1:9000", nil, 503,
			"upstream connect error", "unknown", "", "ready",
		},
		{
			"a Triton at a given address that is not ready", "triton", "/metrics", "http://10.0.0.1:9000",
			map[string]string{"/v2": meta},
			400, "", "2.51.0", "0", "not_ready",
		},
		{
			"a given address with empty 503", "triton", "/metrics", "http://10.0.0.1:9000", nil, 503, "", "unknown", "",
			"ready",
		},
		{
			"a given address with empty answers", "triton", "/metrics", "http://10.0.0.1:8002", nil, 200, "", "unknown",
			"", "ready",
		},
		{
			"a given address with HTML", "triton", "/metrics", "http://10.0.0.1:80", nil, 200, "<html>", "unknown", "",
			"ready",
		},
		{
			"a vLLM on the port of its page", "vllm", "/metrics", "", vllmAt("", "m", "0.12.0"), 404, "", "0.12.0", "1",
			"ready",
		},
		{
			"a vLLM whose engine is dead", "vllm", "/metrics", "",
			map[string]string{"/version": `{"version":"0.12.0"}`},
			503, "", "0.12.0", "0", "not_ready",
		},
		{
			"a vLLM behind a proxy without a route to its API", "vllm", "/metrics", "", nil, 503, "", "unknown", "",
			"ready",
		},
		{
			"a vLLM behind a proxy that refuses all but the page", "vllm", "/metrics", "", nil, 503, "<html>",
			"unknown", "", "ready",
		},
		{
			"a vLLM that requires a key", "vllm", "/metrics", "", nil, 401, `{"error":"Unauthorized"}`, "unknown", "",
			"ready",
		},
		{
			"another vLLM on the port of the page", "vllm", "/metrics", "", vllmAt("", "other", "0.12.0"), 404, "",
			"unknown", "", "ready",
		},
		{
			"a vLLM on the port of its page, which calls its model by its path", "vllm", "/metrics", "",
			map[string]string{
				"/health": "", "/version": `{"version":"0.30.0"}`,
				"/v1/models": `{"data":[{"id":"mine","root":"m","owned_by":"vllm"}]}`,
			},
			404, "", "0.30.0", "1", "ready",
		},
		{
			"a vLLM whose engine is dead, and which calls its model by its path", "vllm", "/metrics", "",
			map[string]string{
				"/version":   `{"version":"0.30.0"}`,
				"/v1/models": `{"data":[{"id":"mine","root":"m","owned_by":"vllm"}]}`,
			},
			503, "", "0.30.0", "0", "not_ready",
		},
		{
			"a Triton with other models at a given address", "triton", "/metrics", "http://10.0.0.1:9000",
			triton(`[{"name":"other"}]`), 404, "", "2.51.0", "1", "ready",
		},
		{
			"a vLLM next to its page, another at the root", "vllm", "/a/b/metrics", "",
			merge(vllmAt("", "other", "0.9.1"), vllmAt("/a/b", "m", "0.12.0")), 404, "", "0.12.0", "1", "ready",
		},
		{
			"another vLLM at the root", "vllm", "/b/metrics", "", vllmAt("", "other", "0.9.1"), 404, "", "unknown", "",
			"ready",
		},
		{
			"a vLLM at the root of its page", "vllm", "/b/metrics", "", vllmAt("", "m", "0.12.0"), 404, "", "0.12.0",
			"1", "ready",
		},
		{
			"another vLLM with the same model and a page at the root", "vllm", "/b/metrics", "",
			merge(vllmAt("", "m", "0.9.1"), map[string]string{"/metrics": vllmPage}), 404, "", "unknown", "", "ready",
		},
		{"a proxy at the root", "vllm", "/b/metrics", "", nil, 503, "no backend", "unknown", "", "ready"},
		{
			"an engine of the same models at the root", "vllm", "/b/metrics", "",
			map[string]string{
				"/health": "", "/version": `{"version":"1"}`,
				"/v1/models": `{"data":[{"id":"m","owned_by":"tensorrt_llm"}]}`,
			},
			404, "", "unknown", "", "ready",
		},
		{
			"a vLLM under a given path", "vllm", "/b/metrics", "http://10.0.0.1:8002/api",
			vllmAt("/api", "m", "0.12.0"), 404, "", "0.12.0", "1", "ready",
		},
	} {
		t.Run(c.name, bubble(func(t *testing.T) {
			page := map[string]string{"triton": tritonPage, "vllm": vllmPage}[c.engine]
			s := step(t, answering{
				page:   page,
				api:    c.answers,
				status: c.status,
				body:   c.body,
			}, func(t *target.Target, _ *Pool) {
				t.Engine, t.MetricsURL, t.APIURL = c.engine, "http://10.0.0.1:8002"+c.url, c.api
			})
			for range 4 {
				s.due()
				s.after(5 * time.Second)
			}
			status := s.slot.Status()
			require.Equal(t, c.version, status.EngineVersion)
			require.Equal(t, c.state, status.State, status.StateReason)
			if c.ready != "" {
				require.Regexp(t, `llm_server_ready\{.*\} `+c.ready+"\n", s.page())
			} else {
				require.NotContains(t, s.page(), "llm_server_ready{")
				require.NotContains(t, s.page(), "llm_server_live{")
				require.Contains(t, s.page(), `llm_server_capability{capability="health",`)
			}
		}))
	}
}

func TestRefusedPortMeansDrainingOnlyForKnownAPI(t *testing.T) {
	for index, state := range map[string]string{
		`[{"name":"tensorrt_llm","version":"1","state":"READY"}]`: "draining",
		`[{"name":"other","version":"1","state":"READY"}]`:        "ready",
	} {
		synctest.Test(t, func(t *testing.T) {
			now := tritonAnswers()
			now.api["/v2/repository/index"] = index
			s := step(t, now, func(t *target.Target, _ *Pool) {
				t.MetricsURL, t.APIURL = "http://10.0.0.1:8002/metrics", ""
			})
			s.due()
			s.after(5 * time.Second)
			s.change(func(now *answering) { now.refused = true })
			for range 10 {
				s.due()
				s.after(5 * time.Second)
			}
			require.Equal(t, state, s.slot.Status().State, s.slot.Status().StateReason)
		})
	}
}

func TestConfiguredKindHasToShow(t *testing.T) {
	for name, c := range map[string]struct {
		answering

		severity string
	}{
		"the page of another exporter": {answering{page: "node_load1 1\n"}, "look"},
		"a page without statistics, beside its API": {
			answering{page: "process_open_fds 1\n", api: vllmAt("", "m", "0.12.0")}, "ok",
		},
		"a page of the kind, without an API": {
			answering{page: "vllm:num_requests_running{model_name=\"m\"} 0\n"}, "ok",
		},
		"a page without statistics, and without API": {
			answering{page: "process_open_fds 1\n", status: http.StatusUnauthorized}, "look",
		},
	} {
		t.Run(name, bubble(func(t *testing.T) {
			s := step(t, c.answering, func(t *target.Target, _ *Pool) {
				t.Engine, t.MetricsURL, t.APIURL = "vllm", "http://10.0.0.1:8000/metrics", ""
			})
			s.due()
			status := s.after(5 * time.Second)
			require.Equal(t, c.severity, status.Severity)
			require.Equal(t, "ready", status.State, "state and probes rest on the page")
			require.Equal(
				t, c.severity == "look",
				strings.HasPrefix(
					status.StateReason, "neither the page nor an API shows that it is vllm, as engine says",
				),
				status.StateReason,
			)
		}))
	}
}

// TestServerThatWithholdsItsPageIsNoAbsentOne starts with servers that answer from the beginning,
// but not with a page.
func TestServerThatWithholdsItsPageIsNoAbsentOne(t *testing.T) {
	for name, c := range map[string]struct {
		failure scrape.Error
		state   string
	}{
		"without our token":             {scrape.Error{Reason: scrape.ReasonHTTPStatus, Class: "401"}, "blind"},
		"forbidden":                     {scrape.Error{Reason: scrape.ReasonHTTPStatus, Class: "403"}, "blind"},
		"at another path":               {scrape.Error{Reason: scrape.ReasonHTTPStatus, Class: "404"}, "blind"},
		"busy with too many scrapes":    {scrape.Error{Reason: scrape.ReasonHTTPStatus, Class: "429"}, "blind"},
		"behind a login page":           {scrape.Error{Reason: scrape.ReasonContentType}, "blind"},
		"behind a redirect":             {scrape.Error{Reason: scrape.ReasonRedirect}, "blind"},
		"with a certificate of another": {scrape.Error{Reason: scrape.ReasonTLS, Class: scrape.ClassName}, "blind"},
		"that wants our certificate": {
			scrape.Error{Reason: scrape.ReasonTLS, Class: scrape.ClassClientCert}, "blind",
		},
		"with TLS, asked without":      {scrape.Error{Reason: scrape.ReasonTLS, Class: scrape.ClassWantsTLS}, "blind"},
		"without TLS, asked with":      {scrape.Error{Reason: scrape.ReasonTLS, Class: scrape.ClassNotTLS}, "blind"},
		"with a page beyond our limit": {scrape.Error{Reason: scrape.ReasonSampleLimit}, "blind"},
		"that ends every connection":   {scrape.Error{Reason: scrape.ReasonReset}, "unknown"},
		"that is not ready yet":        {scrape.Error{Reason: scrape.ReasonHTTPStatus, Class: "503"}, "unknown"},
		"behind a gateway without it":  {scrape.Error{Reason: scrape.ReasonHTTPStatus, Class: "502"}, "unknown"},
		"that is not there":            {scrape.Error{Reason: scrape.ReasonConnect}, "unknown"},
		"whose name nobody knows":      {scrape.Error{Reason: scrape.ReasonDNS}, "unknown"},
		"that is this exporter":        {scrape.Error{Reason: scrape.ReasonSelfScrape}, "unknown"},
		"in a network that is denied":  {scrape.Error{Reason: scrape.ReasonConnect, Class: scrape.ClassDenied}, "down"},
		"that hangs":                   {scrape.Error{Reason: scrape.ReasonTimeout}, "down"},
		"whose page alone hangs":       {scrape.Error{Reason: scrape.ReasonTimeout, Class: scrape.ClassPage}, "unknown"},
	} {
		t.Run(name, bubble(func(t *testing.T) {
			c.failure.Err = errors.New("why")
			s := step(t, answering{failed: &c.failure}, func(t *target.Target, p *Pool) {
				t.MetricsURL, t.APIURL = "https://10.0.0.1:8000/metrics", ""
				p.StartBudget = time.Hour
			})
			s.due()
			status := s.after(5 * time.Second)
			require.Equal(t, c.state, status.State, status.StateReason)
			if c.state == "blind" {
				require.Contains(t, status.StateReason, "it answers")
			}
		}))
	}
}

// TestReasonOfAbsenceIsWhatWasSeen has servers of which nothing is there, each for another reason.
func TestReasonOfAbsenceIsWhatWasSeen(t *testing.T) {
	for name, c := range map[string]struct {
		failure     scrape.Error
		first, gone string
	}{
		"the port is closed": {
			scrape.Error{Reason: scrape.ReasonConnect, Err: errors.New("why")},
			"nothing listens, and this exporter has never seen it up", "nothing listens any more",
		},
		"nobody knows its name": {
			scrape.Error{Reason: scrape.ReasonDNS, Err: &net.DNSError{IsNotFound: true, Err: "why"}},
			"its name does not resolve, and this exporter has never seen it up: dns: ", "its name does not resolve any more",
		},
		"a gateway does not reach it": {
			scrape.Error{Reason: scrape.ReasonHTTPStatus, Class: "502", Err: errors.New("why")},
			"a gateway does not reach it, and this exporter has never seen it up: http_status (502): ",
			"a gateway does not reach it any more",
		},
	} {
		t.Run(name, bubble(func(t *testing.T) {
			s := step(t, answering{failed: &c.failure, refused: true}, func(_ *target.Target, p *Pool) {
				p.StartBudget = time.Hour
			})
			s.due()
			require.Contains(t, s.after(5*time.Second).StateReason, c.first)
			s = step(t, tritonAnswers(), nil)
			s.due()
			s.change(func(now *answering) { now.failed, now.refused = &c.failure, true })
			for range 2 {
				s.after(5 * time.Second)
				s.due()
			}
			require.Contains(t, s.after(0).StateReason, c.gone)
		}))
	}
}

// TestNameThatIsGone has the pod of a name deleted, and a resolver that cannot tell.
func TestNameThatIsGone(t *testing.T) {
	for state, why := range map[string]net.DNSError{"down": {IsNotFound: true}, "blind": {IsTemporary: true}} {
		t.Run(state, bubble(func(t *testing.T) {
			s := step(t, tritonAnswers(), nil)
			s.due()
			s.change(func(now *answering) {
				now.failed, now.refused = &scrape.Error{Reason: scrape.ReasonDNS, Err: &why}, why.IsNotFound
			})
			for range 2 {
				s.after(5 * time.Second)
				s.due()
			}
			status := s.after(0)
			require.Equal(t, state, status.State, status.StateReason)
			require.Equal(t, state != "down", status.ProbeReady, "ready for the probe, %s", status.StateReason)
		}))
	}
}

func TestGatewayAnswersForItsServer(t *testing.T) {
	for status, state := range map[int]string{
		429: "blind", 500: "blind", 502: "down", 503: "blind", 504: "blind",
	} {
		t.Run(strconv.Itoa(status), bubble(func(t *testing.T) {
			s := step(t, tritonAnswers(), nil)
			s.due()
			s.change(func(now *answering) {
				now.failed = &scrape.Error{Reason: scrape.ReasonHTTPStatus, Class: strconv.Itoa(status)}
				now.api, now.status, now.body = nil, status, "no upstream"
			})
			s.after(5 * time.Second)
			s.due()
			require.Equal(t, state, s.after(time.Second).State, s.slot.Status().StateReason)
		}))
	}
}

// TestProxyDoesNotSpeakForItsServer has a proxy that answers with an empty 503 to page and API alike, as the server
// itself answers to its API alone, for longer than stall_after.
func TestProxyDoesNotSpeakForItsServer(t *testing.T) {
	for pageToo, live := range map[bool]bool{true: true, false: false} {
		t.Run(strconv.FormatBool(pageToo), bubble(func(t *testing.T) {
			s := step(t, serveAnswers("1.3.0", "hi"), func(_ *target.Target, p *Pool) { p.StallAfter = 30 * time.Second })
			s.due()
			require.Equal(t, "ready", s.after(5*time.Second).State)
			s.change(func(now *answering) {
				now.api, now.status, now.body = nil, 503, ""
				if pageToo {
					now.failed = &scrape.Error{Reason: scrape.ReasonHTTPStatus, Class: "503"}
				} else {
					now.failed = failed(scrape.ReasonTimeout)
				}
			})
			var status target.Status
			for range 12 {
				s.due()
				status = s.after(10 * time.Second)
			}
			require.False(t, status.ProbeReady, status.StateReason)
			require.Equal(t, live, status.ProbeLive, status.StateReason)
		}))
	}
}

// TestProxyOnAnotherPortDoesNotSpeakForItsServer has a vLLM of whose requests nothing moves, and that was ready. Its
// API says for longer than stall_after that it is not, or a proxy does on a port of its own.
func TestProxyOnAnotherPortDoesNotSpeakForItsServer(t *testing.T) {
	for _, c := range []struct {
		name, api string
		// body is what is answered, all true if it is to every question.
		body string
		all  bool
		live bool
	}{
		{"the server, on the port of the page", "", "the engine is dead", false, false},
		{"a proxy, on another port", "http://10.0.0.1:9000", "no healthy upstream", true, true},
		{"a proxy without a word", "http://10.0.0.1:9000", "", true, true},
		{"the server, by its empty answer to this question alone", "http://10.0.0.1:9000", "", false, false},
	} {
		t.Run(c.name, bubble(func(t *testing.T) {
			const page = "vllm:num_requests_running{engine=\"0\",model_name=\"m\"} 3\n" +
				"# TYPE vllm:generation_tokens counter\nvllm:generation_tokens_total{engine=\"0\",model_name=\"m\"} 9\n"
			s := step(t, answering{page: page, api: vllmAt("", "m", "0.12.0"), kept: true}, func(t *target.Target, p *Pool) {
				t.Engine, t.MetricsURL, t.APIURL = "vllm", "http://10.0.0.1:8000/metrics", c.api
				p.StallAfter = 30 * time.Second
			})
			s.due()
			require.Equal(t, "ready", s.after(5*time.Second).State)
			s.change(func(now *answering) {
				if now.status, now.body = 503, c.body; c.all {
					now.api = nil
				} else {
					delete(now.api, "/health")
				}
			})
			var status target.Status
			for range 12 {
				s.due()
				status = s.after(10 * time.Second)
			}
			require.False(t, status.ProbeReady, status.StateReason)
			require.Equal(t, c.live, status.ProbeLive, status.StateReason)
		}))
	}
}

// TestPageOfAPodOutlivesItsServer has an agent that merges the pages of a pod, and answers with its own alone once its
// vLLM is gone. The API has another port.
func TestPageOfAPodOutlivesItsServer(t *testing.T) {
	const agent, server = "istio_agent_up 1\n", "vllm:num_requests_running{engine=\"0\",model_name=\"m\"} 0\n"
	for _, c := range []struct {
		name   string
		change func(now *answering)
		state  string
		ready  bool
	}{
		{"nothing listens at its API", func(now *answering) { now.refused = true }, "down", false},
		{"its API answers", func(*answering) {}, "blind", true},
		{"its API does not answer", func(now *answering) { now.apiTakes = never }, "blind", true},
	} {
		t.Run(c.name, bubble(func(t *testing.T) {
			s := step(t, answering{page: agent + server, api: vllmAt("", "m", "0.12.0"), kept: true},
				func(t *target.Target, _ *Pool) {
					t.Engine, t.MetricsURL, t.APIURL = "auto", "http://10.0.0.1:15020/metrics", "http://10.0.0.1:8000"
				})
			s.due()
			require.Equal(t, "ready", s.after(5*time.Second).State)
			s.change(func(now *answering) {
				now.page = agent
				c.change(now)
			})
			for range 6 {
				s.due()
				s.after(5 * time.Second)
			}
			status := s.slot.Status()
			require.Equal(t, c.state, status.State, status.StateReason)
			require.Equal(t, c.ready, status.ProbeReady, status.StateReason)
			require.True(t, status.ProbeLive, status.StateReason)
			s.change(func(now *answering) {
				now.page, now.refused, now.apiTakes = agent+server, false, 0
			})
			s.due()
			s.after(5 * time.Second)
			s.due()
			require.Equal(t, "ready", s.after(5*time.Second).State, "when it is back")
		}))
	}
}

// TestProxyOnAnotherPortDoesNotOutliveItsServer has a vLLM at whose port nothing listens any more, while what answers
// at its API says that it is ready: the server itself, as behind an agent that is gone, or a proxy.
func TestProxyOnAnotherPortDoesNotOutliveItsServer(t *testing.T) {
	ofOnePath := map[string]string{"/health": ""}
	for _, c := range []struct {
		name string
		api  map[string]string
		// change is what changes once nothing listens at its port.
		change func(now *answering)
		state  string
	}{
		{"the server says who it is", vllmAt("", "m", "0.12.0"), func(*answering) {}, "blind"},
		{"a server that never said that", ofOnePath, func(*answering) {}, "blind"},
		{"a server that asks for credentials", vllmAt("", "m", "0.12.0"), func(now *answering) {
			now.api, now.status = ofOnePath, http.StatusUnauthorized
		}, "blind"},
		{"a proxy that knows one path", vllmAt("", "m", "0.12.0"), func(now *answering) { now.api = ofOnePath }, "down"},
		{"a proxy that answers all alike", vllmAt("", "m", "0.12.0"), func(now *answering) {
			now.api, now.status = nil, http.StatusOK
		}, "down"},
	} {
		t.Run(c.name, bubble(func(t *testing.T) {
			s := step(t, answering{
				page: "vllm:num_requests_running{engine=\"0\",model_name=\"m\"} 0\n",
				api:  c.api,
				kept: true,
			}, func(t *target.Target, _ *Pool) {
				t.Engine, t.MetricsURL, t.APIURL = "vllm", "http://10.0.0.1:8000/metrics", "http://10.0.0.1:9000"
			})
			s.due()
			require.Equal(t, "ready", s.after(5*time.Second).State)
			s.change(func(now *answering) {
				now.failed = failed(scrape.ReasonConnect)
				c.change(now)
			})
			var status target.Status
			for n := range 20 {
				s.due()
				status = s.after(5 * time.Second)
				if n == 2 {
					require.Equal(t, c.state, status.State, status.StateReason)
					s.slow = map[string]time.Duration{"/v1/models": never, "/version": never}
				}
			}
			require.Equal(t, c.state, status.State, "rounds without an answer say nothing: %s", status.StateReason)
			require.Equal(t, c.state == "blind", status.ProbeReady, status.StateReason)
			require.True(t, status.ProbeLive, status.StateReason)
		}))
	}
}

// TestOldPageOfAnAgentDoesNotOutliveItsServer has an agent that shows the last page of its vLLM for minutes. Nothing
// listens at the API any more; or only a proxy there is gone, and requests end that came since.
func TestOldPageOfAnAgentDoesNotOutliveItsServer(t *testing.T) {
	for serves, state := range map[bool]string{false: "draining", true: "ready"} {
		t.Run(state, bubble(func(t *testing.T) {
			page := func(n int) string {
				return fmt.Sprintf("vllm:num_requests_running{engine=\"0\",model_name=\"m\"} 0\n"+
					"vllm:request_success_total{engine=\"0\",finished_reason=\"stop\",model_name=\"m\"} %d\n", n)
			}
			s := step(t, answering{page: page(0), api: vllmAt("", "m", "0.12.0"), kept: true}, func(t *target.Target, _ *Pool) {
				t.Engine, t.MetricsURL, t.APIURL = "auto", "http://10.0.0.1:15020/metrics", "http://10.0.0.1:8000"
			})
			s.due()
			require.Equal(t, "ready", s.after(5*time.Second).State)
			s.change(func(now *answering) { now.refused = true })
			var status target.Status
			for n := range 6 {
				if serves {
					s.change(func(now *answering) { now.page = page(3 * n) })
				}
				s.due()
				status = s.after(5 * time.Second)
			}
			require.Equal(t, state, status.State, status.StateReason)
			require.Equal(t, serves, status.ProbeReady, status.StateReason)
			require.True(t, status.ProbeLive, status.StateReason)
		}))
	}
}

// TestServerIsNotThereBeforeItStarts has the page of an agent alone, since the vLLM in its pod loads.
func TestServerIsNotThereBeforeItStarts(t *testing.T) {
	const agent, server = "istio_agent_up 1\n", "vllm:num_requests_running{engine=\"0\",model_name=\"m\"} 0\n"
	for api, state := range map[string]string{"http://10.0.0.1:8000": "unknown", "": "ready"} {
		t.Run(state, bubble(func(t *testing.T) {
			s := step(t, answering{page: agent, refused: true, kept: true}, func(t *target.Target, p *Pool) {
				t.Engine, t.MetricsURL, t.APIURL = "vllm", "http://10.0.0.1:15020/metrics", api
				p.StartBudget = time.Hour
			})
			var status target.Status
			for range 4 {
				s.due()
				status = s.after(5 * time.Second)
				require.Equal(t, state, status.State, status.StateReason)
				require.Equal(t, state == "ready", status.ProbeReady, status.StateReason)
				require.True(t, status.ProbeLive, status.StateReason)
				require.Equal(t, api != "", strings.Contains(status.StateReason, "by api_port"), status.StateReason)
			}
			s.change(func(now *answering) {
				now.page, now.api, now.refused = agent+server, vllmAt("", "m", "0.12.0"), false
			})
			s.due()
			status = s.after(5 * time.Second)
			require.Equal(t, "ready", status.State, status.StateReason)
			require.True(t, status.ProbeReady, status.StateReason)
		}))
	}
}

func TestAPIBelongsToPageWhileModelsChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := step(t, tritonAnswers(), func(t *target.Target, _ *Pool) {
			t.MetricsURL, t.APIURL = "http://10.0.0.1:8002/metrics", ""
		})
		lists := func(model string) {
			s.change(func(now *answering) {
				now.api["/v2/repository/index"] = fmt.Sprintf(`[{"name":%q,"version":"1","state":"READY"}]`, model)
			})
		}
		version := func(during time.Duration) string {
			for end := time.Now().Add(during); time.Now().Before(end); s.after(5 * time.Second) {
				s.due()
			}
			return s.slot.Status().EngineVersion
		}
		require.Equal(t, "2.51.0", version(time.Minute))
		s.change(func(now *answering) { now.page = strings.ReplaceAll(now.page, "tensorrt_llm", "next") })
		require.Equal(t, "2.51.0", version(5*time.Second), "the page is ahead of the index")
		lists("next")
		require.Equal(t, "2.51.0", version(time.Hour))
		lists("another")
		require.Equal(t, "unknown", version(time.Hour), "it is another server's by now")
		lists("next")
		require.Equal(t, "2.51.0", version(time.Hour))
	})
}

func TestSilentAPIIsNotLookedForElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := answering{page: "vllm:num_requests_running{model_name=\"m\"} 0\n", api: vllmAt("/b", "m", "0.12.0")}
		s := step(t, now, func(t *target.Target, _ *Pool) {
			t.Engine, t.MetricsURL, t.APIURL = "vllm", "http://10.0.0.1:8000/b/metrics", ""
		})
		s.due()
		s.after(5 * time.Second)
		require.Equal(t, "0.12.0", s.slot.Status().EngineVersion)
		require.Equal(t, "http://10.0.0.1:8000/b", s.slot.Status().APIURL)
		s.change(func(now *answering) { now.api = vllmAt("", "m", "0.9.1") })
		for range 30 {
			s.due()
			s.after(5 * time.Second)
		}
		require.Equal(t, "0.12.0", s.slot.Status().EngineVersion)
	})
}

func TestForeignAddressIsRequestedRarely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := tritonAnswers()
		now.api, now.status, now.body = nil, http.StatusServiceUnavailable, "no backend"
		s := step(t, now, func(t *target.Target, _ *Pool) {
			t.MetricsURL, t.APIURL = "http://10.0.0.1:8002/metrics", ""
		})
		for range 120 {
			s.due()
			s.after(5 * time.Second)
		}
		require.LessOrEqual(t, s.count("/v2/health/ready"), 10*60/30+1, "as often as who it is")
	})
}
