package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

func TestDeterminismNeedsProfile(t *testing.T) {
	names := func(checks []target.Check) string {
		var all []string
		for _, c := range checks {
			all = append(all, c.Name)
		}
		return strings.Join(all, " ")
	}
	require.Equal(
		t,
		engine.CheckVersions,
		names(engine.Determinism(engineOf(t, engine.Triton), nil, nil, engine.Pins{})),
	)
	f := ask(t, engine.Triton, tritonServer("/v2/models/tensorrt_llm/config", restricted))
	require.Equal(
		t,
		engine.CheckVersions,
		names(engine.Determinism(engineOf(t, engine.Triton), &f, nil, engine.Pins{})),
	)
	require.Equal(
		t,
		engine.CheckOneInstance+" "+engine.CheckVersions,
		names(engine.Determinism(engineOf(t, engine.TRTLLMServe), nil, nil, engine.Pins{})),
	)
}

func TestProfileReasons(t *testing.T) {
	gpu := func(kind string, count int, gpus ...int) []engine.InstanceGroup {
		return []engine.InstanceGroup{{Kind: kind, Count: count, GPUs: gpus}}
	}
	good := func(change func(m *engine.ModelFacts)) *engine.Facts {
		m := engine.ModelFacts{
			Name:         "m",
			Configured:   true,
			Backend:      "onnxruntime",
			MaxBatchSize: 1,
			Instances:    gpu("KIND_GPU", 1, 0),
		}
		change(&m)
		return &engine.Facts{Models: []engine.ModelFacts{m}}
	}
	const admits = "nv_trt_llm_request_metrics{model=\"m\",request_type=\"max\"} "
	for _, c := range []struct {
		name   string
		change func(m *engine.ModelFacts)
		page   string
		check  string
		want   string
	}{
		{"one instance", func(*engine.ModelFacts) {}, "", engine.CheckOneInstance, "true, one instance of each model"},
		{
			"none",
			func(m *engine.ModelFacts) { m.Instances = nil },
			"", engine.CheckOneInstance,
			"false, model m has 0 instances; set instance_group count: 1 with one GPU",
		},
		{
			"two",
			func(m *engine.ModelFacts) { m.Instances = gpu("KIND_GPU", 2, 0) },
			"", engine.CheckOneInstance,
			"false, model m has 2 instances; set instance_group count: 1 with one GPU",
		},
		{
			"a GPU by number",
			func(*engine.ModelFacts) {},
			"", engine.CheckPinnedGPUs, "true, the GPUs are named in the config",
		},
		{
			"any GPU",
			func(m *engine.ModelFacts) { m.Instances = gpu("KIND_GPU", 1) },
			"", engine.CheckPinnedGPUs,
			"false, model m runs on 0 GPUs; name one in instance_group gpus",
		},
		{
			"two GPUs",
			func(m *engine.ModelFacts) { m.Instances = gpu("KIND_GPU", 1, 0, 1) },
			"", engine.CheckPinnedGPUs,
			"false, model m runs on 2 GPUs; name one in instance_group gpus",
		},
		{
			"no group",
			func(m *engine.ModelFacts) { m.Instances = nil },
			"", engine.CheckPinnedGPUs,
			"false, model m has no instance group; name its GPU",
		},
		{
			"the backend chooses",
			func(m *engine.ModelFacts) { m.Instances = gpu("KIND_MODEL", 1) },
			"", engine.CheckPinnedGPUs,
			"false, model m leaves the GPU to its backend (KIND_MODEL); name it in instance_group gpus, or give " +
				"the server one GPU only",
		},
		{
			"the executor chooses",
			func(m *engine.ModelFacts) { m.Instances, m.Backend = gpu("KIND_CPU", 1), "tensorrtllm" },
			"", engine.CheckPinnedGPUs,
			"false, model m leaves the GPU to its backend (KIND_CPU); set parameter gpu_device_ids",
		},
		{"no batching", func(*engine.ModelFacts) {}, "", engine.CheckNoBatching, "true, no dynamic batching"},
		{
			"minimal batching",
			func(m *engine.ModelFacts) { m.Batching = &engine.DynamicBatching{} },
			"", engine.CheckNoBatching,
			"true, dynamic batching is minimal: no delay and no preferred sizes",
		},
		{"of an executor", func(m *engine.ModelFacts) {
			m.Batching, m.MaxBatchSize, m.Backend = &engine.DynamicBatching{}, 8, "tensorrtllm"
		}, "", engine.CheckNoBatching, "true, dynamic batching is minimal: no delay and no preferred sizes"},
		{"of Python", func(m *engine.ModelFacts) {
			m.Batching, m.MaxBatchSize, m.Backend = &engine.DynamicBatching{}, 8, "python"
		}, "", engine.CheckNoBatching, "true, dynamic batching is minimal: no delay and no preferred sizes"},
		{
			"of all that wait",
			func(m *engine.ModelFacts) { m.Batching, m.MaxBatchSize = &engine.DynamicBatching{}, 8 },
			"", engine.CheckNoBatching,
			"false, model m batches requests that wait; remove dynamic_batching",
		},
		{
			"with a delay",
			func(m *engine.ModelFacts) { m.Batching = &engine.DynamicBatching{DelayMicroseconds: 5} },
			"", engine.CheckNoBatching,
			"false, model m waits 5 us to batch requests; remove dynamic_batching",
		},
		{
			"one at a time",
			func(*engine.ModelFacts) {},
			"", engine.CheckSingleRequest,
			"true, no model takes more than one request into a batch",
		},
		{
			"several",
			func(m *engine.ModelFacts) { m.MaxBatchSize = 2 },
			"", engine.CheckSingleRequest,
			"false, model m takes up to 2 requests into one batch; let clients keep one request in flight, or set " +
				"the largest batch of the engine to 1",
		},
		{
			"a batching backend",
			func(m *engine.ModelFacts) { m.Backend = "vllm" },
			"", engine.CheckSingleRequest,
			"false, model m batches requests by itself and does not show how many; let clients keep one request in " +
				"flight, or set the largest batch of the engine to 1",
		},
		{
			"a streaming model",
			func(m *engine.ModelFacts) { m.Decoupled = true },
			"", engine.CheckSingleRequest,
			"false, model m batches requests by itself and does not show how many; let clients keep one request in " +
				"flight, or set the largest batch of the engine to 1",
		},
		{
			"an LLM by its name",
			func(m *engine.ModelFacts) { m.Name = "tensorrt_llm" },
			"", engine.CheckSingleRequest,
			"false, model tensorrt_llm batches requests by itself and does not show how many; let clients keep one " +
				"request in flight, or set the largest batch of the engine to 1",
		},
		{
			"an executor of one",
			func(m *engine.ModelFacts) { m.Decoupled = true },
			admits + "1\n", engine.CheckSingleRequest, "true, the executor admits 1 requests at once",
		},
		{
			"an executor of two",
			func(*engine.ModelFacts) {},
			admits + "2\n", engine.CheckSingleRequest,
			"false, the executor admits 2 requests at once; let clients keep one request in flight, or set the " +
				"largest batch of the engine to 1",
		},
	} {
		t.Run(c.check+": "+c.name, func(t *testing.T) {
			checks := engineOf(t, engine.Triton).Determinism(good(c.change), readPage(t, engine.Triton, []byte(c.page)))
			i := slices.IndexFunc(checks, func(check target.Check) bool { return check.Name == c.check })
			require.GreaterOrEqual(t, i, 0)
			require.Equal(t, c.want, fmt.Sprintf("%v, %s", checks[i].OK, checks[i].Reason))
		})
	}
}

func TestProfileModels(t *testing.T) {
	many := []engine.InstanceGroup{{Kind: "KIND_CPU", Count: 4}}
	facts := &engine.Facts{Models: []engine.ModelFacts{
		{Name: "preprocessing", Configured: true, Instances: many},
		{Name: "postprocessing", Configured: true, Instances: many},
		{Name: "chat", Configured: true, Platform: "ensemble"},
		{Name: "bls", Configured: true, Calls: []string{"m"}, Instances: many},
		{Name: "not configured"},
	}}
	triton := engineOf(t, engine.Triton)
	require.Empty(t, triton.Determinism(facts, nil), "none of them runs an LLM")
	facts.Models = append(facts.Models, engine.ModelFacts{Name: "m", Configured: true, Instances: many})
	require.Equal(t, "model m has 4 instances; set instance_group count: 1 "+
		"with one GPU", triton.Determinism(facts, nil)[0].Reason)
	facts.Models = append(facts.Models, engine.ModelFacts{
		Name:       "llm",
		Configured: true,
		Backend:    "tensorrtllm",
		Instances:  many[:1],
	})
	require.Equal(t, "model llm has 4 instances; set instance_group count: 1 "+
		"with one GPU", triton.Determinism(facts, nil)[0].Reason, "where there is an LLM only that counts")
	one := engine.ModelFacts{
		Name:       "tensorrt_llm",
		Configured: true,
		Backend:    "tensorrtllm",
		Instances:  []engine.InstanceGroup{{Count: 1}},
	}
	facts.Models = append(facts.Models, one)
	require.Equal(t, "model llm has 4 instances; set instance_group count: 1 "+
		"with one GPU", triton.Determinism(facts, nil)[0].Reason, "of several LLMs each counts")
	facts.Models[len(facts.Models)-2].State = engine.ModelUnavailable
	require.True(t, triton.Determinism(facts, nil)[0].OK, "one that was unloaded answers nobody")
	facts.Models = append(facts.Models[:len(facts.Models)-2], engine.ModelFacts{Name: "tensorrt_llm"})
	require.Empty(t, triton.Determinism(facts, nil), "its config is not known")
}

func TestTRTLLMServeDeterminism(t *testing.T) {
	serve := engineOf(t, engine.TRTLLMServe)
	limited := func(n int) *engine.Page {
		return readPage(t, engine.TRTLLMServe, fmt.Appendf(nil, "trtllm_max_num_active_requests %d\n", n))
	}
	require.Equal(
		t,
		[]target.Check{target.Passed(engine.CheckOneInstance, "the server is one instance of its engine")},
		serve.Determinism(nil, limited(0)),
	)
	require.Equal(
		t,
		target.Passed(engine.CheckSingleRequest, "the executor admits 1 requests at once"),
		serve.Determinism(nil, limited(1))[1],
	)
	require.False(t, serve.Determinism(nil, limited(9))[1].OK, "a batch of nine is not one request at a time")
	for _, kind := range []engine.Name{engine.NIM, engine.Dynamo} {
		require.Empty(t, engineOf(t, kind).Determinism(nil, nil))
	}
}

func TestNoTensorRTLLMVersionWithoutTensorRTLLM(t *testing.T) {
	for _, kind := range []engine.Name{engine.VLLM, engine.SGLang} {
		e := engineOf(t, kind)
		require.Equal(
			t,
			[]target.Check{target.Failed(engine.CheckVersions, "declare or expect engine_version", "")},
			engine.Determinism(e, nil, nil, engine.Pins{}),
		)
		require.Equal(
			t,
			[]target.Check{target.Passed(engine.CheckVersions, "its versions are declared or expected")},
			engine.Determinism(e, nil, nil, engine.Pins{EngineVersion: true}),
		)
	}
	triton := engineOf(t, engine.Triton)
	require.Equal(
		t,
		[]target.Check{target.Failed(engine.CheckVersions, "declare or expect engine_version and trtllm_version", "")},
		engine.Determinism(triton, nil, nil, engine.Pins{}),
	)
	require.Equal(
		t,
		[]target.Check{target.Failed(engine.CheckVersions, "declare or expect trtllm_version", "")},
		engine.Determinism(triton, nil, nil, engine.Pins{EngineVersion: true}),
	)
}
