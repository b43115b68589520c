package matrix

import (
	"fmt"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// tritons returns the servers with Triton's page, by backend.
func tritons() []Server {
	okAndFailed, canceled := []engine.Class{engine.ClassOK, engine.ClassServer}, []engine.Class{engine.ClassCanceled}
	cpp := deployment("tensorrtllm", false)
	return []Server{
		{
			Name:          "Triton, C++ backend of TensorRT-LLM",
			Kind:          engine.Triton,
			Facts:         version("2.64.0", cpp...),
			Counts:        okAndFailed,
			TakenAsOK:     canceled,
			ShowsArrivals: true,
			page:          func(b *Book, p *pageWriter) { ensemble(b, p, true); executor(b, p, "tokens reuse") },
		},
		{
			Name:          "Triton 24.03, failures without reasons",
			Kind:          engine.Triton,
			Facts:         version("2.44.0", cpp...),
			Counts:        okAndFailed,
			TakenAsOK:     canceled,
			ShowsArrivals: true,
			page:          func(b *Book, p *pageWriter) { ensemble(b, p, false); executor(b, p, "") },
		},
		{
			Name:          "Triton, Python executor of TensorRT-LLM",
			Kind:          engine.Triton,
			Facts:         version("2.64.0", deployment("python", true)...),
			Counts:        okAndFailed,
			TakenAsOK:     canceled,
			ShowsArrivals: true,
			page:          func(b *Book, p *pageWriter) { ensemble(b, p, true); executor(b, p, "tokens") },
		},
		{
			Name: "Triton, LLM-API model", Kind: engine.Triton,
			Facts:  version("2.64.0", config("tensorrt_llm", "python", true)),
			Counts: okAndFailed, TakenAsOK: canceled, Only: true,
			page: func(b *Book, p *pageWriter) { accepting(b, p, "tensorrt_llm") },
		},
		{
			Name: "Triton, LLM-API model with the metrics module", Kind: engine.Triton,
			Facts:  version("2.64.0", config("tensorrt_llm", "python", true)),
			Counts: engine.Classes(), ShowsArrivals: true,
			page: func(b *Book, p *pageWriter) { accepting(b, p, "tensorrt_llm"); module(b, p) },
		},
		{
			Name:  "Triton, ResNet",
			Kind:  engine.Triton,
			Facts: version("2.64.0", config("resnet", "onnxruntime", false)),
			Counts: []engine.Class{
				engine.ClassOK, engine.ClassServer, engine.ClassCanceled, engine.ClassOverload,
			},
			ShowsArrivals: true,
			page: func(b *Book, p *pageWriter) {
				core(p, "resnet", b.ok(), b.failed(), true, map[string]int{
					"BACKEND":  b.failed(),
					"CANCELED": b.canceled(),
					"REJECTED": b.overload(),
				})
				p.gauge("nv_inference_pending_request_count", ofModel("resnet"), float64(b.Running+b.Waiting+b.Arrived))
			},
		},
		{
			Name:      "Triton, vLLM backend",
			Kind:      engine.Triton,
			Facts:     version("2.64.0", config("vllm_model", "vllm", true)),
			Counts:    okAndFailed,
			TakenAsOK: canceled,
			Only:      true,
			page:      func(b *Book, p *pageWriter) { accepting(b, p, "vllm_model"); vllmBackend(b, p) },
		},
		{
			Name: "Triton behind its OpenAI frontend",
			Kind: engine.TritonOpenAI,
			Facts: engine.Facts{
				Listed: true,
				Models: []engine.ModelFacts{
					{Name: "ensemble"},
					{Name: "preprocessing"},
					{Name: "tensorrt_llm"},
					{Name: "postprocessing"},
				},
			},
			Counts:        okAndFailed,
			TakenAsOK:     canceled,
			ShowsArrivals: true,
			page:          func(b *Book, p *pageWriter) { ensemble(b, p, true); executor(b, p, "tokens reuse") },
		},
	}
}

// version returns the facts of a Triton with models.
func version(release string, models ...engine.ModelFacts) engine.Facts {
	return engine.Facts{EngineVersion: release, Listed: true, Models: models}
}

// config returns a model with a config.
func config(name, backend string, decoupled bool) engine.ModelFacts {
	return engine.ModelFacts{
		Name:       name,
		Version:    "1",
		State:      engine.ModelReady,
		Configured: true,
		Backend:    backend,
		Decoupled:  decoupled,
	}
}

// deployment returns the models of TensorRT-LLM's repository.
func deployment(backend string, decoupled bool) []engine.ModelFacts {
	front, llm := config("ensemble", "", false), config("tensorrt_llm", backend, decoupled)
	front.Platform, front.Steps = "ensemble", []string{"preprocessing", "tensorrt_llm", "postprocessing"}
	llm.Parameters = map[string]string{"gpt_model_type": "inflight_fused_batching"}
	return []engine.ModelFacts{
		front, config("preprocessing", "python", false), llm, config("postprocessing", "python", false),
	}
}

// ofModel returns the labels of a model's series.
func ofModel(name string) string { return `model="` + name + `",version="1"` }

// core writes Triton's counters of a model.
func core(p *pageWriter, name string, ok, failed int, reasons bool, by map[string]int) {
	l := ofModel(name)
	p.count("nv_inference_request_success", l, ok)
	if !reasons {
		p.count("nv_inference_request_failure", l, failed)
	} else {
		for _, reason := range []string{"OTHER", "BACKEND", "CANCELED", "REJECTED"} {
			p.count("nv_inference_request_failure", l+`,reason="`+reason+`"`, by[reason])
		}
	}
	p.count("nv_inference_count", l, ok)
	p.count("nv_inference_exec_count", l, ok)
	p.count("nv_inference_request_duration_us", l, int(requestDuration*1e6)*ok)
	p.count("nv_inference_queue_duration_us", l, 1000*ok)
	p.count("nv_inference_compute_infer_duration_us", l, int(requestDuration*1e6)*ok)
}

// ensemble writes an ensemble whose steps count what they accepted. With reasons the ensemble
// counts each failure twice. Client errors and rejections are not counted; disconnects are
// not noticed.
func ensemble(b *Book, p *pageWriter, reasons bool) {
	ok, fails := b.ok()+b.canceled(), b.failed()
	if reasons {
		fails *= 2
	}
	core(p, "ensemble", ok, fails, reasons, map[string]int{"OTHER": fails})
	core(
		p,
		"preprocessing",
		ok+b.failed()+b.Arrived-b.Crashed,
		b.Crashed,
		reasons,
		map[string]int{"BACKEND": b.Crashed},
	)
	core(p, "tensorrt_llm", ok+b.failed()-b.Crashed, 0, reasons, nil)
	core(p, "postprocessing", ok, 0, reasons, nil)
	for _, name := range []string{"ensemble", "preprocessing", "tensorrt_llm", "postprocessing"} {
		p.gauge("nv_inference_pending_request_count", ofModel(name), 0)
	}
}

// executor writes the metrics of TensorRT-LLM's backends; newer names the additions of newer
// releases: tokens, and reused blocks in C++.
func executor(b *Book, p *pageWriter, newer string) {
	l := ofModel("tensorrt_llm")
	p.gauges("nv_trt_llm_request_metrics", l+`,request_type="%s"`, map[string]float64{
		"active": float64(
			b.Running + b.Waiting,
		), "scheduled": float64(b.Running), "waiting": float64(b.Waiting), "context": 0, "max": 8,
	})
	used := 30 * float64(b.Running)
	blocks := map[string]float64{"max": 1000, "used": used, "free": 1000 - used, "tokens_per": 64}
	if strings.Contains(newer, "reuse") {
		blocks["reused"] = float64(b.ok())
	}
	p.gauges("nv_trt_llm_kv_cache_block_metrics", l+`,kv_cache_block_type="%s"`, blocks)
	p.gauge(
		"nv_trt_llm_inflight_batcher_metrics",
		l+`,inflight_batcher_specific_metric="generation_requests"`,
		float64(b.Running),
	)
	p.gauge("nv_trt_llm_general_metrics", l+`,general_type="iteration_counter"`, float64(b.Steps))
	if strings.Contains(newer, "tokens") {
		p.times("nv_llm_input_token_len", l+`,response_metric_type="total_input_tokens"`, b.ok(), 1)
		p.times("nv_llm_output_token_len", l+`,response_metric_type="total_output_tokens"`, b.ok(), 100)
	}
}

// accepting writes a decoupled model of the Python backend, where a request succeeds once it
// was accepted.
func accepting(b *Book, p *pageWriter, name string) {
	core(p, name, b.ok()+b.canceled()+b.failed()+b.Arrived-b.Crashed, 0, true, map[string]int{"BACKEND": b.Crashed})
	p.gauge("nv_inference_pending_request_count", ofModel(name), 0)
}

// module writes what the metrics module adds to an LLM-API model.
func module(b *Book, p *pageWriter) {
	const prefix = "nv_llmapi_"
	l := ofModel("tensorrt_llm")
	executor(b, p, "tokens")
	p.gauge(prefix+"heartbeat_timestamp_seconds", l, 1.8e9+b.Now.Seconds())
	p.count(prefix+"iterations_total", l, b.Steps)
	p.count(prefix+"generation_tokens_total", l, b.Tokens)
	p.count(prefix+"prompt_tokens_total", l, 100*b.ok())
	p.count(prefix+"kv_cache_reused_blocks_total", l, b.ok())
	p.count(prefix+"kv_cache_missed_blocks_total", l, 3*b.ok())
	p.gauge(prefix+"requests_in_flight", l, float64(b.Running+b.Waiting+b.Arrived))
	p.gauge(prefix+"requests_waiting", l, float64(b.Waiting))
	ended := l + `,class="%s",finish_reason="%s"`
	p.event(prefix+"requests_ended_total", fmt.Sprintf(ended, "ok", "stop"), b.ok())
	p.event(prefix+"requests_ended_total", fmt.Sprintf(ended, "server", "error"), b.failed()-b.Crashed)
	p.event(prefix+"requests_ended_total", fmt.Sprintf(ended, "canceled", "cancelled"), b.canceled())
	p.event(prefix+"requests_ended_total", fmt.Sprintf(ended, "client", "error"), b.client())
	p.event(prefix+"requests_ended_total", fmt.Sprintf(ended, "overload", "error"), b.overload())
	p.times(prefix+"time_to_first_token_seconds", l, b.ok(), firstToken)
	p.times(prefix+"inter_token_latency_seconds", l, b.Tokens, tokenGap)
	p.times(prefix+"request_duration_seconds", l, b.ok(), requestDuration)
}

// vllmBackend writes the metrics of Triton's vLLM backend.
func vllmBackend(b *Book, p *pageWriter) {
	l := ofModel("vllm_model")
	p.count("vllm:prompt_tokens_total", l, 100*b.ok())
	p.count("vllm:generation_tokens_total", l, b.Tokens)
	p.times("vllm:time_to_first_token_seconds", l, b.ok(), firstToken)
	p.times("vllm:time_per_output_token_seconds", l, b.Tokens, tokenGap)
	p.times("vllm:e2e_request_latency_seconds", l, b.ok(), requestDuration)
}
