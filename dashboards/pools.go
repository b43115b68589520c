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
	return expr(`tier!="worker"`) + " or " + expr(`tier="worker"`) + " unless on (pool_id, model_id) " + expr(`tier="frontend"`)
}

// fromEngines returns an expression for what executors do: from workers and replicas without tier,
// or from frontends for models that no worker exposes.
func fromEngines(expr func(tier string) string) string {
	return expr(`tier!="frontend"`) + " or " + expr(`tier="frontend"`) + " unless on (pool_id, model_id) " + expr(`tier="worker"`)
}

func classRatio(by, class string) string {
	return total(by, byClass("requests_not_ok:rate", `class="`+class+`"`)) + " / (" + total(by, pool("requests:rate")) + " > 0)"
}

func poolMean(name string) string {
	return poolHistogram("pool_id, model_id", name).mean
}

// weighted returns the mean of averages of replicas, weighted by their requests, so that
// an idle replica does not count as much as a busy one. series are the labels of both.
func weighted(by, series, average, requests string) string {
	value, weight := avgBy(series, average), avgBy(series, requests)
	if all := union(series, "model, version"); all != series {
		weight = sumBy(series, all, requests)
	}
	return fmt.Sprintf("sum by (%s) (%s * %s) / (sum by (%s) (%s and %s) > 0)", by, value, weight, by, weight, value)
}
