package engine_test

import (
	"context"
	"fmt"
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

// tritonServer is a Triton with one model; pairs of path and answer change it.
func tritonServer(changes ...string) answers {
	a := answers{"/v2": metadata, "/v2/repository/index": index, "/v2/models/tensorrt_llm/config": config}
	for i := 0; i+1 < len(changes); i += 2 {
		a[changes[i]] = changes[i+1]
	}
	return a
}

// ask puts the slow questions to a server of a kind; time passes at once while
// all answers are awaited.
func ask(t *testing.T, kind engine.Kind, server engine.Asker) (f engine.Facts) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		f = of(t, kind).Ask(ctx, server, "http://server", nil)
	})
	return f
}

func TestConfigOfATritonModel(t *testing.T) {
	f := ask(t, engine.Triton, tritonServer())
	require.True(t, f.Listed)
	require.Equal(t, "2.64.0", f.EngineVersion)
	require.Equal(t, "1.1.0", f.TRTLLMVersion)
	require.Equal(t, engine.SourceParameter, f.TRTLLMSource)
	require.Empty(t, f.Problems)
	m := f.Model("tensorrt_llm")
	require.NotNil(t, m)
	require.Equal(t, "tensorrtllm", m.Backend)
	require.Equal(t, 8, m.MaxBatchSize)
	require.True(t, m.Decoupled)
	require.Equal(t, []engine.InstanceGroup{{Kind: "KIND_GPU", Count: 1, GPUs: []int{0}}}, m.Instances)
	require.Equal(t, 1, m.InstanceCount())
	require.Equal(t, &engine.DynamicBatching{
		DelayMicroseconds: 100, Preferred: true,
	}, m.Batching)
	require.Equal(t, map[string]string{
		"gpt_model_type": "inflight_fused_batching", "batch_scheduler_policy": "max_utilization",
	}, m.Parameters, "templates that nobody filled in and parameters of no meaning stay out")
	require.Len(t, m.ConfigHash, 64)
}

func TestConfigHashTellsConfigsApartAndNothingElse(t *testing.T) {
	hash := func(config string) string {
		f := ask(t, engine.Triton, tritonServer("/v2/models/tensorrt_llm/config", config))
		require.NotEmpty(t, f.Model("tensorrt_llm").ConfigHash)
		return f.Model("tensorrt_llm").ConfigHash
	}
	base := hash(config)
	for says, other := range map[string]string{
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
		require.Equal(t, base, hash(other), says)
	}
	for says, other := range map[string]string{
		"another batch size": strings.Replace(config, `"max_batch_size":8`, `"max_batch_size":16`, 1),
		"another policy":     strings.Replace(config, `max_utilization`, `guaranteed_no_evict`, 1),
		"more instances":     strings.Replace(config, `"count":1`, `"count":2`, 1),
	} {
		require.NotEqual(t, base, hash(other), says)
	}
}

func TestBadAnswersCostOnlyTheirFact(t *testing.T) {
	tenMegabytes := `[{"name":"` + strings.Repeat("x", 10<<20) + `"}]`
	var thousands strings.Builder
	thousands.WriteString("[")
	for i := range 10000 {
		fmt.Fprintf(&thousands, `{"name":"never%d"},`, i)
	}
	thousands.WriteString(strings.TrimPrefix(index, "["))
	for _, c := range []struct {
		says   string
		server answers
		// What is still known: version, model, its config; and the problem.
		version, model, config bool
		problem                string
	}{
		{says: "all well", server: tritonServer(), version: true, model: true, config: true},
		{says: "HTML for the version", server: tritonServer("/v2", "<html>Sign in</html>"), model: true, config: true, problem: "no JSON"},
		{says: "JSON that ends early", server: tritonServer("/v2", metadata[:20]), model: true, config: true, problem: "no JSON"},
		{says: "a list for the version", server: tritonServer("/v2", `[1]`), model: true, config: true, problem: "another kind"},
		{says: "a number for the version", server: tritonServer("/v2", strings.Replace(metadata, `"2.64.0"`, `2.64`, 1)), model: true, config: true},
		{says: "a version with control characters", server: tritonServer("/v2", strings.Replace(metadata, `2.64.0`, `2.64.0\n\u0000`, 1)), model: true, config: true},
		{says: "somebody else's metadata", server: tritonServer("/v2", `{"name":"triton","version":"9"}`), model: true, config: true},
		{says: "a restricted version", server: tritonServer("/v2", restricted), model: true, config: true, problem: "http_headers"},
		{says: "a version that hangs", server: tritonServer("/v2", hangs), model: true, config: true, problem: "no answer in time"},
		{says: "a version that is refused", server: tritonServer("/v2", refuses), model: true, config: true, problem: "nothing listens"},
		{says: "an index of HTML", server: tritonServer("/v2/repository/index", "<html>"), version: true, problem: "no JSON"},
		{says: "an index that is an object", server: tritonServer("/v2/repository/index", `{"name":"x"}`), version: true, problem: "another kind"},
		{says: "an index of 10 MB", server: tritonServer("/v2/repository/index", tenMegabytes), version: true, problem: "over the limit"},
		{says: "an index of 10000 models", server: tritonServer("/v2/repository/index", thousands.String()), version: true, model: true, config: true},
		{says: "a restricted index", server: tritonServer("/v2/repository/index", restricted), version: true, problem: "restricted"},
		{says: "a config of HTML", server: tritonServer("/v2/models/tensorrt_llm/config", "<html>"), version: true, model: true, problem: "no JSON"},
		{says: "a config of another model", server: tritonServer("/v2/models/tensorrt_llm/config", `{"name":"other"}`), version: true, model: true},
		{says: "a config that hangs", server: tritonServer("/v2/models/tensorrt_llm/config", hangs), version: true, model: true, problem: "no answer in time"},
		{says: "a restricted config", server: tritonServer("/v2/models/tensorrt_llm/config", restricted), version: true, model: true, problem: "http_headers"},
		{says: "a batch size that is text", server: tritonServer("/v2/models/tensorrt_llm/config", strings.Replace(config, `:8`, `:"8"`, 1)), version: true, model: true, config: true},
		{says: "wrong types everywhere", server: tritonServer("/v2/models/tensorrt_llm/config", `{"name":"tensorrt_llm","backend":7,"instance_group":"no","parameters":[1],"dynamic_batching":"x"}`), version: true, model: true, config: true},
	} {
		t.Run(c.says, func(t *testing.T) {
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

func TestOtherServersSayWhoTheyAre(t *testing.T) {
	const models = `{"object":"list","data":[{"id":"tiny","owned_by":"tensorrt_llm"},{"id":""},{"id":"tiny"}]}`
	for _, c := range []struct {
		kind            engine.Kind
		server          answers
		version, trtllm string
		source          engine.VersionSource
	}{
		{engine.TRTLLMServe, answers{"/version": `{"version":"1.0.3.2510"}`, "/v1/models": models}, "1.0.3.2510", "1.0.3.2510", engine.SourceServer},
		{engine.TRTLLMServe, answers{"/version": `{"version":"1.3.0rc14"}`, "/v1/models": models}, "1.3.0rc14", "1.3.0rc14", engine.SourceServer},
		{engine.TRTLLMServe, answers{"/version": `{}`, "/v1/models": models}, "", "unknown", engine.SourceUnknown},
		{engine.NIM, answers{"/v1/version": `{"release":"1.0.0","api":"1.0.0"}`, "/v1/models": models}, "1.0.0", "unknown", engine.SourceUnknown},
		{engine.TritonOpenAI, answers{"/openapi.json": `{"info":{"version":"2.0.0"}}`, "/v1/models": models}, "", "unknown", engine.SourceUnknown},
		{engine.Dynamo, answers{"/v1/models": models}, "", "unknown", engine.SourceUnknown},
	} {
		t.Run(string(c.kind)+" "+c.version, func(t *testing.T) {
			f := ask(t, c.kind, c.server)
			require.True(t, f.Listed)
			require.Equal(t, c.version, f.EngineVersion)
			require.Len(t, f.Models, 1)
			trtllm, source := f.ResolveVersion(of(t, c.kind), nil, "")
			require.Equal(t, c.trtllm, trtllm)
			require.Equal(t, c.source, source)
		})
	}
}

func TestVersionOfTensorRTLLMIsOfTheFirstSourceThatKnows(t *testing.T) {
	executor := readPage(t, engine.Triton, []byte("nv_trt_llm_general_metrics{model=\"tensorrt_llm\",general_type=\"iteration_counter\",version=\"1\"} 3\n"))
	for _, c := range []struct {
		says     string
		facts    engine.Facts
		declared string
		want     string
		source   engine.VersionSource
	}{
		{"declared wins", engine.Facts{EngineVersion: "2.64.0", TRTLLMVersion: "1.0.0", TRTLLMSource: engine.SourceParameter}, "0.17.0.post1", "0.17.0.post1", engine.SourceConfig},
		{"then the parameter of a model", engine.Facts{EngineVersion: "2.64.0", TRTLLMVersion: "1.0.0", TRTLLMSource: engine.SourceParameter}, "", "1.0.0", engine.SourceParameter},
		{"then the table", engine.Facts{EngineVersion: "2.64.0"}, "", "1.1.0", engine.SourceTable},
		{"25.07 is 2.59.1", engine.Facts{EngineVersion: "2.59.1"}, "", "0.20.0", engine.SourceTable},
		{"a version that is not semver", engine.Facts{EngineVersion: "2.63.0"}, "", "1.0.3.2510", engine.SourceTable},
		{"a row that states none", engine.Facts{EngineVersion: "2.44.0"}, "", "unknown", engine.SourceUnknown},
		{"a build from main", engine.Facts{EngineVersion: "2.73.0dev"}, "", "unknown", engine.SourceUnknown},
		{"a version that is in no row", engine.Facts{EngineVersion: "0.0.0"}, "", "unknown", engine.SourceUnknown},
		{"nothing", engine.Facts{}, "", "unknown", engine.SourceUnknown},
	} {
		t.Run(c.says, func(t *testing.T) {
			got, source := c.facts.ResolveVersion(of(t, engine.Triton), executor, c.declared)
			require.Equal(t, c.want, got)
			require.Equal(t, c.source, source)
		})
	}
	for says, page := range map[string]*engine.Page{
		"no page":               nil,
		"a page without an LLM": readPage(t, engine.Triton, []byte("nv_inference_request_success{model=\"resnet\",version=\"1\"} 3\n")),
		"the vLLM backend":      readPage(t, engine.Triton, []byte("nv_inference_request_success{model=\"llama\",version=\"1\"} 3\nvllm:num_requests_running{model=\"llama\",version=\"1\"} 3\n")),
	} {
		f := engine.Facts{EngineVersion: "2.64.0"}
		got, source := f.ResolveVersion(of(t, engine.Triton), page, "")
		require.Equal(t, "unknown", got, says)
		require.Equal(t, engine.SourceUnknown, source, says)
	}
	f := engine.Facts{EngineVersion: "2.64.0"}
	_, source := f.ResolveVersion(of(t, engine.NIM), nil, "")
	require.Equal(t, engine.SourceUnknown, source, "the table is of Triton's images only")
}

func TestAnswersAreKeptWhileTheyAreNotGivenAnew(t *testing.T) {
	first := ask(t, engine.Triton, tritonServer())
	for _, c := range []struct {
		says      string
		server    answers
		version   string
		trtllm    string
		configs   bool
		hasModels bool
	}{
		{"nothing answers", answers{"*": refuses}, "2.64.0", "1.1.0", true, true},
		{"only the version is restricted", tritonServer("/v2", restricted), "2.64.0", "1.1.0", true, true},
		{"the config is lost", tritonServer("/v2/models/tensorrt_llm/config", "<html>"), "2.64.0", "1.1.0", true, true},
		{"the model is unloaded", tritonServer("/v2/repository/index", strings.Replace(index, "READY", "UNAVAILABLE", 1)), "2.64.0", "1.1.0", true, true},
		{"the parameter was taken out", tritonServer("/v2/models/tensorrt_llm/config", strings.Replace(config, "trtllm_version", "other", 1)), "2.64.0", "", true, true},
		{"another version", tritonServer("/v2", strings.Replace(metadata, "2.64", "2.67", 1), "/v2/models/tensorrt_llm/config", hangs), "2.67.0", "", true, true},
		{"no models any more", tritonServer("/v2/repository/index", "[]"), "2.64.0", "1.1.0", false, false},
	} {
		t.Run(c.says, func(t *testing.T) {
			next := ask(t, engine.Triton, c.server).Over(&first)
			require.Equal(t, c.version, next.EngineVersion)
			require.Equal(t, c.trtllm, next.TRTLLMVersion)
			m := next.Model("tensorrt_llm")
			require.Equal(t, c.hasModels, m != nil)
			if m != nil {
				require.Equal(t, c.configs, m.Configured)
			}
		})
	}
	require.Equal(t, "2.64.0", first.Over(nil).EngineVersion)
}

func TestFactsAreEqualWhenTheySayTheSame(t *testing.T) {
	facts := func(change func(f *engine.Facts)) *engine.Facts {
		f := &engine.Facts{
			EngineVersion: "2.64.0", TRTLLMVersion: "1.1.0", TRTLLMSource: engine.SourceParameter, BuildVersion: "1.1.0", Listed: true,
			Models: []engine.ModelFacts{{
				Name: "m", Version: "1", State: "READY", Configured: true, ConfigHash: "h", Parameters: map[string]string{"a": "b"},
				Steps: []string{"x"}, Calls: []string{"y"}, Instances: []engine.InstanceGroup{{Kind: "KIND_GPU", Count: 1, GPUs: []int{0}}},
			}},
			Problems: []engine.Problem{{Question: "q", Reason: "r"}},
		}
		change(f)
		return f
	}
	one := facts(func(*engine.Facts) {})
	require.True(t, one.Equal(facts(func(*engine.Facts) {})))
	require.True(t, one.Equal(facts(func(f *engine.Facts) { f.Models[0].Instances[0].GPUs = []int{3} })), "where a model runs does not count")
	for says, change := range map[string]func(f *engine.Facts){
		"version":            func(f *engine.Facts) { f.EngineVersion = "" },
		"TensorRT-LLM":       func(f *engine.Facts) { f.TRTLLMVersion = "1.2.0" },
		"source":             func(f *engine.Facts) { f.TRTLLMSource = engine.SourceServer },
		"build":              func(f *engine.Facts) { f.BuildVersion = "" },
		"listed":             func(f *engine.Facts) { f.Listed = false },
		"problems":           func(f *engine.Facts) { f.Problems = nil },
		"models":             func(f *engine.Facts) { f.Models = nil },
		"name":               func(f *engine.Facts) { f.Models[0].Name = "n" },
		"version of a model": func(f *engine.Facts) { f.Models[0].Version = "2" },
		"state":              func(f *engine.Facts) { f.Models[0].State = "LOADING" },
		"configured":         func(f *engine.Facts) { f.Models[0].Configured = false },
		"hash":               func(f *engine.Facts) { f.Models[0].ConfigHash = "i" },
		"parameters":         func(f *engine.Facts) { f.Models[0].Parameters["a"] = "c" },
		"steps":              func(f *engine.Facts) { f.Models[0].Steps = nil },
		"calls":              func(f *engine.Facts) { f.Models[0].Calls = nil },
		"instances":          func(f *engine.Facts) { f.Models[0].Instances[0].GPUs = []int{0, 1} },
	} {
		require.False(t, one.Equal(facts(change)), says)
	}
	var none *engine.Facts
	require.True(t, none.Equal(nil))
	require.False(t, none.Equal(one))
	require.False(t, one.Equal(nil))
}

func TestNumbersOfAConfig(t *testing.T) {
	for text, want := range map[string]int{`8`: 8, `"8"`: 8, `8.5`: 0, `99999999999999999999`: 0, `"many"`: 0, `null`: 0, `[8]`: 0} {
		f := ask(t, engine.Triton, tritonServer("/v2/models/tensorrt_llm/config", `{"name":"tensorrt_llm","max_batch_size":`+text+`}`))
		require.True(t, f.Models[0].Configured, text)
		require.Equal(t, want, f.Models[0].MaxBatchSize, text)
	}
}

func TestInstancesOfAModel(t *testing.T) {
	for _, c := range []struct {
		groups []engine.InstanceGroup
		want   int
	}{
		{nil, 0},
		{[]engine.InstanceGroup{{Kind: "KIND_CPU", Count: 4}}, 4},
		{[]engine.InstanceGroup{{Kind: "KIND_GPU", Count: 2, GPUs: []int{0, 1, 2}}}, 6},
		{[]engine.InstanceGroup{{Kind: "KIND_GPU", Count: 2}}, 2},
		{[]engine.InstanceGroup{{Kind: "KIND_MODEL", Count: 2, GPUs: []int{0, 1}}, {Kind: "KIND_GPU", Count: 1, GPUs: []int{0}}}, 3},
	} {
		m := engine.ModelFacts{Instances: c.groups}
		require.Equal(t, c.want, m.InstanceCount(), "%v", c.groups)
	}
	require.True(t, (&engine.DynamicBatching{}).Minimal())
	require.False(t, (&engine.DynamicBatching{DelayMicroseconds: 1}).Minimal())
	require.False(t, (&engine.DynamicBatching{Preferred: true}).Minimal())
}

func TestTheIndexOfATriton(t *testing.T) {
	long := strings.Repeat("x", 257)
	f := ask(t, engine.Triton, answers{"/v2": metadata, "/v2/repository/index": `[
		{"name":"never loaded"},{"name":"a","version":"1","state":"UNAVAILABLE"},{"name":"a","version":"2","state":"READY"},
		{"name":"a","version":"3","state":"LOADING"},{"name":"","version":"1","state":"READY"},{"name":"` + long + `","state":"READY"},
		{"name":"b","version":"1","state":"LOADING"}]`})
	got := make([]string, len(f.Models))
	for i, m := range f.Models {
		got[i] = m.Name + " " + m.Version + " " + m.State
	}
	require.Equal(t, []string{"a 2 READY", "b 1 LOADING", "never loaded  "}, got, "one version of each, those that were never loaded last")
}

func TestModelsThatAConfigNames(t *testing.T) {
	names := `[{"name":"chat","version":"1","state":"READY"},{"name":"bls","version":"1","state":"READY"}]`
	f := ask(t, engine.Triton, answers{
		"/v2": metadata, "/v2/repository/index": names,
		"/v2/models/chat/config": `{"name":"chat","platform":"ensemble","ensemble_scheduling":{"step":[{"model_name":"pre"},{"model_name":"llm"},{"model_name":"pre"}]}}`,
		"/v2/models/bls/config": `{"name":"bls","backend":"python","instance_group":[{"kind":"KIND_CPU","count":"2"}],
			"parameters":{"tensorrt_llm_model_name":{"string_value":"llm"},"draft_model_name":{"string_value":"${draft}"},"a_model_name":{"string_value":"a"},
			"tensorrt_llm_draft_model_name":{"string_value":"little"},
			"gpu_device_ids":{"string_value":"0"},"other":{"string_value":"x"},"trtllm_version":{"string_value":"  1.0.0 "}}}`,
	})
	chat, bls := f.Model("chat"), f.Model("bls")
	require.Equal(t, "ensemble", chat.Platform)
	require.Equal(t, []string{"pre", "llm"}, chat.Steps)
	require.Nil(t, chat.Batching)
	require.Equal(t, []string{"a", "little", "llm"}, bls.Calls)
	require.Equal(t, "little", bls.Draft)
	require.Equal(t, 2, bls.InstanceCount())
	require.Equal(t, map[string]string{"gpu_device_ids": "0"}, bls.Parameters)
	require.Equal(t, "1.0.0", f.TRTLLMVersion)
	require.Nil(t, f.Model("other"))
}
