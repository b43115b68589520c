package engine_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

func TestDynamoIsJudgedByWhatItListsNotByItsStatus(t *testing.T) {
	const some = `{"status":"healthy","endpoints":["dyn://dynamo.backend.generate"],"instances":[{"endpoint":"generate"}]}`
	worker := func(endpoints string) string {
		return `{"status":"notready","uptime":{"secs":3,"nanos":879995933},"endpoints":` + endpoints + `}`
	}
	for _, c := range []struct {
		says   string
		server answers
		want   engine.APIState
		detail string
	}{
		{"a frontend with a worker and a model", answers{"/health": some, "/v1/models": `{"data":[{"id":"m"}]}`}, engine.APIReady, "200"},
		{"a frontend behind a proxy that answers in its place", answers{"/health": some, "/v1/models": `{"error":"try again"}`}, engine.APIReady, "200"},
		{"a frontend whose worker died a moment ago", answers{"/health": some, "/v1/models": `{"object":"list","data":[]}`}, engine.APINotReady, "no model"},
		{"a frontend that does not list models", answers{"/health": some}, engine.APIReady, "200"},
		{"an empty frontend", answers{"/health": `{"status":"healthy","endpoints":[],"instances":[]}`}, engine.APINotReady, "no worker"},
		{"a worker that serves", answers{"/health": worker(`{"generate":"ready","worker_kv_query_source_1":"ready"}`)}, engine.APIReady, "generate is ready"},
		{"a worker that fails its own checks", answers{"/health": worker(`{"generate":"notready"}`)}, engine.APINotReady, "generate is notready"},
		{"a worker that is as bad elsewhere", answers{"/health": worker(`{"a":"broken","b":"broken","c":"broken","d":"broken","e":"broken","f":"broken","generate":"notready"}`)}, engine.APINotReady, "generate is notready"},
		{"a worker that starts", answers{"/health": worker(`{}`)}, engine.APINotReady, "no endpoint"},
		{"a worker of another part", answers{"/health": worker(`{"prefill":"ready"}`)}, engine.APIReady, "endpoints are ready"},
		{"a worker of another part that is not ready", answers{"/health": worker(`{"prefill":"notready"}`)}, engine.APINotReady, "prefill is notready"},
		{"a later release", answers{"/health": `{"ok":true}`}, engine.APIReady, "200"},
		{"text", answers{"/health": "fine"}, engine.APIReady, "200"},
		{"nothing listens", answers{"*": refuses}, engine.APIRefused, "refuses"},
	} {
		t.Run(c.says, func(t *testing.T) {
			e, _ := engine.Of(string(engine.Dynamo))
			h := e.Health(t.Context(), c.server, "http://server")
			require.Equal(t, c.want, h.API, h.Detail)
			require.Contains(t, h.Detail, c.detail)
			require.Equal(t, c.want != engine.APIRefused, h.Live)
			require.Equal(t, c.want != engine.APIRefused, h.LiveKnown)
		})
	}
}

func TestAnAnswerThatIsNotDynamosDoesNotMakeItReady(t *testing.T) {
	const serves = `{"status":"notready","endpoints":{"generate":"ready"}}`
	for _, c := range []struct {
		says   string
		server said
		want   engine.APIState
		live   bool
		detail string
	}{
		{"a worker that serves and says 503", said{503, "", serves}, engine.APIReady, true, "the worker's endpoint generate is ready, whatever its status says"},
		{"a proxy in front of nobody", said{502, "", "<html>Bad Gateway</html>"}, engine.APIFailed, false, "the API answers Bad Gateway to http://server/health"},
		{"a balancer without a worker", said{503, "", "no healthy upstream"}, engine.APIFailed, false, "the API answers Service Unavailable to http://server/health"},
		{"a status without a name", said{520, "", ""}, engine.APIFailed, false, "the API answers 520 to http://server/health"},
		{"a frontend that ends", said{503, "", `{"status":"not_ready","stage":"draining","message":"Service is not ready"}`}, engine.APINotReady, true, "the frontend says that it drains: it answers what it has taken on, and ends"},
		{"a server without the path", said{404, "", `{"error":"not found"}`}, engine.APIFailed, false, "the API answers Not Found to http://server/health"},
		{"a server that wants a header", said{401, "", "no"}, engine.APIFailed, false, "the API is restricted: give the header the server expects with http_headers (no)"},
	} {
		t.Run(c.says, func(t *testing.T) {
			h := of(t, engine.Dynamo).Health(t.Context(), c.server, "http://server")
			require.Equal(t, c.want, h.API)
			require.Equal(t, c.detail, h.Detail)
			require.Equal(t, c.live, h.Live)
			require.Equal(t, c.live, h.LiveKnown)
		})
	}
}

func TestAFrontendThatRoutesNoModelIsSeen(t *testing.T) {
	for _, path := range samples(t, "real-dynamo-frontend-*.prom") {
		t.Run(sampleName(path), func(t *testing.T) {
			body, err := os.ReadFile(path)
			require.NoError(t, err)
			page := readPage(t, engine.Dynamo, body)
			require.Equal(t, strings.Contains(string(body), "\ndynamo_frontend_model_ready{model=\"tiny-llama\"} 0"), page.Unrouted())
		})
	}
}
