package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

func TestAPIBelongsToPage(t *testing.T) {
	listed := func(models ...engine.ModelFacts) engine.Facts {
		return engine.Facts{Confirmed: true, Listed: true, Models: models}
	}
	const triton = "nv_inference_request_success{model=\"m\"} 1\n"
	const vllm, serve, dynamo = "vllm:num_requests_running{model_name=\"", "trtllm_request_success_total{model_name=\"", "dynamo_frontend_requests_total{model=\""
	for _, c := range []struct {
		name  string
		kind  engine.Name
		page  string
		facts engine.Facts
		want  engine.Ternary
	}{
		{"nothing was answered", engine.VLLM, vllm + "m\"} 0\n", engine.Facts{}, engine.Unsure},
		{
			"a page without models", engine.VLLM, "python_info 1\n",
			listed(named("m")...), engine.Unsure,
		},
		{
			"one of two models is on the page", engine.VLLM, vllm + "m\"} 0\n",
			listed(named("m", "adapter")...), engine.Yes,
		},
		{
			"the same model of an unknown server", engine.VLLM, vllm + "m\"} 0\n",
			engine.Facts{Listed: true, Models: named("m")},
			engine.Unsure,
		},
		{
			"other models", engine.VLLM, vllm + "m\"} 0\n",
			listed(named("n")...), engine.No,
		},
		{
			"the last part of a path", engine.TRTLLMServe, serve + "/models/Llama-3\"} 0\n",
			listed(named("Llama-3")...), engine.Yes,
		},
		{
			"the last part of a name of two", engine.VLLM, vllm + "a/llama\"} 0\n",
			listed(named("b/llama")...), engine.No,
		},
		{
			"the page names the path of a model that is served under another name",
			engine.VLLM, vllm + "Qwen/Qwen3-0.6B\"} 0\n",
			listed(engine.ModelFacts{Name: "mine", Root: "Qwen/Qwen3-0.6B"}), engine.Yes,
		},
		{
			"the page names the last part of that path", engine.VLLM, vllm + "llama\"} 0\n",
			listed(engine.ModelFacts{Name: "mine", Root: "/mnt/models/llama"}), engine.Yes,
		},
		{
			"the page names the model that an adapter extends", engine.VLLM, vllm + "base\"} 0\n",
			listed(engine.ModelFacts{Name: "adapter", Root: "/adapters/a"}, engine.ModelFacts{Name: "mine", Root: "base"}),
			engine.Yes,
		},
		{
			"neither name nor path is on the page", engine.VLLM, vllm + "m\"} 0\n",
			listed(engine.ModelFacts{Name: "n", Root: "/models/n"}), engine.No,
		},
		{
			"an unknown server with the path of the page's model",
			engine.VLLM, vllm + "m\"} 0\n",
			engine.Facts{Listed: true, Models: []engine.ModelFacts{{Name: "n", Root: "m"}}},
			engine.Unsure,
		},
		{
			"a page without names of models", engine.TRTLLMServe, serve + "undefined\"} 0\n",
			listed(named("m")...), engine.Unsure,
		},
		{
			"lower case on the page, and invented names", engine.Dynamo,
			dynamo + "qwen/qwen3\"} 0\n" + dynamo + "unknown_model\"} 0\n" + dynamo + "x\"} 0\n",
			listed(named("Qwen/Qwen3")...), engine.Yes,
		},
		{
			"only requests for unknown models", engine.Dynamo, dynamo + "unknown_model\"} 0\n",
			listed(named("m")...), engine.Unsure,
		},
		{
			"a Triton without models", engine.Triton, "nv_gpu_utilization{gpu_uuid=\"a\"} 0\n",
			listed(), engine.Yes,
		},
		{
			"a Triton with its model", engine.Triton, triton,
			listed(named("m")...), engine.Yes,
		},
		{
			"another Triton", engine.Triton, triton,
			listed(named("n")...), engine.No,
		},
		{
			"a Triton that loads a model", engine.Triton, triton,
			listed(named("m", "n")...), engine.Unsure,
		},
		{
			"a Triton that unloads its model", engine.Triton, triton,
			listed(), engine.No,
		},
		{
			"a Triton without request counts", engine.Triton, "nv_gpu_utilization{gpu_uuid=\"a\"} 0\n",
			listed(named("m")...), engine.Unsure,
		},
		{
			"a Triton that lists a model missing on its page", engine.Triton,
			"nv_inference_request_failure{model=\"m\"} 0\n",
			listed(engine.ModelFacts{Name: "m", State: engine.ModelUnavailable}), engine.Yes,
		},
	} {
		require.Equal(
			t,
			c.want,
			engine.Agree(engineOf(t, c.kind), readPage(t, c.kind, []byte(c.page)), &c.facts),
			c.name,
		)
	}
}

func TestPageAndAPIAddresses(t *testing.T) {
	for _, c := range []struct {
		kind       engine.Name
		page, want string
	}{
		{engine.VLLM, "", ""},
		{engine.VLLM, "/", ""},
		{engine.VLLM, "/metrics", ""},
		{engine.VLLM, "/metrics/", ""},
		{engine.VLLM, "/a/b/metrics", "/a/b"},
		{engine.VLLM, "/b/stats", "/b"},
		{engine.VLLM, "/stats", ""},
		{engine.VLLM, "/v1/metrics", "/v1"},
		{engine.NIM, "/v1/metrics", ""},
		{engine.NIM, "/b/v1/metrics", "/b"},
		{engine.TRTLLMServe, "/b/prometheus/metrics", "/b"},
		{engine.TRTLLMServe, "/metrics", ""},
		{engine.TRTLLMDisaggregated, "/b/prometheus/metrics/", "/b"},
		{engine.Unknown, "/b/prometheus/metrics", "/b"},
		{engine.Unknown, "/v1/metrics", ""},
		{engine.Unknown, "/b/metrics", "/b"},
	} {
		require.Equal(t, c.want, engine.BasePath(engineOf(t, c.kind), c.page), "%s at %s", c.kind, c.page)
	}
}
