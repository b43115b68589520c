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
// replicas without tiers, or else that of workers.
func fromClients(expr func(tier string) string) string {
	return expr(`tier!="worker"`) + " or on (pool_id) " + expr(`tier="worker"`)
}

// fromEngines makes an expression of what executors do: that of workers and of
// replicas without tiers, or else that of frontends.
func fromEngines(expr func(tier string) string) string {
	return expr(`tier!="frontend"`) + " or on (pool_id) " + expr(`tier="frontend"`)
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

// poolMean is the mean of a recorded histogram, by labels.
func poolMean(by, name string) string {
	return total(by, pool(name+"_sum:rate")) + " / (" + total(by, pool(name+"_count:rate")) + " > 0)"
}

// bucketsUpTo are the buckets of a recorded histogram, by le and labels.
func bucketsUpTo(by, name string, matchers ...string) string {
	return fmt.Sprintf("sum by (%s) (%s)", union("le", by), pool(name+"_bucket:rate", matchers...))
}

// within is true where a quantile is not in the last bucket, which has no end.
func within(q, by, name string) string {
	return fmt.Sprintf("(max by (%s) (%s) >= %s * %s)", by, bucketsUpTo(by, name, `le!="+Inf"`), q, total(by, pool(name+"_bucket:rate", `le="+Inf"`)))
}

// quantile is a quantile of a recorded histogram, by labels. It has no value in
// the last bucket; the 99th percentile has none below the mean either, for then
// what makes the mean is beyond it.
func quantile(q, by, name string) string {
	value := fmt.Sprintf("(histogram_quantile(%s, %s) and %s)", q, bucketsUpTo(by, name), within(q, by, name))
	if q == "0.99" {
		return value + " >= " + poolMean(by, name)
	}
	return value
}

// beyond is the largest bound of a recorded histogram where a quantile is above
// it, by labels.
func beyond(q, by, name string) string {
	return fmt.Sprintf("histogram_quantile(%s, %s) unless %s", q, bucketsUpTo(by, name), within(q, by, name))
}

// quantiles are the three that all latencies are shown by, with the mean.
func quantiles(name string) []query {
	const by = "pool_id, model_id"
	var all []query
	for _, q := range [][2]string{{"0.5", "p50"}, {"0.95", "p95"}, {"0.99", "p99"}} {
		all = append(all, query{quantile(q[0], by, name), "{{pool_id}} {{model_id}} " + q[1]})
	}
	return append(all, query{poolMean(by, name), "{{pool_id}} {{model_id}} mean"}, query{beyond("0.99", by, name), "{{pool_id}} {{model_id}} p99 >"})
}
