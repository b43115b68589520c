package derive

import (
	"github.com/prometheus/common/model"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// Prefix begins the name of every derived family.
const Prefix = "llm_server_"

// Grade says how far a family can be trusted.
type Grade string

// The grades of accuracy.
const (
	// Exact values are what the server counted.
	Exact Grade = "A"
	// Sampled values are right at the moment the server sampled them.
	Sampled Grade = "B"
	// Rough values are estimates; their HELP says of what kind.
	Rough Grade = "C"
)

// Family is one entry of the catalogue: everything that is said of a derived
// family anywhere, from HELP to the metric reference, is said here.
type Family struct {
	Name  string
	Type  model.MetricType
	Unit  string
	Help  string
	Grade Grade
	// Labels stand beside the identity of the replica; model_id among them
	// says that the family belongs to a model.
	Labels []string
	// Formula is how the value comes about, in the names of the servers.
	Formula string
	// Engines are the kinds of servers that can feed it.
	Engines []engine.Kind
	// rule makes the series of the family; nil for families that speak of the
	// replica beside its page, which the collector knows.
	rule Rule
}

// Rule makes the series of one family for one target. Compile is called when
// the target's page has a new shape; it adds a series for every value that
// the page can give.
type Rule interface {
	Compile(p *Plan, f *Family)
}

// Catalogue are all derived families, in the order of the metric reference.
func Catalogue() []Family {
	var all []Family
	for _, part := range [][]Family{requestFamilies(), queueFamilies(), tokenFamilies(), cacheFamilies(), engineFamilies(), modelFamilies(), machineFamilies(), stateFamilies()} {
		all = append(all, part...)
	}
	for i := range all {
		all[i].Name = Prefix + all[i].Name
	}
	return all
}

// byModel are the labels of families of an entry model.
func byModel() []string { return []string{"model_id"} }

// byPart are the labels of families of one model of a server.
func byPart() []string { return []string{"model", "model_id", "stage", "version"} }

// withTriton are the kinds of servers with Triton's page.
func withTriton() []engine.Kind { return []engine.Kind{engine.Triton, engine.TritonOpenAI} }

// withEngines are all kinds of servers.
func withEngines() []engine.Kind {
	return []engine.Kind{engine.Triton, engine.TritonOpenAI, engine.TRTLLMServe, engine.NIM, engine.Dynamo}
}

const (
	counter = model.MetricTypeCounter
	gauge   = model.MetricTypeGauge
)

func requestFamilies() []Family {
	return []Family{
		{
			Name: "requests_total", Type: counter, Grade: Sampled, Labels: byModel(), Engines: withTriton(),
			Help:    "Requests that ended at the entry model, failed ones included (source nv_inference_request_success and nv_inference_request_failure). Requests refused at max_queue_size are not counted by the server.",
			Formula: "success + failure of the entry models of the deployment; parts are never added",
			rule:    entryRequests{signals: []engine.Signal{engine.ModelSuccess, engine.ModelFailed}},
		},
		{
			Name: "requests_finished_total", Type: counter, Grade: Exact, Labels: []string{"finish_reason", "model_id"}, Engines: []engine.Kind{engine.TRTLLMServe, engine.NIM, engine.Dynamo},
			Help:    "Requests that finished, by reason (source request_success_total{finished_reason}, request_finish_total). A cancelled request counts with its reason.",
			Formula: "as counted by the server",
			rule:    copyOf{engine.RequestsFinished},
		},
		{
			Name: "requests_per_second", Type: gauge, Grade: Exact, Labels: byModel(), Engines: withEngines(),
			Help:    "Requests a second that ended over the window, at the entry model only.",
			Formula: "rate(requests_total) or rate(requests_finished_total)",
			rule:    requestRate{},
		},
		{
			Name: "requests_running", Type: gauge, Grade: Sampled, Labels: byModel(), Engines: withEngines(),
			Help:    "Requests in the batch of the last iteration (source nv_trt_llm_request_metrics{request_type=scheduled}, trtllm_num_scheduled_requests, num_requests_running of NIM).",
			Formula: "scheduled requests",
			rule:    copyOf{engine.RequestsRunning},
		},
		{
			Name: "requests_active", Type: gauge, Grade: Sampled, Labels: byModel(), Engines: withEngines(),
			Help:    "Requests the executor has admitted, running or waiting for a place in the batch (source nv_trt_llm_request_metrics{request_type=active}, trtllm_num_requests_running).",
			Formula: "active requests",
			rule:    copyOf{engine.RequestsActive},
		},
		{
			Name: "requests_prefill", Type: gauge, Grade: Sampled, Labels: byModel(), Engines: withEngines(),
			Help:    "Running requests in their prefill (context) phase; a part of requests_running.",
			Formula: "context requests",
			rule:    copyOf{engine.RequestsPrefill},
		},
		{
			Name: "requests_decode", Type: gauge, Grade: Sampled, Labels: byModel(), Engines: withEngines(),
			Help:    "Running requests in their decode (generation) phase; a part of requests_running.",
			Formula: "generation requests",
			rule:    copyOf{engine.RequestsDecode},
		},
		{
			Name: "requests_paused", Type: gauge, Grade: Sampled, Labels: byModel(), Engines: withEngines(),
			Help:    "Requests that were paused in the last iteration, a sign that the KV cache is too small.",
			Formula: "paused requests",
			rule:    copyOf{engine.RequestsPaused},
		},
		{
			Name: "requests_limit", Type: gauge, Grade: Exact, Labels: byModel(), Engines: withEngines(),
			Help:    "Most requests the executor admits at once (source nv_trt_llm_request_metrics{request_type=max}, trtllm_max_num_active_requests). Not a limit of the queue.",
			Formula: "max active requests",
			rule:    copyOf{engine.RequestsLimit},
		},
	}
}

func queueFamilies() []Family {
	return []Family{
		{
			Name: "queue_depth", Type: gauge, Grade: Sampled, Labels: byModel(), Engines: withEngines(),
			Help:    "Requests that wait: pending in Triton's queues plus waiting in the engine. A lower bound while llm_server_saturated is 1, for TensorRT-LLM does not show requests beyond its limit.",
			Formula: "queue_requests{queue=core} + queue_requests{queue=engine}",
			rule:    queueDepth{},
		},
		{
			Name: "queue_requests", Type: gauge, Grade: Sampled, Labels: []string{"model_id", "queue"}, Engines: withEngines(),
			Help:    "Requests that wait, by queue: core is Triton's (source nv_inference_pending_request_count of all models but ensembles), engine is the executor's (source request_type=waiting, before 25.04 active - scheduled).",
			Formula: "core: sum of pending; engine: waiting, or active - scheduled",
			rule:    queueSplit{},
		},
		{
			Name: "saturated", Type: gauge, Grade: Sampled, Labels: byModel(), Engines: withEngines(),
			Help:    "1 while the executor has admitted as many requests as it may; then further ones wait where no metric sees them.",
			Formula: "active >= limit",
			rule:    saturated{},
		},
	}
}

func tokenFamilies() []Family {
	return []Family{
		{
			Name: "prompt_tokens_total", Type: counter, Unit: "tokens", Grade: Exact, Labels: byModel(), Engines: withEngines(),
			Help:    "Prompt tokens of requests that ended (source nv_llm_input_token_len_sum, prompt_tokens_total). Moves when a request ends.",
			Formula: "as counted by the server",
			rule:    copyOf{engine.PromptTokens},
		},
		{
			Name: "generation_tokens_total", Type: counter, Unit: "tokens", Grade: Exact, Labels: byModel(), Engines: withEngines(),
			Help:    "Generated tokens of requests that ended (source nv_llm_output_token_len_sum, generation_tokens_total). Moves when a request ends.",
			Formula: "as counted by the server",
			rule:    copyOf{engine.GenerationTokens},
		},
		{
			Name: "prompt_tokens_per_second", Type: gauge, Grade: Exact, Labels: byModel(), Engines: withEngines(),
			Help:    "Prompt tokens a second over the window, from the counter: exact over windows of three request durations and more, bursty over shorter ones.",
			Formula: "rate(prompt_tokens_total)",
			rule:    rateOf{engine.PromptTokens},
		},
		{
			Name: "generation_tokens_per_second", Type: gauge, Grade: Exact, Labels: byModel(), Engines: withEngines(),
			Help:    "Generated tokens a second over the window, from the counter: exact over windows of three request durations and more, bursty over shorter ones.",
			Formula: "rate(generation_tokens_total)",
			rule:    rateOf{engine.GenerationTokens},
		},
	}
}

func cacheFamilies() []Family {
	return []Family{
		{
			Name: "kv_cache_utilization_ratio", Type: gauge, Grade: Sampled, Labels: byModel(), Engines: withEngines(),
			Help:    "Share of the KV cache's blocks in use, 0 to 1, computed from used and max where the server tells them.",
			Formula: "used / max, else the server's own ratio",
			rule:    cacheUse{},
		},
		{
			Name: "kv_cache_blocks", Type: gauge, Grade: Sampled, Labels: []string{"model_id", "state"}, Engines: withEngines(),
			Help:    "Blocks of the KV cache by state, used or free.",
			Formula: "used, free",
			rule:    cacheBlocks{},
		},
		{
			Name: "kv_cache_blocks_limit", Type: gauge, Grade: Exact, Labels: byModel(), Engines: withEngines(),
			Help:    "Blocks the KV cache has.",
			Formula: "max blocks",
			rule:    copyOf{engine.KVBlocksLimit},
		},
		{
			Name: "kv_cache_block_tokens", Type: gauge, Unit: "tokens", Grade: Exact, Labels: byModel(), Engines: withEngines(),
			Help:    "Tokens that one block of the KV cache holds.",
			Formula: "tokens per block",
			rule:    copyOf{engine.KVBlockTokens},
		},
		{
			Name: "kv_cache_capacity_tokens", Type: gauge, Unit: "tokens", Grade: Exact, Labels: byModel(), Engines: withEngines(),
			Help:    "Tokens the whole KV cache holds.",
			Formula: "max blocks * tokens per block",
			rule:    cacheCapacity{},
		},
		{
			Name: "kv_cache_blocks_reused_total", Type: counter, Grade: Exact, Labels: byModel(), Engines: withEngines(),
			Help:    "Blocks that were found in the KV cache instead of being computed (source kv_cache_block_type=reused, a counter although the server types it gauge).",
			Formula: "reused blocks since the engine started",
			rule:    copyOf{engine.KVBlocksReused},
		},
	}
}

func engineFamilies() []Family {
	return []Family{
		{
			Name: "engine_iterations_total", Type: counter, Grade: Exact, Labels: byModel(), Engines: withTriton(),
			Help:    "Iterations of the executor since the model was loaded (source general_type=iteration_counter, typed gauge by the server). Stands still while idle.",
			Formula: "iteration_counter",
			rule:    copyOf{engine.EngineIterations},
		},
		{
			Name: "engine_memory_bytes", Type: gauge, Unit: "bytes", Grade: Sampled, Labels: []string{"memory", "model_id"}, Engines: withEngines(),
			Help:    "Memory the engine's runtime allocated, by kind: gpu, cpu, pinned. Of the leading process only, not the device's use.",
			Formula: "as told by the server",
			rule:    copyOf{engine.EngineMemory},
		},
		{
			Name: "iteration_context_tokens", Type: gauge, Unit: "tokens", Grade: Sampled, Labels: byModel(), Engines: withEngines(),
			Help:    "Prefill tokens computed in the last iteration.",
			Formula: "total_context_tokens",
			rule:    copyOf{engine.ContextTokens},
		},
	}
}

func modelFamilies() []Family {
	return []Family{
		{
			Name: "model_requests_pending", Type: gauge, Grade: Exact, Labels: byPart(), Engines: withTriton(),
			Help:    "Requests that wait in the model's own queue in Triton. Near 0 for models that hand over at once: TensorRT-LLM's and decoupled Python ones.",
			Formula: "nv_inference_pending_request_count",
			rule:    copyOf{engine.ModelPending},
		},
		{
			Name: "model_requests_failed_total", Type: counter, Grade: Sampled, Labels: []string{"model", "model_id", "reason", "stage", "version"}, Engines: withTriton(),
			Help:    "Failed requests of each model by reason. An ensemble counts its parts' failures as well; the counter survives an unload of the model.",
			Formula: "nv_inference_request_failure",
			rule:    copyOf{engine.ModelFailed},
		},
	}
}

func machineFamilies() []Family {
	gpu := []string{"gpu_uuid"}
	return []Family{
		{
			Name: "info", Type: gauge, Grade: Exact, Labels: []string{"engine_version", "trtllm_version", "trtllm_version_source"}, Engines: withEngines(),
			Help:    "1 with the versions of the replica and where the TensorRT-LLM version comes from: config, version_endpoint, model_parameter, compatibility_table or unknown.",
			Formula: "1",
			rule:    info{},
		},
		{
			Name: "gpu_utilization_ratio", Type: gauge, Grade: Sampled, Labels: gpu, Engines: withTriton(),
			Help:    "Use of the GPU, 0 to 1, by all processes on it.",
			Formula: "nv_gpu_utilization",
			rule:    copyOf{engine.GPUUtilization},
		},
		{
			Name: "gpu_memory_used_bytes", Type: gauge, Unit: "bytes", Grade: Sampled, Labels: gpu, Engines: withTriton(),
			Help:    "Memory in use on the GPU, by all processes.",
			Formula: "nv_gpu_memory_used_bytes",
			rule:    copyOf{engine.GPUMemoryUsed},
		},
		{
			Name: "gpu_memory_total_bytes", Type: gauge, Unit: "bytes", Grade: Exact, Labels: gpu, Engines: withTriton(),
			Help:    "Memory the GPU has.",
			Formula: "nv_gpu_memory_total_bytes",
			rule:    copyOf{engine.GPUMemoryTotal},
		},
		{
			Name: "gpu_power_watts", Type: gauge, Unit: "watts", Grade: Sampled, Labels: gpu, Engines: withTriton(),
			Help:    "Power the GPU draws.",
			Formula: "nv_gpu_power_usage",
			rule:    copyOf{engine.GPUPower},
		},
		{
			Name: "gpu_energy_joules_total", Type: counter, Unit: "joules", Grade: Exact, Labels: gpu, Engines: withTriton(),
			Help:    "Energy the GPU used since the server started.",
			Formula: "nv_energy_consumption",
			rule:    copyOf{engine.GPUEnergy},
		},
	}
}
