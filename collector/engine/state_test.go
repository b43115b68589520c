package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

func TestStateOfAReplica(t *testing.T) {
	api := func(s engine.APIState) engine.Health { return engine.Health{API: s, Detail: "the API said so"} }
	refuses := engine.Evidence{Health: api(engine.APIRefused), PageRefused: true, PageError: "connect: refused"}
	for _, c := range []struct {
		says   string
		e      engine.Evidence
		state  engine.State
		reason string
	}{
		{"both refuse, never answered", with(refuses, func(e *engine.Evidence) { e.Grace = true }), engine.StateStarting, "models are loaded"},
		{"both refuse, never answered, for long", refuses, engine.StateDown, "connect: refused"},
		{"both refuse, was up", with(refuses, func(e *engine.Evidence) { e.Seen, e.Grace = true, true }), engine.StateDown, "nothing listens any more"},
		{
			"a server says that it loads",
			engine.Evidence{Health: engine.Health{API: engine.APINotReady, Starting: true, Detail: "the server loads its engine"}, PageError: "http_status (503)", Seen: true},
			engine.StateStarting, "loads its engine",
		},
		{"ready and a page", engine.Evidence{Page: true, Health: api(engine.APIReady)}, engine.StateReady, "the API said so"},
		{"a page and no API that is known", engine.Evidence{Page: true}, engine.StateReady, "was not asked"},
		{"a page and an API that is restricted", engine.Evidence{Page: true, Health: api(engine.APIFailed)}, engine.StateReady, "only this is known"},
		{"not ready and a page", engine.Evidence{Page: true, Health: api(engine.APINotReady)}, engine.StateNotReady, "the API said so"},
		{"the API refuses, the page goes on", engine.Evidence{Page: true, Health: api(engine.APIRefused), APISeen: true}, engine.StateDraining, "the API said so while the page still answers: the server is ending"},
		{"the API never answered", engine.Evidence{Page: true, Health: api(engine.APIRefused)}, engine.StateReady, "only this is known"},
		{"a server of one port does not drain", engine.Evidence{Page: true, Health: api(engine.APIRefused), APISeen: true, SamePort: true}, engine.StateReady, "only this is known"},
		{"ready, and requests only fail", engine.Evidence{Page: true, Health: api(engine.APIReady), Failing: true}, engine.StateFailing, "whatever the API says"},
		{"ready, and no iteration happens", engine.Evidence{Page: true, Health: api(engine.APIReady), Stalled: true}, engine.StateStalled, "no iteration happens"},
		{"the gauges of a model whose processes died stand still", engine.Evidence{Page: true, Health: api(engine.APIReady), Stalled: true, Failing: true, Was: engine.StateFailing}, engine.StateFailing, "only fail"},
		{"stalled requests fail in the end", engine.Evidence{Page: true, Health: api(engine.APIReady), Stalled: true, Failing: true}, engine.StateStalled, "no iteration happens"},
		{
			"alive before, and no longer", // Triton 2.36 while it ends, whose API listens to the last.
			engine.Evidence{Page: true, Health: engine.Health{API: engine.APINotReady, LiveKnown: true}, APISeen: true, Lived: true},
			engine.StateDraining, "no longer live",
		},
		{
			"never alive", // With --exit-on-error=false a server that failed to start answers.
			engine.Evidence{Page: true, Health: engine.Health{API: engine.APINotReady, LiveKnown: true, Detail: "the API answers Bad Request"}, APISeen: true},
			engine.StateNotReady, "Bad Request",
		},
		{
			"no longer alive on one port",
			engine.Evidence{Page: true, Health: engine.Health{API: engine.APINotReady, LiveKnown: true, Detail: "no"}, APISeen: true, Lived: true, SamePort: true},
			engine.StateNotReady, "no",
		},
		{"draining tells more than failing", engine.Evidence{Page: true, Health: api(engine.APIRefused), APISeen: true, Failing: true}, engine.StateDraining, "is ending"},
		{"the API answers, the page fails", engine.Evidence{Health: api(engine.APIReady), PageError: "empty", Hint: "check the path"}, engine.StateBlind, "empty; check the path"},
		{"the API is not ready, the page fails", engine.Evidence{Health: api(engine.APINotReady), PageError: "timeout"}, engine.StateBlind, "timeout"},
		{"the page fails otherwise", engine.Evidence{Health: api(engine.APIRefused), PageError: "timeout", Grace: true}, engine.StateDown, "timeout"},
		{"an API that hangs is no answer", engine.Evidence{Health: api(engine.APIFailed), PageError: "timeout", Seen: true}, engine.StateDown, "timeout"},
		{"a rank that binds no port", engine.Evidence{Silent: true}, engine.StateReady, "binds no port"},
	} {
		t.Run(c.says, func(t *testing.T) {
			state, reason := c.e.Judge()
			require.Equal(t, c.state, state, reason)
			require.Contains(t, reason, c.reason)
			require.Contains(t, engine.States(), state)
		})
	}
}

// with is evidence with a change.
func with(e engine.Evidence, change func(*engine.Evidence)) engine.Evidence {
	change(&e)
	return e
}

func TestStateOfAModelIsOfIndexAndPage(t *testing.T) {
	for _, c := range []struct {
		says, index   string
		loaded, known bool
		want          string
	}{
		{"index and page agree", "READY", true, true, engine.ModelReady},
		{"the page is not known", "READY", false, false, engine.ModelReady},
		{"the page lost its core series", "READY", false, true, engine.ModelUnavailable},
		{"it loads, so the page has none yet", "LOADING", false, true, engine.ModelLoading},
		{"it unloads, with all its series", "UNLOADING", true, true, engine.ModelUnloading},
		{"it is gone, and a page of before shows it", "UNAVAILABLE", true, true, engine.ModelUnavailable},
		{"only the page speaks", "", true, true, engine.ModelReady},
		{"only the page speaks, of what is left", "", false, true, engine.ModelUnavailable},
		{"nothing is known", "", false, false, ""},
	} {
		t.Run(c.says, func(t *testing.T) {
			require.Equal(t, c.want, engine.StateOfModel(c.index, c.loaded, c.known))
		})
	}
}

func TestHealthQuestions(t *testing.T) {
	for _, c := range []struct {
		says   string
		kind   engine.Kind
		server answers
		want   engine.APIState
		live   bool
		detail string
	}{
		{"Triton is ready", engine.Triton, answers{"/v2/health/ready": "", "/v2/health/live": "", "/v2/repository/index": index}, engine.APIReady, true, "200"},
		{"Triton refuses", engine.Triton, answers{"*": refuses}, engine.APIRefused, false, "refuses"},
		{"Triton is restricted", engine.Triton, answers{"*": restricted}, engine.APIFailed, false, "http_headers"},
		{"something else answers", engine.Triton, answers{}, engine.APIFailed, false, "Not Found"},
		{"trtllm-serve is well", engine.TRTLLMServe, answers{"/health": ""}, engine.APIReady, true, "200"},
		{"the OpenAI frontend is ready", engine.TritonOpenAI, answers{"/health/ready": ""}, engine.APIReady, false, "200"},
		{"NIM is ready", engine.NIM, answers{"/v1/health/ready": "{}", "/v1/health/live": "{}"}, engine.APIReady, true, "200"},
		{"Dynamo's frontend has a worker", engine.Dynamo, answers{"/health": `{"status":"healthy","instances":[{}]}`}, engine.APIReady, true, "OK"},
		{"Dynamo's frontend has none and says healthy", engine.Dynamo, answers{"/health": `{"status":"healthy","instances":[]}`}, engine.APINotReady, true, "no worker"},
	} {
		t.Run(c.says, func(t *testing.T) {
			e, ok := engine.Of(string(c.kind))
			require.True(t, ok)
			h := e.Health(t.Context(), c.server, "http://server")
			require.Equal(t, c.want, h.API, h.Detail)
			require.Equal(t, c.live, h.Live)
			require.Contains(t, h.Detail, c.detail)
		})
	}
}
