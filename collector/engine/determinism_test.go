package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

func TestDeterminismProfileOfATriton(t *testing.T) {
	pinned := engine.Pins{EngineVersion: true, TRTLLMVersion: true}
	// As the profile wants it.
	good := strings.NewReplacer(`"max_batch_size":8`, `"max_batch_size":1`, `:100`, `:0`, `[4]`, `[]`).Replace(config)
	replace := func(old, with string) string {
		require.Contains(t, good, old)
		return strings.Replace(good, old, with, 1)
	}
	for _, c := range []struct {
		says, config string
		pins         engine.Pins
		limit        int
		fails        string
		reason       string
	}{
		{says: "all holds", config: good, pins: pinned},
		{says: "two instances", config: replace(`"count":1`, `"count":2`), pins: pinned, fails: engine.CheckOneInstance, reason: "2 instances"},
		{says: "no instance group", config: replace(`"instance_group"`, `"other"`), pins: pinned, fails: engine.CheckOneInstance + " " + engine.CheckPinnedGPUs, reason: "0 instances"},
		{says: "one instance on each of two GPUs", config: replace(`[0]`, `[0,1]`), pins: pinned, fails: engine.CheckOneInstance + " " + engine.CheckPinnedGPUs, reason: "2 instances"},
		{says: "the backend chooses the GPU", config: replace(`KIND_GPU`, `KIND_CPU`), pins: pinned, fails: engine.CheckPinnedGPUs, reason: "gpu_device_ids"},
		{says: "the executor's GPUs are named", config: strings.Replace(replace(`KIND_GPU`, `KIND_CPU`), `"parameters":{`, `"parameters":{"gpu_device_ids":{"string_value":"0"},`, 1), pins: pinned},
		{says: "requests are awaited", config: replace(`microseconds":0`, `microseconds":100`), pins: pinned, fails: engine.CheckNoBatching, reason: "waits 100 us"},
		{says: "sizes are preferred", config: replace(`"preferred_batch_size":[]`, `"preferred_batch_size":[4]`), pins: pinned, fails: engine.CheckNoBatching, reason: "leave dynamic_batching out"},
		{says: "no dynamic batching at all", config: replace(`"dynamic_batching"`, `"other"`), pins: pinned},
		{says: "an executor of eight", config: good, limit: 8, pins: pinned, fails: engine.CheckSingleRequest, reason: "admits 8 requests"},
		{says: "no version is pinned", config: good, fails: engine.CheckVersions, reason: "engine_version and trtllm_version"},
		{says: "one version is pinned", config: good, pins: engine.Pins{EngineVersion: true}, fails: engine.CheckVersions, reason: "expect trtllm_version"},
	} {
		t.Run(c.says, func(t *testing.T) {
			f := ask(t, engine.Triton, tritonServer("/v2/models/tensorrt_llm/config", c.config))
			var failed []string
			var reasons strings.Builder
			page := readPage(t, engine.Triton, []byte(fmt.Sprintf("nv_trt_llm_request_metrics{model=\"tensorrt_llm\",request_type=\"max\",version=\"1\"} %d\n", max(c.limit, 1))))
			checks := engine.Determinism(of(t, engine.Triton), &f, page, c.pins)
			for _, check := range checks {
				require.NotEmpty(t, check.Reason)
				if !check.OK {
					failed = append(failed, check.Name)
					reasons.WriteString(check.Reason + "\n")
				}
			}
			require.Len(t, checks, 5)
			require.Equal(t, c.fails, strings.Join(failed, " "))
			require.Contains(t, reasons.String(), c.reason)
		})
	}
}

func TestDeterminismIsNotJudgedWithoutKnowledge(t *testing.T) {
	names := func(checks []target.Check) string {
		var all []string
		for _, c := range checks {
			all = append(all, c.Name)
		}
		return strings.Join(all, " ")
	}
	require.Equal(t, engine.CheckVersions, names(engine.Determinism(of(t, engine.Triton), nil, nil, engine.Pins{})))
	f := ask(t, engine.Triton, tritonServer("/v2/models/tensorrt_llm/config", restricted))
	require.Equal(t, engine.CheckVersions, names(engine.Determinism(of(t, engine.Triton), &f, nil, engine.Pins{})))
	require.Equal(t, engine.CheckOneInstance+" "+engine.CheckVersions, names(engine.Determinism(of(t, engine.TRTLLMServe), nil, nil, engine.Pins{})))
}

func TestBatchesOfModelsThatDoNotSayTheirLimit(t *testing.T) {
	for says, c := range map[string]struct {
		config string
		ok     bool
		reason string
	}{
		"an executor before its first iteration": {config, false, "does not say how many"},
		"vLLM":                                   {`{"name":"tensorrt_llm","backend":"vllm","max_batch_size":0}`, false, "does not say how many"},
	} {
		f := ask(t, engine.Triton, tritonServer("/v2/models/tensorrt_llm/config", c.config))
		for _, check := range engine.Determinism(of(t, engine.Triton), &f, nil, engine.Pins{}) {
			if check.Name == engine.CheckSingleRequest {
				require.Equal(t, c.ok, check.OK, says)
				require.Contains(t, check.Reason, c.reason, says)
			}
		}
	}
	plain := strings.ReplaceAll(index, "tensorrt_llm", "resnet50")
	for size, ok := range map[string]bool{"8": false, "1": true, "0": true} {
		f := ask(t, engine.Triton, answers{
			"/v2": metadata, "/v2/repository/index": plain,
			"/v2/models/resnet50/config": `{"name":"resnet50","backend":"onnxruntime","max_batch_size":` + size + `}`,
		})
		checks := engine.Determinism(of(t, engine.Triton), &f, nil, engine.Pins{})
		require.Equal(t, engine.CheckSingleRequest, checks[3].Name)
		require.Equal(t, ok, checks[3].OK, checks[3].Reason)
	}
}

func TestTokenizersMayHaveManyInstances(t *testing.T) {
	r := listening(t, replica(t, simulate.Spec{Kind: simulate.KindTriton}, 0))
	e, _ := engine.Of("triton")
	f := e.Ask(t.Context(), newNetwork(t), r.APIURL(), nil)
	require.Equal(t, 4, f.Model("preprocessing").InstanceCount())
	checks := engine.Determinism(of(t, engine.Triton), &f, nil, engine.Pins{})
	require.Equal(t, engine.CheckOneInstance, checks[0].Name)
	require.True(t, checks[0].OK, checks[0].Reason)
}
