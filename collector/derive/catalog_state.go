package derive

import "slices"

// stateFamilies speak of the replica beside its page; the collector says them
// also while the page is not to be had.
func stateFamilies() []Family {
	return slices.Concat(healthFamilies(), modelInfoFamilies(), judgedFamilies())
}

// healthFamilies say what the replica and its models are doing.
func healthFamilies() []Family {
	return []Family{
		{
			Name: "state", Type: gauge, Grade: Sampled, Labels: []string{"state"}, Engines: withEngines(),
			Help:    "What the replica is doing, judged from its page and its API together: 1 for the one state that holds, 0 for the others.",
			Formula: "page answers, API answers, requests only fail, iterations stand still",
		},
		{
			Name: "live", Type: gauge, Grade: Exact, Engines: withEngines(),
			Help:    "1 if the server says it is live, else 0; absent when its API does not answer.",
			Formula: "GET /v2/health/live and its like",
		},
		{
			Name: "ready", Type: gauge, Grade: Exact, Engines: withEngines(),
			Help:    "1 if the server says it is ready, else 0. A server whose requests all fail may say so too: see llm_server_state.",
			Formula: "GET /v2/health/ready and its like",
		},
		{
			Name: "health_check_duration_seconds", Type: gauge, Unit: "seconds", Grade: Exact, Engines: withEngines(),
			Help:    "How long the server took to answer the last health check.",
			Formula: "measured by the exporter",
		},
		{
			Name: "model_ready", Type: gauge, Grade: Exact, Labels: []string{"model", "model_id", "version"}, Engines: withTriton(),
			Help:    "1 if the repository index says the model is ready, else 0.",
			Formula: "POST /v2/repository/index",
		},
		{
			Name: "model_state", Type: gauge, Grade: Exact, Labels: []string{"model", "model_id", "state", "version"}, Engines: withEngines(),
			Help:    "What the model is doing: 1 for the one of ready, loading, unloading and unavailable that holds, 0 for the others. A model whose core series left the page is unavailable whatever else stands there.",
			Formula: "POST /v2/repository/index, and nv_inference_request_success on the page",
		},
	}
}

// modelInfoFamilies say what the models of the replica are.
func modelInfoFamilies() []Family {
	return []Family{
		{
			Name: "model_info", Type: gauge, Grade: Exact, Engines: withEngines(),
			Labels:  []string{"backend", "decoupled", "dynamic_batching", "instance_count", "max_batch_size", "model", "model_id", "platform", "role", "version"},
			Help:    "1 with what is known of the model: its role (entry, part or single) and what its config says. What is not known is left out.",
			Formula: "GET /v2/models/{model}/config, /v1/models",
		},
		{
			Name: "model_parameters_info", Type: gauge, Grade: Exact, Engines: withTriton(),
			Labels:  []string{"batch_scheduler_policy", "batching_strategy", "gpt_model_path", "gpt_model_type", "gpu_device_ids", "kv_cache_free_gpu_mem_fraction", "model", "model_id"},
			Help:    "1 with those parameters of the model's config that decide how TensorRT-LLM batches and what it loads.",
			Formula: "parameters of GET /v2/models/{model}/config",
		},
		{
			Name: "model_config_hash_info", Type: gauge, Grade: Exact, Labels: []string{"model", "model_id", "sha256"}, Engines: withTriton(),
			Help:    "1 with the beginning of the SHA-256 of the model's config. Instance names, GPUs, host policies, metric tags and parameters that name devices or processes do not count.",
			Formula: "GET /v2/models/{model}/config as canonical JSON",
		},
		{
			Name: "engine_build_info", Type: gauge, Grade: Exact, Labels: []string{"version"}, Engines: withTriton(),
			Help:    "1 with the version of TensorRT-LLM that built the engine; absent unless engine_dir names the folder it is in.",
			Formula: "version in the config.json of engine_dir",
		},
	}
}

// judgedFamilies are what the exporter makes of all of it.
func judgedFamilies() []Family {
	return []Family{
		{
			Name: "capability", Type: gauge, Grade: Exact, Labels: []string{"capability"}, Engines: withEngines(),
			Help:    "1 for what can be known of the replica, 0 for what its server does not tell as it runs now. The reason, and the flag that turns it on, stand on /targets and in the output of doctor.",
			Formula: "kind of server, generation, names on the page, answers of the API",
		},
		{
			Name: "determinism_profile", Type: gauge, Grade: Exact, Labels: []string{"check"}, Engines: withEngines(),
			Help:    "1 for each condition of equal answers to equal requests that the replica meets, 0 for others; absent where nothing is known. The reason stands on /targets.",
			Formula: "configs of the models, limit of requests, versions declared or expected",
		},
		{
			Name: "expectation_mismatch", Type: gauge, Grade: Exact, Labels: []string{"fact"}, Engines: withEngines(),
			Help:    "1 for what the pool's expect block says and the replica is not, 0 for what it is; absent while it is not known.",
			Formula: "expect of the pool against what the server says",
		},
		{
			Name: "pool_skew", Type: gauge, Grade: Exact, Labels: []string{"fact"}, Engines: withEngines(),
			Help:    "Number of distinct values of the fact among the pool's replicas that answer, less 1: 0 when all are alike. Carries pool_id and no replica.",
			Formula: "engine_version, trtllm_version, config_hash, kv_block_tokens, histogram_buckets, gpu",
		},
	}
}
