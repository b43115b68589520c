package derive

import (
	"slices"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// stateFamilies are about the replica itself; the collector exposes them also
// while its page cannot be scraped.
func stateFamilies() []Family {
	return slices.Concat(healthFamilies(), modelInfoFamilies(), judgedFamilies())
}

// healthFamilies say what the replica and its models are doing.
func healthFamilies() []Family {
	return []Family{
		gauge("state", Sampled, beyondPage(OfReplica, inputs{}, "state"),
			"What the replica is doing, judged from its /metrics and its API together: 1 for the state that it is in, 0 for the others.",
			"/metrics answers, API answers, all requests fail, no iteration while requests are in flight"),
		gauge("live", Exact, beyondPage(OfReplica, allOf(engine.AnswersLive)),
			"1 if the server says it is live, else 0; absent when its API does not answer.",
			"GET /v2/health/live and its like"),
		gauge("ready", Exact, beyondPage(OfReplica, allOf(engine.AnswersHealth)),
			"1 if the server says it is ready, else 0. A server whose requests all fail may say so too: see llm_server_state.",
			"GET /v2/health/ready and its like"),
		gauge("health_check_duration_seconds", Exact, beyondPage(OfReplica, allOf(engine.AnswersHealth)),
			"How long the server took to answer the last health check.",
			"measured by the exporter"),
		gauge("model_ready", Exact, beyondPage(OfModel, allOf(engine.AnswersIndex), "version"),
			"1 if the repository index says the model is ready, else 0.",
			"POST /v2/repository/index"),
		gauge("model_state", Exact, beyondPage(OfModel, anyOf(engine.AnswersIndex, engine.AnswersModels), "state", "version"),
			"What the model is doing: 1 for the one of ready, loading, unloading and unavailable that it is, 0 for the others. A model whose core series left /metrics is unavailable, whatever other series of it are left.",
			"POST /v2/repository/index, and nv_inference_request_success on /metrics"),
	}
}

// modelInfoFamilies say what the models of the replica are.
func modelInfoFamilies() []Family {
	return []Family{
		gauge("model_info", Exact, beyondPage(OfModel, anyOf(engine.AnswersIndex, engine.AnswersModels), "backend", "decoupled", "dynamic_batching", "instance_count", "max_batch_size", "platform", "role", "version"),
			"1 with what is known of the model: its role (entry, part or single) and what its config says. What is not known is left out.",
			"GET /v2/models/{model}/config, /v1/models"),
		gauge("model_parameters_info", Exact, beyondPage(OfModel, allOf(engine.AnswersConfig), engine.ModelParameters()...),
			"1 with those parameters of the model's config that decide how TensorRT-LLM batches and what it loads.",
			"parameters of GET /v2/models/{model}/config"),
		gauge("model_config_hash_info", Exact, beyondPage(OfModel, allOf(engine.AnswersConfig), "sha256"),
			"1 with the beginning of the SHA-256 of the model's config. Instance names, GPUs, host policies, metric tags and parameters that name devices or processes do not count.",
			"GET /v2/models/{model}/config as canonical JSON"),
		gauge("engine_build_info", Exact, beyondPage(OfReplica, inputs{}, "version"),
			"1 with the version of TensorRT-LLM that built the engine; absent unless engine_dir names the folder it is in.",
			"version in the config.json of engine_dir"),
	}
}

// judgedFamilies are what the exporter makes of all of it.
func judgedFamilies() []Family {
	return []Family{
		gauge("capability", Exact, beyondPage(OfReplica, inputs{}, "capability"),
			"1 for what can be known of the replica, 0 for what its server does not expose as it runs now. The reason, and the flag that turns it on, are on /targets and in the output of doctor.",
			"kind of server, generation, names on /metrics, answers of the API"),
		gauge("determinism_profile", Exact, beyondPage(OfReplica, inputs{}, "check"),
			"1 for each condition of equal answers to equal requests that the replica meets, 0 for others; absent where nothing is known. The reason is on /targets.",
			"configs of the models, limit of requests, versions declared or expected"),
		gauge("expectation_mismatch", Exact, beyondPage(OfReplica, inputs{}, "fact"),
			"1 for each fact in which the replica is not what the pool's expect block says, 0 for those in which it is; absent while it is not known.",
			"expect of the pool against what the server answers"),
		gauge("slo_measured", Exact, beyondPage(OfReplica, inputs{}, "slo"),
			"1 for each objective of key slo in the pool's configuration that is measured at the replica, 0 for those that are not; absent while no request has ended that could show it. The reason is on /targets and in the output of doctor.",
			"buckets of the histogram against the target, counters of failures"),
		gauge("slo_objective", Exact, beyondPage(OfPool, inputs{}, "slo"),
			"Share of good requests that the pool promises, 0 to 1: key slo of its configuration. Carries pool_id and no replica.",
			"slo.<name>.objective of the configuration"),
		gauge("slo_threshold_seconds", Exact, beyondPage(OfPool, inputs{}, "slo"),
			"Time that good requests of the pool stay within: key slo of its configuration; availability has none. Carries pool_id and no replica.",
			"slo.<name>.le of the configuration"),
		gauge("pool_replicas_expected", Exact, beyondPage(OfPool, inputs{}, "bound"),
			"Replicas that the pool should have, at least (bound=lower) and at most (bound=upper): key expect.replicas of its configuration; absent without it. Carries pool_id and no replica.",
			"expect.replicas of the configuration"),
		gauge("pool_start_budget_seconds", Exact, beyondPage(OfPool, inputs{}),
			"How long a replica of the pool that was never seen may take to come up: until then its state is unknown, and down afterwards. Key start_budget of the configuration. Carries pool_id and no replica.",
			"start_budget of the configuration"),
		gauge("pool_skew", Exact, beyondPage(OfPool, inputs{}, "fact"),
			"Number of distinct values of the fact among the pool's replicas that answer, less 1: 0 when all are alike. Of a pool with several kinds of servers it is that of the kind whose replicas differ most. Carries pool_id and no replica.",
			"engine_version, trtllm_version, config_hash, kv_block_tokens, histogram_buckets, gpu"),
	}
}
