package engine_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

const (
	metadata = `{"name":"triton","version":"2.64.0","extensions":["classification","statistics"]}`
	index    = `[{"name":"tensorrt_llm","version":"1","state":"READY"}]`
	config   = `{
		"name":"tensorrt_llm","platform":"","backend":"tensorrtllm","max_batch_size":8,
		"instance_group":[{"name":"tensorrt_llm_0","kind":"KIND_GPU","count":1,"gpus":[0],"host_policy":""}],
		"dynamic_batching":{"preferred_batch_size":[4],"max_queue_delay_microseconds":100,
			"default_queue_policy":{"timeout_action":"REJECT","default_timeout_microseconds":5,"max_queue_size":64}},
		"model_transaction_policy":{"decoupled":true},
		"parameters":{"gpt_model_type":{"string_value":"inflight_fused_batching"},"trtllm_version":{"string_value":"1.1.0"},
			"batch_scheduler_policy":{"string_value":"max_utilization"},"gpt_model_path":{"string_value":"${engine_dir}"},
			"tokenizer_dir":{"string_value":"/models/tokenizer"}}}`
)

// tritonServer returns a Triton with one model; pairs of path and answer change it.
func tritonServer(changes ...string) answers {
	a := answers{"/v2": metadata, "/v2/repository/index": index, "/v2/models/tensorrt_llm/config": config}
	for i := 0; i+1 < len(changes); i += 2 {
		a[changes[i]] = changes[i+1]
	}
	return a
}

// ask asks a server of a kind for its facts, in fake time.
func ask(t *testing.T, kind engine.Name, server engine.Client) (f engine.Facts) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		f = engineOf(t, kind).Ask(ctx, server, "http://server", engine.Earlier{}).Complete()
	})
	return f
}

func TestWorkersThatAFrontendLists(t *testing.T) {
	const models = `{"data":[{"id":"m","owned_by":"nvidia"}]}`
	for health, want := range map[string][]string{
		`{"instances":[{"endpoint":"generate","instance_id":14827992510749054234},
			{"endpoint":"worker_kv_query_source","instance_id":14827992510749054234},
			{"endpoint":"generate","instance_id":7}]}`: {"14827992510749054234", "7"},
		`{"instances":[]}`:                   {},
		`{"endpoints":{"generate":"ready"}}`: nil,
	} {
		server := answers{"/v1/models": models, "/health": health}
		require.Equal(t, want, ask(t, engine.Dynamo, server).Workers, health)
	}
	early := ask(t, engine.Dynamo, answers{"/v1/models": models, "/health": `{"instances":[]}`})
	silent := ask(t, engine.Dynamo, answers{"/v1/models": models, "/health": hangs})
	require.Equal(t, early.Workers, silent.WithEarlier(&early).Workers)
}

// TestNIMWithoutVersion asks a NIM that serves embeddings, which has no path for its version.
func TestNIMWithoutVersion(t *testing.T) {
	server := answers{"/v1/models": `{"data":[{"id":"nvidia/embed","owned_by":"system"}]}`}
	require.False(t, ask(t, engine.NIM, server).Confirmed, "a list of models is no NIM")
	server["/v1/metadata"] = `{"modelInfo":[],"assetInfo":[],"version":"1.5.0"}`
	require.True(t, ask(t, engine.NIM, server).Confirmed, "its metadata describes a container")
	server["/v1/metadata"] = `{"name":"another"}`
	require.False(t, ask(t, engine.NIM, server).Confirmed, "its metadata describes something else")
}

func TestTritonModelConfig(t *testing.T) {
	f := ask(t, engine.Triton, tritonServer())
	require.True(t, f.Listed, "the models are listed")
	require.Equal(t, "2.64.0", f.EngineVersion)
	require.Equal(t, "1.1.0", f.TRTLLMVersion)
	require.Equal(t, engine.SourceParameter, f.TRTLLMSource)
	require.Empty(t, f.Problems)
	m := f.Model("tensorrt_llm")
	require.NotNil(t, m)
	require.Equal(t, "tensorrtllm", m.Backend)
	require.Equal(t, 8, m.MaxBatchSize)
	require.True(t, m.Decoupled, "the model is decoupled")
	require.Equal(t, []engine.InstanceGroup{{Kind: "KIND_GPU", Count: 1, GPUs: []int{0}}}, m.Instances)
	require.Equal(t, 1, m.InstanceCount())
	require.Equal(t, &engine.DynamicBatching{DelayMicroseconds: 100, Preferred: true}, m.Batching)
	require.Equal(t, map[string]string{
		"gpt_model_type": "inflight_fused_batching", "batch_scheduler_policy": "max_utilization",
	}, m.Parameters, "templates that nobody filled in and parameters of no meaning stay out")
	require.Len(t, m.ConfigHash, 64)
}

func TestConfigHash(t *testing.T) {
	hash := func(config string) string {
		f := ask(t, engine.Triton, tritonServer("/v2/models/tensorrt_llm/config", config))
		require.NotEmpty(t, f.Model("tensorrt_llm").ConfigHash)
		return f.Model("tensorrt_llm").ConfigHash
	}
	base := hash(config)
	for why, other := range map[string]string{
		"blanks":                      strings.ReplaceAll(strings.ReplaceAll(config, "\t", ""), "\n", " "),
		"order of keys":               strings.Replace(config, `"platform":"","backend":"tensorrtllm"`, `"backend":"tensorrtllm","platform":""`, 1),
		"another GPU":                 strings.Replace(config, `"gpus":[0]`, `"gpus":[3]`, 1),
		"another name of an instance": strings.Replace(config, `"tensorrt_llm_0"`, `"tensorrt_llm_1"`, 1),
		"tags of metrics":             strings.Replace(config, `"max_batch_size"`, `"metric_tags":{"team":"a"},"max_batch_size"`, 1),
		"processes and devices": strings.Replace(config, `"parameters":{`, `"parameters":{"gpu_device_ids":{"string_value":"1"},"participant_ids":{"string_value":"1"},
			"executor_worker_path":{"string_value":"/a"},"worker_path":{"string_value":"/b"},`, 1),
		"a policy of the host and other devices": strings.Replace(config, `"host_policy":""`, `"host_policy":"x","secondary_devices":[{"kind":"x"}]`, 1),
		"what is measured":                       strings.Replace(config, `"max_batch_size"`, `"model_metrics":{"metric_control":[]},"max_batch_size"`, 1),
		"the declared version":                   strings.Replace(config, `"1.1.0"`, `"1.2.0"`, 1),
	} {
		require.Equal(t, base, hash(other), why)
	}
	for why, other := range map[string]string{
		"another batch size": strings.Replace(config, `"max_batch_size":8`, `"max_batch_size":16`, 1),
		"another policy":     strings.Replace(config, `max_utilization`, `guaranteed_no_evict`, 1),
		"more instances":     strings.Replace(config, `"count":1`, `"count":2`, 1),
	} {
		require.NotEqual(t, base, hash(other), why)
	}
}

func TestBadAnswersLoseOnlyTheirFact(t *testing.T) {
	tenMegabytes := `[{"name":"` + strings.Repeat("x", 10<<20) + `"}]`
	var thousands strings.Builder
	thousands.WriteString("[")
	for i := range 10000 {
		fmt.Fprintf(&thousands, `{"name":"never%d"},`, i)
	}
	thousands.WriteString(strings.TrimPrefix(index, "["))
	for _, c := range []struct {
		name   string
		server answers
		// The facts: version, model, its config; and the problem.
		version, model, config bool
		problem                string
	}{
		{name: "all well", server: tritonServer(), version: true, model: true, config: true},
		{
			name:    "HTML for the version",
			server:  tritonServer("/v2", "<html>Sign in</html>"),
			model:   true,
			config:  true,
			problem: "not JSON",
		},
		{
			name:    "truncated JSON",
			server:  tritonServer("/v2", metadata[:20]),
			model:   true,
			config:  true,
			problem: "not JSON",
		},
		{
			name:    "a list for the version",
			server:  tritonServer("/v2", `[1]`),
			model:   true,
			config:  true,
			problem: "unexpected type",
		},
		{
			name:   "a number for the version",
			server: tritonServer("/v2", strings.Replace(metadata, `"2.64.0"`, `2.64`, 1)),
			model:  true,
			config: true,
		},
		{
			name:   "a version with control characters",
			server: tritonServer("/v2", strings.Replace(metadata, `2.64.0`, `2.64.0\n\u0000`, 1)),
			model:  true,
			config: true,
		},
		{
			name:   "somebody else's metadata",
			server: tritonServer("/v2", `{"name":"triton","version":"9"}`),
			model:  true,
			config: true,
		},
		{
			name:    "a restricted version",
			server:  tritonServer("/v2", restricted),
			model:   true,
			config:  true,
			problem: "http_headers",
		},
		{
			name:    "a hanging version",
			server:  tritonServer("/v2", hangs),
			model:   true,
			config:  true,
			problem: "no answer in time",
		},
		{
			name:    "a refused version",
			server:  tritonServer("/v2", refuses),
			model:   true,
			config:  true,
			problem: "nothing listens",
		},
		{
			name:    "an index of HTML",
			server:  tritonServer("/v2/repository/index", "<html>"),
			version: true,
			problem: "not JSON",
		},
		{
			name:    "an object as index",
			server:  tritonServer("/v2/repository/index", `{"name":"x"}`),
			version: true,
			problem: "unexpected type",
		},
		{
			name:    "an index of 10 MB",
			server:  tritonServer("/v2/repository/index", tenMegabytes),
			version: true,
			problem: "over the limit",
		},
		{
			name:    "an index of 10000 models",
			server:  tritonServer("/v2/repository/index", thousands.String()),
			version: true,
			model:   true,
			config:  true,
		},
		{
			name:    "a restricted index",
			server:  tritonServer("/v2/repository/index", restricted),
			version: true,
			problem: "restricted",
		},
		{
			name:    "a config of HTML",
			server:  tritonServer("/v2/models/tensorrt_llm/config", "<html>"),
			version: true,
			model:   true,
			problem: "not JSON",
		},
		{
			name:    "a config of another model",
			server:  tritonServer("/v2/models/tensorrt_llm/config", `{"name":"other"}`),
			version: true,
			model:   true,
		},
		{
			name:    "a hanging config",
			server:  tritonServer("/v2/models/tensorrt_llm/config", hangs),
			version: true,
			model:   true,
			problem: "no answer in time",
		},
		{
			name:    "a restricted config",
			server:  tritonServer("/v2/models/tensorrt_llm/config", restricted),
			version: true,
			model:   true,
			problem: "http_headers",
		},
		{
			name:    "a batch size as text",
			server:  tritonServer("/v2/models/tensorrt_llm/config", strings.Replace(config, `:8`, `:"8"`, 1)),
			version: true,
			model:   true,
			config:  true,
		},
		{
			name:    "wrong types everywhere",
			server:  tritonServer("/v2/models/tensorrt_llm/config", `{"name":"tensorrt_llm","backend":7,"instance_group":"no","parameters":[1],"dynamic_batching":"x"}`),
			version: true,
			model:   true,
			config:  true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := ask(t, engine.Triton, c.server)
			require.Equal(t, c.version, f.EngineVersion == "2.64.0", f.EngineVersion)
			m := f.Model("tensorrt_llm")
			require.Equal(t, c.model, m != nil)
			require.LessOrEqual(t, len(f.Models), 1024)
			if m != nil {
				require.Equal(t, c.config, m.Configured)
			}
			if c.problem == "" {
				require.Empty(t, f.Problems)
				return
			}
			require.NotEmpty(t, f.Problems)
			require.Contains(t, f.Problems[0].Reason, c.problem)
		})
	}
}

func TestIdentityOfOtherServers(t *testing.T) {
	const models = `{"object":"list","data":[{"id":"tiny","owned_by":"tensorrt_llm"},{"id":""},{"id":"tiny"}]}`
	for _, c := range []struct {
		kind            engine.Name
		server          answers
		version, trtllm string
		source          engine.VersionSource
		confirmed       bool
	}{
		{
			engine.TRTLLMServe,
			answers{"/version": `{"version":"1.0.3.2510"}`, "/v1/models": models},
			"1.0.3.2510", "1.0.3.2510", engine.SourceServer, true,
		},
		{
			engine.TRTLLMServe,
			answers{"/version": `{"version":"1.3.0rc14"}`, "/v1/models": models},
			"1.3.0rc14", "1.3.0rc14", engine.SourceServer, true,
		},
		{
			engine.TRTLLMServe,
			answers{"/version": `{}`, "/v1/models": models},
			"", "unknown", engine.SourceUnknown, true,
		},
		{
			engine.NIM,
			answers{"/v1/version": `{"release":"1.0.0","api":"1.0.0"}`, "/v1/models": models},
			"1.0.0", "unknown", engine.SourceUnknown, true,
		},
		{
			engine.TritonOpenAI,
			answers{"/openapi.json": `{"info":{"version":"2.0.0"}}`, "/v1/models": models},
			"", "unknown", engine.SourceUnknown, false,
		},
		{engine.Dynamo, answers{"/v1/models": models}, "", "unknown", engine.SourceUnknown, false},
	} {
		t.Run(string(c.kind)+" "+c.version, func(t *testing.T) {
			f := ask(t, c.kind, c.server)
			require.True(t, f.Listed, "the models are listed")
			require.Equal(t, c.confirmed, f.Confirmed)
			require.Equal(t, c.version, f.EngineVersion)
			require.Len(t, f.Models, 1)
			trtllm, source := f.ResolveVersion(engineOf(t, c.kind), nil, "")
			require.Equal(t, c.trtllm, trtllm)
			require.Equal(t, c.source, source)
		})
	}
}

func TestTensorRTLLMVersionPrecedence(t *testing.T) {
	executor := readPage(
		t,
		engine.Triton,
		[]byte(
			"nv_trt_llm_general_metrics{model=\"tensorrt_llm\",general_type=\"iteration_counter\",version=\"1\"} 3\n",
		),
	)
	for _, c := range []struct {
		name     string
		facts    engine.Facts
		declared string
		want     string
		source   engine.VersionSource
	}{
		{
			"declared wins",
			engine.Facts{EngineVersion: "2.64.0", TRTLLMVersion: "1.0.0", TRTLLMSource: engine.SourceParameter},
			"0.17.0.post1", "0.17.0.post1", engine.SourceConfig,
		},
		{
			"then the parameter of a model",
			engine.Facts{EngineVersion: "2.64.0", TRTLLMVersion: "1.0.0", TRTLLMSource: engine.SourceParameter},
			"", "1.0.0", engine.SourceParameter,
		},
		{"then the table", engine.Facts{EngineVersion: "2.64.0"}, "", "1.1.0", engine.SourceTable},
		{"25.07 is 2.59.1", engine.Facts{EngineVersion: "2.59.1"}, "", "0.20.0", engine.SourceTable},
		{"a version without semver", engine.Facts{EngineVersion: "2.63.0"}, "", "1.0.3.2510", engine.SourceTable},
		{"a row without version", engine.Facts{EngineVersion: "2.44.0"}, "", "unknown", engine.SourceUnknown},
		{"a build from main", engine.Facts{EngineVersion: "2.73.0dev"}, "", "unknown", engine.SourceUnknown},
		{"a version without row", engine.Facts{EngineVersion: "0.0.0"}, "", "unknown", engine.SourceUnknown},
		{"nothing", engine.Facts{}, "", "unknown", engine.SourceUnknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, source := c.facts.ResolveVersion(engineOf(t, engine.Triton), executor, c.declared)
			require.Equal(t, c.want, got)
			require.Equal(t, c.source, source)
		})
	}
	for name, page := range map[string]*engine.Page{
		"no page":               nil,
		"a page without an LLM": readPage(t, engine.Triton, []byte("nv_inference_request_success{model=\"resnet\",version=\"1\"} 3\n")),
		"the vLLM backend":      readPage(t, engine.Triton, []byte("nv_inference_request_success{model=\"llama\",version=\"1\"} 3\nvllm:num_requests_running{model=\"llama\",version=\"1\"} 3\n")),
	} {
		f := engine.Facts{EngineVersion: "2.64.0"}
		got, source := f.ResolveVersion(engineOf(t, engine.Triton), page, "")
		require.Equal(t, "unknown", got, name)
		require.Equal(t, engine.SourceUnknown, source, name)
	}
	f := engine.Facts{EngineVersion: "2.64.0"}
	_, source := f.ResolveVersion(engineOf(t, engine.NIM), nil, "")
	require.Equal(t, engine.SourceUnknown, source, "the table is of Triton's images only")
}

func TestAnswersAreKeptUntilReplaced(t *testing.T) {
	first := ask(t, engine.Triton, tritonServer())
	for _, c := range []struct {
		name      string
		server    answers
		version   string
		trtllm    string
		configs   bool
		hasModels bool
	}{
		{"nothing answers", answers{"*": refuses}, "2.64.0", "1.1.0", true, true},
		{"only the version is restricted", tritonServer("/v2", restricted), "2.64.0", "1.1.0", true, true},
		{"the config is lost", tritonServer("/v2/models/tensorrt_llm/config", "<html>"), "2.64.0", "1.1.0", true, true},
		{
			"the model is unloaded",
			tritonServer("/v2/repository/index", strings.Replace(index, "READY", "UNAVAILABLE", 1)),
			"2.64.0", "1.1.0", true, true,
		},
		{
			"the parameter was taken out",
			tritonServer("/v2/models/tensorrt_llm/config", strings.Replace(config, "trtllm_version", "other", 1)),
			"2.64.0", "", true, true,
		},
		{
			"another version",
			tritonServer("/v2", strings.Replace(metadata, "2.64", "2.67", 1), "/v2/models/tensorrt_llm/config", hangs),
			"2.67.0", "", true, true,
		},
		{"no models any more", tritonServer("/v2/repository/index", "[]"), "2.64.0", "1.1.0", false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			next := ask(t, engine.Triton, c.server).WithEarlier(&first)
			require.Equal(t, c.version, next.EngineVersion)
			require.Equal(t, c.trtllm, next.TRTLLMVersion)
			m := next.Model("tensorrt_llm")
			require.Equal(t, c.hasModels, m != nil)
			if m != nil {
				require.Equal(t, c.configs, m.Configured)
			}
		})
	}
	require.Equal(t, "2.64.0", first.WithEarlier(nil).EngineVersion)
}

func TestInvalidConfigNumbers(t *testing.T) {
	for text, want := range map[string]int{
		`8`:                    8,
		`8.5`:                  0,
		`99999999999999999999`: 0,
		`"many"`:               0,
		`null`:                 0,
		`[8]`:                  0,
	} {
		f := ask(
			t,
			engine.Triton,
			tritonServer("/v2/models/tensorrt_llm/config", `{"name":"tensorrt_llm","max_batch_size":`+text+`,
			"instance_group":[{"kind":"KIND_GPU","count":`+text+`,"gpus":[`+text+`]}],"dynamic_batching":{"max_queue_delay_microseconds":`+text+`},"backend":"python"}`),
		)
		m := f.Models[0]
		require.True(t, m.Configured, text)
		require.Equal(t, "python", m.Backend, text)
		require.Equal(t, want, m.MaxBatchSize, text)
		require.Equal(t, []engine.InstanceGroup{{Kind: "KIND_GPU", Count: want, GPUs: []int{want}}}, m.Instances, text)
		require.Equal(t, &engine.DynamicBatching{DelayMicroseconds: int64(want)}, m.Batching, text)
	}
}

func TestIndexWithWrongTypesIsRefused(t *testing.T) {
	f := ask(
		t,
		engine.Triton,
		tritonServer("/v2/repository/index", `[{"name":"tensorrt_llm","version":"1","state":"READY"},5]`),
	)
	require.False(t, f.Listed, "a broken list says nothing")
	require.Empty(t, f.Models)
	require.Equal(t, []engine.Problem{{
		Question:   "POST /v2/repository/index",
		Reason:     "answers JSON of an unexpected type",
		Unexpected: true,
	}}, f.Problems)
}

// TestModelsOnlyOnThePageAreAskedAbout has a Triton whose page counts the model simple.
func TestModelsOnlyOnThePageAreAskedAbout(t *testing.T) {
	const itsConfig, path = `{"name":"simple","backend":"onnxruntime"}`, "/v2/models/simple/config"
	for _, c := range []struct {
		name   string
		server answers
		listed bool
		models string
	}{
		{"loaded by a request with its files", tritonServer(path, itsConfig), true, "tensorrt_llm simple"},
		{"of another server", tritonServer(), true, "tensorrt_llm"},
		{"the index is refused", tritonServer("/v2/repository/index", restricted, path, itsConfig), false, "simple"},
		{"the index hangs", tritonServer("/v2/repository/index", hangs, path, itsConfig), false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				earlier := engine.Earlier{Loaded: []string{"simple"}}
				f := engineOf(t, engine.Triton).Ask(ctx, c.server, "http://server", earlier).Complete()
				var names []string
				for _, m := range f.Models {
					require.True(t, m.Configured, m.Name)
					names = append(names, m.Name)
				}
				require.Equal(t, c.models, strings.Join(names, " "))
				require.Equal(t, c.listed, f.Listed)
				for _, p := range f.Problems {
					require.NotContains(t, p.Question, path)
				}
			})
		})
	}
}

func TestModelInstances(t *testing.T) {
	for _, c := range []struct {
		groups []engine.InstanceGroup
		want   int
	}{
		{nil, 0},
		{[]engine.InstanceGroup{{Kind: "KIND_CPU", Count: 4}}, 4},
		{[]engine.InstanceGroup{{Kind: "KIND_GPU", Count: 2, GPUs: []int{0, 1, 2}}}, 6},
		{[]engine.InstanceGroup{{Kind: "KIND_GPU", Count: 2}}, 2},
		{
			[]engine.InstanceGroup{
				{Kind: "KIND_MODEL", Count: 2, GPUs: []int{0, 1}},
				{Kind: "KIND_GPU", Count: 1, GPUs: []int{0}},
			},
			3,
		},
	} {
		m := engine.ModelFacts{Instances: c.groups}
		require.Equal(t, c.want, m.InstanceCount(), "%v", c.groups)
	}
}

func TestTritonIndex(t *testing.T) {
	long := strings.Repeat("x", 257)
	f := ask(t, engine.Triton, answers{"/v2": metadata, "/v2/repository/index": `[
		{"name":"never loaded"},{"name":"a","version":"1","state":"UNAVAILABLE"},{"name":"a","version":"2","state":"READY"},
		{"name":"a","version":"3","state":"LOADING"},{"name":"","version":"1","state":"READY"},{"name":"` + long + `","state":"READY"},
		{"name":"b","version":"1","state":"LOADING"}]`})
	got := make([]string, len(f.Models))
	for i, m := range f.Models {
		got[i] = m.Name + " " + m.Version + " " + m.State
	}
	require.Equal(t, []string{
		"a 2 READY", "b 1 LOADING", "never loaded  ",
	}, got, "one version of each, those that were never loaded last")
}

func TestModelsNamedByConfig(t *testing.T) {
	names := `[{"name":"chat","version":"1","state":"READY"},{"name":"bls","version":"1","state":"READY"}]`
	f := ask(t, engine.Triton, answers{
		"/v2": metadata, "/v2/repository/index": names,
		"/v2/models/chat/config": `{"name":"chat","platform":"ensemble","ensemble_scheduling":{"step":[{"model_name":"pre"},{"model_name":"llm"},{"model_name":"pre"}]}}`,
		"/v2/models/bls/config": `{"name":"bls","backend":"python","instance_group":[{"kind":"KIND_CPU","count":2}],
			"parameters":{"tensorrt_llm_model_name":{"string_value":"llm"},"draft_model_name":{"string_value":"${draft}"},"a_model_name":{"string_value":"a"},
			"tensorrt_llm_draft_model_name":{"string_value":"little"},"context_model_name":{"string_value":"prompts"},
			"gpu_device_ids":{"string_value":"0"},"other":{"string_value":"x"},"trtllm_version":{"string_value":"  1.0.0 "}}}`,
	})
	chat, bls := f.Model("chat"), f.Model("bls")
	require.Equal(t, "ensemble", chat.Platform)
	require.Equal(t, []string{"pre", "llm"}, chat.Steps)
	require.Nil(t, chat.Batching)
	require.Equal(t, []string{"a", "little", "llm", "prompts"}, bls.Calls)
	require.Equal(t, "little", bls.Draft)
	require.Equal(t, "prompts", bls.Prefill)
	require.Equal(t, 2, bls.InstanceCount())
	require.Equal(t, map[string]string{"gpu_device_ids": "0"}, bls.Parameters)
	require.Equal(t, "1.0.0", f.TRTLLMVersion)
	require.Nil(t, f.Model("other"))
}

// round is the timeout of one round of requests.
const round = 2 * time.Second

// manyModels returns a Triton with n models, the first few of which hang over their configs.
func manyModels(models, hanging int, changes ...string) answers {
	a := answers{"/v2": metadata}
	rows := make([]string, 0, models)
	for i := range models {
		name := fmt.Sprintf("m%02d", i)
		rows = append(rows, fmt.Sprintf(`{"name":%q,"version":"1","state":"READY"}`, name))
		a["/v2/models/"+name+"/config"] = fmt.Sprintf(`{"name":%q,"backend":"python"}`, name)
		if i < hanging {
			a["/v2/models/"+name+"/config"] = hangs
		}
	}
	a["/v2/repository/index"] = "[" + strings.Join(rows, ",") + "]"
	for i := 0; i+1 < len(changes); i += 2 {
		a[changes[i]] = changes[i+1]
	}
	return a
}

// configured counts the models whose configs are known.
func configured(f *engine.Facts) (n int) {
	for i := range f.Models {
		if f.Models[i].Configured {
			n++
		}
	}
	return n
}

func TestHangingRequestDelaysNoOther(t *testing.T) {
	for _, c := range []struct {
		name   string
		server answers
		// The early facts, and the final ones.
		version             string
		models, early, last int
	}{
		{"nothing hangs", manyModels(12, 0), "2.64.0", 12, 12, 12},
		{"one config hangs", manyModels(12, 1), "2.64.0", 12, 11, 11},
		{"all concurrent config requests hang", manyModels(12, 2), "2.64.0", 12, 0, 10},
		{"more models than a round has questions", manyModels(70, 1), "2.64.0", 70, 63, 63},
		{"the version hangs", manyModels(12, 0, "/v2", hangs), "", 12, 12, 12},
		{"the index hangs", manyModels(12, 0, "/v2/repository/index", hangs), "2.64.0", 0, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := engineOf(t, engine.Triton)
				ctx, cancel := context.WithTimeout(t.Context(), round)
				defer cancel()
				start := time.Now()
				var early []engine.Facts
				var f engine.Facts
				for known, complete := range e.Ask(ctx, c.server, "http://server", engine.Earlier{}) {
					if f = known; !complete {
						require.LessOrEqual(t, time.Since(start), round/8)
						early = append(early, known)
					}
				}
				require.Less(t, time.Since(start), round, "a round ends before its time")
				require.Equal(t, c.version, f.EngineVersion)
				require.Len(t, f.Models, c.models)
				require.Equal(t, c.last, configured(&f))
				if c.name == "nothing hangs" {
					require.Empty(t, early, "what comes at once is reported once")
					require.Empty(t, f.Problems)
					return
				}
				require.Equal(t, round/2, time.Since(start), "a question has half of the round")
				require.Len(t, early, 1)
				require.Equal(t, c.version, early[0].EngineVersion)
				require.Len(t, early[0].Models, c.models)
				require.Equal(t, c.early, configured(&early[0]))
				require.Empty(t, early[0].Problems, "nothing has failed yet")
				require.NotEmpty(t, f.Problems)
				for _, p := range f.Problems {
					require.Equal(t, "no answer in time", p.Reason)
				}
			})
		})
	}
}

func TestFailureIsNoProblemWhileOthersMayAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), round)
		defer cancel()
		server := manyModels(1, 0, "/v2", hangs, "/v2/models/m00/config", "<html>")
		var rounds []engine.Facts
		for f := range engineOf(t, engine.Triton).Ask(ctx, server, "http://server", engine.Earlier{}) {
			rounds = append(rounds, f)
		}
		require.Len(t, rounds, 2)
		require.Empty(t, rounds[0].Problems)
		require.Equal(t, []engine.Problem{
			{
				Question:   "GET /v2",
				Reason:     "no answer in time",
				Unanswered: true,
			}, {Question: "GET /v2/models/m00/config", Reason: "answers text that is not JSON", Unexpected: true},
		}, rounds[1].Problems)
	})
}

func TestAnswersHaveOrderOfModels(t *testing.T) {
	declares := func(name, version string) string {
		return fmt.Sprintf(`{"name":%q,"parameters":{"trtllm_version":{"string_value":%q}}}`, name, version)
	}
	server := manyModels(20, 0, "/v2/models/m03/config", "<html>", "/v2/models/m11/config", "<html>",
		"/v2/models/m02/config", declares("m02", "1.0.0"), "/v2/models/m06/config", declares("m06", "1.1.0"))
	first := ask(t, engine.Triton, server)
	for range 20 {
		f := ask(t, engine.Triton, server)
		require.Equal(t, first, f)
		require.Equal(t, "GET /v2/models/m03/config", f.Problems[0].Question)
		require.Equal(t, "GET /v2/models/m11/config", f.Problems[1].Question)
		require.Equal(t, "1.1.0", f.TRTLLMVersion, "the last model that declares one counts")
	}
}

// breaks is a client that panics over one path.
type breaks struct {
	answers

	path string
}

// Do implements engine.Client.
func (b breaks) Do(
	ctx context.Context,
	method, address string,
	body []byte,
	limit int64,
) (int, http.Header, []byte, error) {
	if strings.HasSuffix(address, b.path) {
		panic("broken over " + b.path)
	}
	return b.answers.Do(ctx, method, address, body, limit)
}

func TestPanicInRequestReachesCaller(t *testing.T) {
	for path, over := range map[string]string{
		"/v2":                   ".askVersion(",
		"/v2/repository/index":  ".askModels",
		"/v2/models/m11/config": ".askConfig(",
	} {
		panicked := func() (p any) {
			defer func() { p = recover() }()
			engineOf(
				t,
				engine.Triton,
			).Ask(t.Context(), breaks{manyModels(12, 0), path}, "http://server", engine.Earlier{}).
				Complete()
			return nil
		}()
		require.Contains(t, panicked, "broken over "+path+"\n", "or nobody could tell that a round failed")
		require.Contains(t, panicked, over, "its own stack, not that of the round")
	}
}

func TestTritonRequests(t *testing.T) {
	server := &recorder{Client: tritonServer()}
	engineOf(t, engine.Triton).Ask(t.Context(), server, "http://server", engine.Earlier{}).Complete()
	require.Equal(t, map[string]string{
		"GET /v2":                            "",
		"POST /v2/repository/index":          "{}",
		"GET /v2/models/tensorrt_llm/config": "",
	}, server.bodies)
}

func TestAnswerLimits(t *testing.T) {
	listed := func(names ...string) string {
		return `{"data":[{"id":"` + strings.Join(names, `"},{"id":"`) + `"}]}`
	}
	var many []string
	for i := range 1025 {
		many = append(many, fmt.Sprint("m", i))
	}
	f := ask(t, engine.NIM, answers{"/v1/models": listed(many...)})
	require.Len(t, f.Models, 1024)
	require.Equal(t, "m1023", f.Models[1023].Name)
	for length, kept := range map[int]bool{256: true, 257: false} {
		f := ask(t, engine.NIM, answers{"/v1/models": listed(strings.Repeat("m", length))})
		require.Equal(t, kept, len(f.Models) == 1, length)
		require.True(t, f.Listed, "the models are listed, also without one")
	}
	for length, kept := range map[int]bool{64: true, 65: false} {
		version := strings.Repeat("1", length)
		f := ask(t, engine.NIM, answers{"/v1/version": `{"release":"` + version + `"}`})
		require.Equal(t, kept, f.EngineVersion == version, length)
		require.Equal(t, !kept, f.EngineVersion == "", length)
	}
	for _, version := range []string{"1.0\\u0000", "1.0\\ufffd", "\\u200b"} {
		f := ask(t, engine.NIM, answers{"/v1/version": `{"release":"` + version + `"}`})
		require.Empty(t, f.EngineVersion, version)
	}
	f = ask(t, engine.NIM, answers{"/v1/version": `{"release":" 1.0.0\n"}`})
	require.Equal(t, "1.0.0", f.EngineVersion)
}

func TestAnswerWithoutModelList(t *testing.T) {
	before := ask(t, engine.VLLM, answers{"/v1/models": `{"data":[{"id":"tiny","owned_by":"vllm"}]}`})
	for _, text := range []string{`{}`, `null`, `{"error":"try again"}`, `{"data":null}`, `{"data":"tiny"}`} {
		f := ask(t, engine.VLLM, answers{"/v1/models": text, "/version": `{"version":"0.32.0"}`})
		require.False(t, f.Listed, text)
		require.Equal(t, []engine.Problem{{
			Question: "GET /v1/models",
			Reason:   "answers JSON without a list of models",
		}}, f.Problems, text)
		require.Len(t, f.WithEarlier(&before).Models, 1, "what it listed before still counts")
	}
	f := ask(t, engine.VLLM, answers{"/v1/models": `{"data":[]}`})
	require.True(t, f.Listed, "an empty list is a list")
	require.Empty(t, f.WithEarlier(&before).Models, "it has none any more")
}
