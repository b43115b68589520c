package derive

import "github.com/trtllm-exporter/trtllm_exporter/collector/engine"

// poolFamilies are about a pool as a whole.
func poolFamilies() []Family {
	return []Family{
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
		gauge("pool_canary_outputs", Exact, beyondPage(OfPool, allOf(engine.AnswersStream)),
			"Number of distinct canary answers among the pool's replicas of equal engine and versions whose last canary request succeeded: 1 when they agree. Absent while no two can be compared. Carries pool_id and no replica. Replicas under different load may differ without a fault.",
			"distinct SHA-256 of the last answers, in the largest case"),
	}
}
