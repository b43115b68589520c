package dashboards

import "fmt"

// What whole pools do is recorded by the rules of package alerts, which know
// from which tier each quantity comes. Panels of pools read that: it is short,
// and as fast with hundreds of replicas as with one. What no rule records
// chooses the tier here.

// pool is a recorded quantity of pools, by model.
func pool(name string, matchers ...string) string {
	return fmt.Sprintf("pool_model:llm_server_%s{%s}", name, with(ofPools, matchers))
}

// byClass is a recorded quantity of pools, by class of request.
func byClass(name string, matchers ...string) string {
	return fmt.Sprintf("pool_model_class:llm_server_%s{%s}", name, with(ofPools, matchers))
}

// fromClients makes an expression of what clients see: that of frontends and of
// replicas without tiers, and that of workers of models that no frontend shows.
func fromClients(expr func(tier string) string) string {
	return expr(`tier!="worker"`) + " or " + expr(`tier="worker"`) + " unless on (pool_id, model_id) " + expr(`tier="frontend"`)
}

// fromEngines makes an expression of what executors do: that of workers and of
// replicas without tiers, and that of frontends of models that no worker shows.
func fromEngines(expr func(tier string) string) string {
	return expr(`tier!="frontend"`) + " or " + expr(`tier="frontend"`) + " unless on (pool_id, model_id) " + expr(`tier="worker"`)
}

// rateOfClients is the sum of a counter's rate over the replicas that clients
// call, by labels; series are what it is of.
func rateOfClients(series, by, name string) string {
	return fmt.Sprintf("sum by (%s) (max by (%s) (%s))", by, union(series, by), fromClients(func(tier string) string { return rate(name, tier) }))
}

// notOK is the share of the requests that ended with a class, by labels.
func notOK(by, class string) string {
	return total(by, byClass("requests_not_ok:rate", `class="`+class+`"`)) + " / (" + total(by, pool("requests:rate")) + " > 0)"
}

// poolMean is the mean of a recorded histogram.
func poolMean(name string) string {
	h := ofPoolModels("pool_id, model_id", name)
	return h.mean
}

// weighted is the mean of what replicas average, by the requests of each: a
// replica that serves one request a minute does not count as one that serves
// hundreds. Both are chosen by tier, and series are what they are of.
func weighted(by, series, average, requests string) string {
	value := fmt.Sprintf("max by (%s) (%s)", series, average)
	weight := fmt.Sprintf("max by (%s) (%s)", series, requests)
	if all := union(series, "model, version"); all != series {
		weight = fmt.Sprintf("sum by (%s) (max by (%s) (%s))", series, all, requests)
	}
	return fmt.Sprintf("sum by (%s) (%s * %s) / (sum by (%s) (%s and %s) > 0)", by, value, weight, by, weight, value)
}
