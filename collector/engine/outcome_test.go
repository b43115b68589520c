package engine_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// TestNobodyKnowsTheClassOfNoStatus reads labels that have no HTTP status, as where a file names a wrong one.
func TestNobodyKnowsTheClassOfNoStatus(t *testing.T) {
	byCode := engine.Outcome{Codes: true}
	for _, code := range []string{"", "ok", "error", "0", "-1", "none"} {
		require.Equal(t, engine.ClassUnknown, byCode.Class(code), "%q", code)
	}
}

// TestOutcomes compares the class of each reason in the meanings of the kinds.
func TestOutcomes(t *testing.T) {
	for _, c := range []struct {
		kind   engine.Name
		signal engine.Signal
		want   map[string]engine.Class
	}{
		{engine.Triton, engine.ModelSuccess, map[string]engine.Class{"": engine.ClassOK}},
		{engine.Triton, engine.ModelFailed, map[string]engine.Class{
			"": engine.ClassServer, "other": engine.ClassServer, "backend": engine.ClassServer,
			"rejected": engine.ClassOverload, "canceled": engine.ClassCanceled,
		}},
		{engine.TRTLLMServe, engine.RequestsFinished, map[string]engine.Class{
			"stop":      engine.ClassOK,
			"length":    engine.ClassOK,
			"cancelled": engine.ClassCanceled,
			"timeout":   engine.ClassOverload,
			"error":     engine.ClassServer,
		}},
		{engine.TRTLLMServe, engine.RequestsFailed, map[string]engine.Class{
			"400": engine.ClassClient,
			"404": engine.ClassClient,
			"422": engine.ClassClient,
			"4xx": engine.ClassClient,
			"429": engine.ClassOverload,
			"503": engine.ClassOverload,
			"529": engine.ClassOverload,
			"499": engine.ClassCanceled,
			"500": engine.ClassServer,
			"501": engine.ClassClient,
			"505": engine.ClassClient,
			"502": engine.ClassServer,
			"5xx": engine.ClassServer,
			"200": engine.ClassOK,
		}},
		{engine.NIM, engine.RequestsFailed, map[string]engine.Class{"": engine.ClassServer}},
		{
			engine.NIM, engine.RequestsFinished,
			map[string]engine.Class{"stop": engine.ClassOK, "abort": engine.ClassCanceled},
		},
		{engine.Dynamo, engine.RequestsFinished, map[string]engine.Class{"": engine.ClassOK}},
		{engine.Dynamo, engine.RequestsFailed, map[string]engine.Class{
			"validation": engine.ClassClient, "not_found": engine.ClassClient, "cancelled": engine.ClassCanceled,
			"overload": engine.ClassOverload, "internal": engine.ClassServer, "unavailable": engine.ClassServer,
		}},
	} {
		var outcome *engine.Outcome
		for _, m := range meaningsOf(t, c.kind, c.signal) {
			outcome = m.Outcome
			break
		}
		require.NotNil(t, outcome, "%s of %s", c.signal, c.kind)
		for reason, class := range c.want {
			require.Equal(t, class, outcome.Class(reason), "%s of %s: %q", c.signal, c.kind, reason)
			require.True(
				t,
				class == engine.ClassOK || outcome.Counts(class),
				"%s of %s counts %s",
				c.signal,
				c.kind,
				class,
			)
		}
	}
}

// meaningsOf returns the meanings of a signal.
func meaningsOf(t *testing.T, kind engine.Name, signal engine.Signal) (all []engine.Meaning) {
	t.Helper()
	for _, m := range engineOf(t, kind).Meanings() {
		if m.Signal == signal {
			all = append(all, m)
		}
	}
	return all
}

func TestOutcomeOfEveryCounter(t *testing.T) {
	for _, e := range engine.All() {
		for _, m := range e.Meanings() {
			switch m.Signal {
			case engine.ModelSuccess,
				engine.ModelFailed,
				engine.RequestsFinished,
				engine.RequestsFailed,
				engine.RequestsAborted:
				require.NotNil(t, m.Outcome, "%s of %s", m.Name, e.Name)
			default:
				require.Nil(t, m.Outcome, "%s of %s", m.Name, e.Name)
			}
		}
	}
}

func TestTiers(t *testing.T) {
	for _, c := range []struct {
		kind   engine.Name
		page   string
		tier   engine.Tier
		counts bool
	}{
		{
			engine.Dynamo, "dynamo_frontend_model_ready{model=\"m\"} 1\n", engine.TierFrontend, true,
		}, // By labels that come with the first.
		{
			engine.Dynamo, "dynamo_frontend_disconnected_clients 0\n", engine.TierFrontend, false,
		}, // Early releases have that too, and count all errors alike.
		{engine.Dynamo, "nv_llm_http_service_inflight_requests{model=\"m\"} 1\n", engine.TierFrontend, false},
		{engine.Dynamo, "dynamo_component_uptime_seconds 3\n", engine.TierWorker, false},
		{
			engine.Dynamo,
			"dynamo_component_uptime_seconds 3\nnv_llmapi_heartbeat_timestamp_seconds{model=\"m\"} 1\n",
			engine.TierWorker, true,
		}, // Of the Triton inside.
		{engine.Triton, "nv_x 1\n", "", false},
		{
			engine.TRTLLMServe,
			"request_success_total{finished_reason=\"stop\"} 3\n",
			"", false,
		}, // 1.1 and 1.2 have no counter of errors.
		{engine.TRTLLMServe, "trtllm_prompt_cached_tokens_total 0\n", "", false},
		{
			engine.TRTLLMServe, "trtllm_request_error_total{http_code=\"400\"} 1\n", "", false,
		}, // Releases count failed validation alone.
		{engine.TRTLLMServe, "trtllm_request_error_total{http_code=\"500\"} 1\n", "", true},
	} {
		page := readPage(t, c.kind, []byte(c.page))
		require.Equal(t, c.tier, engineOf(t, c.kind).Tier(page), c.page)
		require.Equal(t, c.counts, engineOf(t, c.kind).CountsFailures(page), c.page)
	}
}

func TestReadyServerWithoutLLM(t *testing.T) {
	const counted, frozen = "nv_inference_request_success{model=\"%\",version=\"1\"} 3\n", "nv_trt_llm_general_metrics{model=\"%\",general_type=\"iteration_counter\",version=\"1\"} 3\n"
	llm := engine.ModelFacts{Name: "llm", Configured: true, Backend: "tensorrtllm"}
	failed, own := engine.ModelFacts{
		Name:  "tensorrt_llm",
		State: engine.ModelUnavailable,
	}, engine.ModelFacts{Name: "own", Configured: true, Backend: "python", Decoupled: true}
	index := func(rows ...string) (all []engine.ModelState) {
		for r := range slices.Chunk(rows, 3) {
			all = append(all, engine.ModelState{Name: r[0], State: r[1], Reason: r[2]})
		}
		return all
	}
	down := []engine.ModelState{{Name: "tensorrt_llm", State: engine.ModelUnavailable, Reason: "out of memory"}}
	for _, c := range []struct {
		name   string
		page   string
		facts  *engine.Facts
		models []engine.ModelState
		want   bool
	}{
		{"a loaded LLM", counted + frozen, nil, nil, false},
		{
			"unloaded, by remaining executor series",
			"nv_inference_request_failure{model=\"%\",version=\"1\"} 0\n" + frozen,
			nil, nil, true,
		},
		{
			"unloaded, by its config",
			"nv_inference_request_success{model=\"pre\",version=\"1\"} 3\n",
			&engine.Facts{Models: []engine.ModelFacts{llm}},
			nil, true,
		},
		{
			"unloaded, by the index alone", "",
			&engine.Facts{Models: []engine.ModelFacts{llm}},
			[]engine.ModelState{{Name: "llm", State: engine.ModelUnavailable}},
			true,
		},
		{
			"ready in the index", "",
			&engine.Facts{Models: []engine.ModelFacts{llm}},
			[]engine.ModelState{{Name: "llm", State: engine.ModelReady}},
			false,
		},
		{"unknown", "", &engine.Facts{Models: []engine.ModelFacts{llm}}, nil, false},
		{
			"unloaded in Python, by its name", "",
			&engine.Facts{Models: []engine.ModelFacts{{Name: "tensorrt_llm", Configured: true, Backend: "python"}}},
			[]engine.ModelState{{Name: "tensorrt_llm", State: engine.ModelUnavailable}},
			true,
		},
		{
			"a model in Python of another name", "",
			&engine.Facts{Models: []engine.ModelFacts{{Name: "pre", Configured: true, Backend: "python"}}},
			[]engine.ModelState{{Name: "pre", State: engine.ModelUnavailable}},
			true,
		},
		{
			"failed to load, by its name",
			"nv_inference_request_success{model=\"pre\",version=\"1\"} 3\n",
			&engine.Facts{Models: []engine.ModelFacts{failed}},
			down, true,
		},
		{
			"failed to load, below a BLS model",
			"nv_inference_request_success{model=\"top\",version=\"1\"} 3\n",
			&engine.Facts{Models: []engine.ModelFacts{
				failed,
				{Name: "top", Configured: true, Backend: "python", Decoupled: true, Calls: []string{failed.Name}},
			}},
			down, true,
		},
		{
			"failed to load, next to another in Python", strings.ReplaceAll(counted, "%", "own"),
			&engine.Facts{Models: []engine.ModelFacts{failed, own}},
			down, false,
		},
		{
			"another name, failed to load, next to its steps", "", nil,
			index("llama", engine.ModelUnavailable, "out of memory", "preprocessing", engine.ModelReady, "", "tensorrt_llm_bls", engine.ModelReady, ""),
			true,
		},
		{
			"another name, failed to load, next to an unrelated model",
			"", nil,
			index("llama", engine.ModelUnavailable, "out of memory", "resnet", engine.ModelReady, ""),
			false,
		},
		{"another name, unloaded", "", nil, index("llama", engine.ModelUnavailable, "unloaded"), true},
		{"never loaded", "", &engine.Facts{Models: []engine.ModelFacts{{Name: "tensorrt_llm"}}}, nil, false},
		{
			"never loaded, and another model is", strings.ReplaceAll(counted, "%", "chat"),
			&engine.Facts{Models: []engine.ModelFacts{
				{Name: "tensorrt_llm"},
				{Name: "chat", State: engine.ModelReady, Configured: true, Backend: "python"},
			}},
			index("chat", engine.ModelReady, ""),
			false,
		},
		{
			"loaded, but not what calls it", counted + frozen,
			&engine.Facts{Models: []engine.ModelFacts{
				llm,
				{Name: "top", State: engine.ModelUnavailable, Configured: true, Platform: "ensemble", Steps: []string{"llm"}},
			}},
			index("llm", engine.ModelReady, "", "top", engine.ModelUnavailable, "unloaded"),
			true,
		},
		{
			"loaded, and one of two that call it", counted + frozen + strings.ReplaceAll(counted, "%", "new"),
			&engine.Facts{Models: []engine.ModelFacts{
				llm,
				{Name: "old", State: engine.ModelUnavailable, Configured: true, Platform: "ensemble", Steps: []string{"llm"}},
				{Name: "new", State: engine.ModelReady, Configured: true, Platform: "ensemble", Steps: []string{"llm"}},
			}},
			index("llm", engine.ModelReady, "", "old", engine.ModelUnavailable, "unloaded", "new", engine.ModelReady, ""),
			false,
		},
		{
			"another name in Python, perhaps not an LLM, unloaded",
			"",
			&engine.Facts{Models: []engine.ModelFacts{own}},
			[]engine.ModelState{{Name: "own", State: engine.ModelUnavailable}},
			true,
		},
		{"no LLM at all", "nv_inference_request_success{model=\"resnet\",version=\"1\"} 3\n", nil, nil, false},
		{
			"all unloaded, and none is an LLM",
			"nv_inference_request_failure{model=\"resnet\",version=\"1\"} 0\n",
			nil,
			index("resnet", engine.ModelUnavailable, "unloaded"),
			true,
		},
		{
			"all unloaded, and gone from the page", "nv_cpu_utilization 0\n", nil,
			index("resnet", engine.ModelUnavailable, "unloaded"),
			true,
		},
		{"none was ever loaded", "nv_cpu_utilization 0\n", nil, []engine.ModelState{}, true},
		{"the only one loads", "nv_cpu_utilization 0\n", nil, index("resnet", engine.ModelLoading, ""), true},
		{
			"one of two unloaded",
			"nv_inference_request_failure{model=\"old\",version=\"1\"} 0\n" + strings.ReplaceAll(counted, "%", "new"),
			nil,
			index("old", engine.ModelUnavailable, "unloaded", "new", engine.ModelReady, ""),
			false,
		},
		{
			"loaded with its files in the request, so that the index lacks it",
			strings.ReplaceAll(counted, "%", "resnet"), nil,
			[]engine.ModelState{},
			false,
		},
		{
			"an LLM loaded with its files in the request", counted + frozen,
			&engine.Facts{Listed: true},
			[]engine.ModelState{},
			false,
		},
		{
			"ready in the index, and not counted yet", strings.ReplaceAll(counted, "%", "pre"),
			&engine.Facts{Models: []engine.ModelFacts{llm}},
			index("llm", engine.ModelReady, "", "pre", engine.ModelReady, ""),
			false,
		},
		{"the index was not answered, and no model is on the page", "nv_cpu_utilization 0\n", nil, nil, false},
		{"nothing is known", "", nil, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var page *engine.Page
			if c.page != "" {
				page = readPage(t, engine.Triton, []byte(strings.ReplaceAll(c.page, "%", "llm")))
			}
			why := engineOf(t, engine.Triton).Unserved(page, c.facts, c.models)
			require.Equal(t, c.want, why != "", why)
		})
	}
}

// TestEmptyListIsAnAnswer has servers that list no model, and what their pages say about that.
func TestEmptyListIsAnAnswer(t *testing.T) {
	const (
		none     = "process_open_fds 1\n"
		loaded   = "nv_inference_request_success{model=\"m\",version=\"1\"} 0\n"
		unloaded = "nv_inference_request_failure{model=\"m\",reason=\"OTHER\",version=\"1\"} 0\n"
		front    = "nv_llm_http_service_client_disconnects 0\n"
		routes   = front + "nv_llm_http_service_model_total_kv_blocks{model=\"m\"} 9\n"
	)
	empty := &engine.Facts{Listed: true}
	for _, c := range []struct {
		says  string
		kind  engine.Name
		page  string
		facts *engine.Facts
		want  string
	}{
		{"Triton behind OpenAI's API", engine.TritonOpenAI, none, empty, "the server is ready but lists no model"},
		{"the same after its only model was unloaded", engine.TritonOpenAI, unloaded, empty, "the server is ready but lists no model"},
		{"the same with a model that was loaded since", engine.TritonOpenAI, loaded, empty, ""},
		{"the same without an answer", engine.TritonOpenAI, none, &engine.Facts{}, ""},
		{"the same before it was asked", engine.TritonOpenAI, none, nil, ""},
		{
			"the same with a model", engine.TritonOpenAI, none,
			&engine.Facts{Listed: true, Models: []engine.ModelFacts{{Name: "m"}}},
			"",
		},
		{"a NIM made of Dynamo without a worker", engine.NIM, front, empty, "the server is ready but lists no model"},
		{"the same with a worker that came since", engine.NIM, routes, empty, ""},
		{"a NIM whose engine names its model", engine.NIM, "vllm:num_requests_running{model_name=\"m\"} 0\n", empty, ""},
		{"a frontend of Dynamo, whose health asks for the list each time", engine.Dynamo, front, empty, ""},
	} {
		page := readPage(t, c.kind, []byte(c.page))
		require.Equal(t, c.want, engineOf(t, c.kind).Unserved(page, c.facts, nil), c.says)
		require.False(t, engineOf(t, c.kind).Deliberate(page, c.facts, nil), c.says)
	}
}

func TestNothingIsServedOnPurpose(t *testing.T) {
	const asleep, awake = "vllm:engine_sleep_state{sleep_state=\"awake\"} 0\n", "vllm:engine_sleep_state{sleep_state=\"awake\"} 1\n"
	row := func(name, state, reason string) engine.ModelState {
		return engine.ModelState{Name: name, State: state, Reason: reason}
	}
	llm := &engine.Facts{Models: []engine.ModelFacts{{Name: "tensorrt_llm"}}}
	two := &engine.Facts{Models: []engine.ModelFacts{
		{Name: "tensorrt_llm"}, {Name: "mistral", Configured: true, Backend: "vllm"}, {Name: "reranker"},
	}}
	for _, c := range []struct {
		says   string
		kind   engine.Name
		page   string
		facts  *engine.Facts
		models []engine.ModelState
		want   bool
	}{
		{"a vLLM was put to sleep", engine.VLLM, asleep, nil, nil, true},
		{"a vLLM is awake", engine.VLLM, awake, nil, nil, false},
		{"a NIM with a vLLM that was put to sleep", engine.NIM, asleep, nil, nil, true},
		{
			"all models were unloaded", engine.Triton, "", nil,
			[]engine.ModelState{row("m", engine.ModelUnavailable, "unloaded")},
			true,
		},
		{"none was ever loaded", engine.Triton, "", nil, []engine.ModelState{}, true},
		{
			"the LLM was unloaded", engine.Triton, "", llm,
			[]engine.ModelState{
				row("tensorrt_llm", engine.ModelUnavailable, "unloaded"),
				row("preprocessing", engine.ModelReady, ""),
			},
			true,
		},
		{
			"the LLM failed to load", engine.Triton, "", llm,
			[]engine.ModelState{
				row("tensorrt_llm", engine.ModelUnavailable, "out of memory"),
				row("preprocessing", engine.ModelReady, ""),
			},
			false,
		},
		{
			"one was unloaded, and one failed to load", engine.Triton, "", nil,
			[]engine.ModelState{
				row("m", engine.ModelUnavailable, "unloaded"),
				row("n", engine.ModelUnavailable, "no memory"),
			},
			false,
		},
		{
			"the LLM was unloaded, and a model that it does not need failed to load", engine.Triton, "", llm,
			[]engine.ModelState{
				row("helper", engine.ModelUnavailable, "no memory"),
				row("tensorrt_llm", engine.ModelUnavailable, "unloaded"),
			},
			true,
		},
		{
			"the LLM was unloaded, and what calls it cannot be loaded without it", engine.Triton, "", llm,
			[]engine.ModelState{
				row("ensemble", engine.ModelUnavailable, "depends on 'tensorrt_llm' which has no loaded version"),
				row("tensorrt_llm", engine.ModelUnavailable, "unloaded"),
			},
			true,
		},
		{
			"the LLM was unloaded, and another model loads", engine.TritonOpenAI, "", llm,
			[]engine.ModelState{
				row("helper", engine.ModelLoading, ""), row("tensorrt_llm", engine.ModelUnavailable, "unloaded"),
			},
			true,
		},
		{
			"both LLMs were unloaded, and another model failed to load", engine.Triton, "", two,
			[]engine.ModelState{
				row("mistral", engine.ModelUnavailable, "unloaded"),
				row("reranker", engine.ModelUnavailable, "no memory"),
				row("tensorrt_llm", engine.ModelUnavailable, "unloaded"),
			},
			true,
		},
		{
			"one LLM was unloaded, and the other failed to load", engine.Triton, "", two,
			[]engine.ModelState{
				row("mistral", engine.ModelUnavailable, "no memory"),
				row("tensorrt_llm", engine.ModelUnavailable, "unloaded"),
			},
			false,
		},
		{
			"the LLM failed to load, and a model that it does not need was unloaded", engine.Triton, "", llm,
			[]engine.ModelState{
				row("helper", engine.ModelUnavailable, "unloaded"),
				row("tensorrt_llm", engine.ModelUnavailable, "out of memory"),
			},
			false,
		},
		{
			"a version of the LLM was unloaded, and the next one failed to load", engine.Triton, "", llm,
			[]engine.ModelState{
				{Name: "tensorrt_llm", Version: "1", State: engine.ModelUnavailable, Reason: "unloaded"},
				{Name: "tensorrt_llm", Version: "2", State: engine.ModelUnavailable, Reason: "out of memory"},
			},
			false,
		},
		{
			"the LLM loads again", engine.Triton, "", llm,
			[]engine.ModelState{row("tensorrt_llm", engine.ModelLoading, "")},
			false,
		},
		{"the only one loads", engine.Triton, "", nil, []engine.ModelState{row("m", engine.ModelLoading, "")}, false},
		{"one serves", engine.Triton, "", nil, []engine.ModelState{row("m", engine.ModelReady, "")}, false},
		{"a Triton does not list its models", engine.Triton, "", llm, nil, false},
	} {
		page := readPage(t, c.kind, []byte(c.page+"process_open_fds 1\n"))
		require.Equal(t, c.want, engineOf(t, c.kind).Deliberate(page, c.facts, c.models), c.says)
	}
}
