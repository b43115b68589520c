package dashboards

import "fmt"

// Panels about pools read recording rules of package alerts, which choose the tier of each
// quantity and are fast with hundreds of replicas. Other queries choose the tier here.

// pool returns a recorded quantity of pools, by model.
func pool(name string, matchers ...string) string {
	return fmt.Sprintf("pool_model:llm_server_%s{%s}", name, with(poolModelMatchers, matchers))
}

// byClass returns a recorded quantity of pools, by class of requests.
func byClass(name string, matchers ...string) string {
	return fmt.Sprintf("pool_model_class:llm_server_%s{%s}", name, with(poolModelMatchers, matchers))
}

// fromClients returns an expression for what clients see: from frontends and replicas without
// tier, or from workers for models that no frontend exposes.
func fromClients(expr func(tier string) string) string {
	others, workers, frontends := expr(`tier!="worker"`), expr(`tier="worker"`), expr(`tier="frontend"`)
	return others + " or " + workers + " unless on (pool_id, model_id) " + frontends
}

// fromEngines returns an expression for what executors do: from workers and replicas without tier,
// or from frontends for models that no worker exposes.
func fromEngines(expr func(tier string) string) string {
	others, frontends, workers := expr(`tier!="frontend"`), expr(`tier="frontend"`), expr(`tier="worker"`)
	return others + " or " + frontends + " unless on (pool_id, model_id) " + workers
}

// ofEngines sums a family about models over the replicas of each pool that execute requests.
func ofEngines(name string) string {
	return sumBy("pool_id, model_id", ofEngine, fromEngines(modelFamily(name)))
}

func classRatio(by, class string) string {
	ofClass, all := total(by, byClass("requests_not_ok:rate", `class="`+class+`"`)), total(by, pool("requests:rate"))
	return ofClass + " / (" + all + " > 0)"
}

// poolMean returns the recorded mean of a quantity of requests, by pool and model.
func poolMean(name string) string {
	return pool(name+"_sum:rate") + " / (" + pool(name+"_count:rate") + " > 0)"
}

// phaseMean returns the mean time of a phase of requests, by labels.
func phaseMean(by, phase string) string {
	recorded := func(suffix string) string {
		name := "pool_tier_model:llm_server_request_" + phase + "_seconds_" + suffix + ":rate"
		return total(by, name+"{"+poolModelMatchers+"}")
	}
	return recorded("sum") + " / (" + recorded("count") + " > 0)"
}

// meanDuration returns the mean duration of requests to entry models, by labels.
func meanDuration(by string) string {
	recorded := func(operation string) string {
		return total(
			by,
			"pool_model_version:llm_server_request_duration_average_seconds:"+operation+"{"+poolModelMatchers+"}",
		)
	}
	return recorded("weighted") + " / (" + recorded("weight") + " > 0)"
}
