package dashboards

import (
	"fmt"
	"strings"
)

// Series that several exporters serve count once, and labels of versions are
// left out, so that an upgrade does not break a line: hence max by first.

// each is a family of a model, by replica.
func each(name string) string {
	return fmt.Sprintf("max by (pool_id, replica_id, model_id) (%s{%s})", name, ofModel)
}

// eachEntry is a family of a model that clients call, of which a deployment may
// have several.
func eachEntry(name string) string {
	return fmt.Sprintf("max by (pool_id, replica_id, model_id, model, version) (%s{%s})", name, ofModel)
}

// eachReplica is a family of a replica.
func eachReplica(name string, matchers ...string) string {
	return fmt.Sprintf("max by (pool_id, replica_id) (%s{%s})", name, with(ofReplica, matchers))
}

// eachTarget is a gauge that the exporter says of a target.
func eachTarget(name string) string {
	return fmt.Sprintf("max by (pool_id, replica_id) (%s{%s})", name, ofTarget)
}

// eachRate is the rate of a counter of a model, by replica.
func eachRate(name string) string {
	return fmt.Sprintf("max by (pool_id, replica_id, model_id) (rate(%s{%s}[$__rate_interval]))", name, ofModel)
}

// rateBy is the sum over replicas of a counter's rate, by labels.
func rateBy(by, name string) string {
	return rateOver("pool_id, replica_id, model_id", by, name)
}

// rateOfEntries is [rateBy] of a counter of entry models, of which a deployment
// may have several.
func rateOfEntries(by, name string) string {
	return rateOver("pool_id, replica_id, model_id, model, version", by, name)
}

// rateOver is the sum of a counter's rate by labels, over series that differ in
// others; what two exporters serve of one counts once.
func rateOver(series, by, name string) string {
	return fmt.Sprintf("sum by (%s) (max by (%s) (rate(%s{%s}[$__rate_interval])))", by, union(series, by), name, ofModel)
}

// total adds up an expression by labels; none is all of it.
func total(by, expr string) string {
	if by == "" {
		return "sum(" + expr + ")"
	}
	return fmt.Sprintf("sum by (%s) (%s)", by, expr)
}

// quantile is a quantile of a histogram over all replicas, by labels.
func quantile(q, by, name string) string {
	labels := union("le", by)
	return fmt.Sprintf("histogram_quantile(%s, sum by (%s) (max by (%s) (rate(%s_bucket{%s}[$__rate_interval]))))",
		q, labels, union("le, pool_id, replica_id, model_id, model, version", by), name, ofModel)
}

// quantiles are the three that all latencies are shown by.
func quantiles(name string) []query {
	var all []query
	for _, q := range [][2]string{{"0.5", "p50"}, {"0.95", "p95"}, {"0.99", "p99"}} {
		all = append(all, query{quantile(q[0], "pool_id, model_id", name), "{{pool_id}} {{model_id}} " + q[1]})
	}
	return all
}

// mean is the mean of a histogram over all replicas, by labels.
func mean(by, name string) string {
	return fmt.Sprintf("%s / (%s > 0)", rateOfEntries(by, name+"_sum"), rateOfEntries(by, name+"_count"))
}

// buckets is a histogram over all replicas, for a heatmap.
func buckets(name string) string {
	return fmt.Sprintf("sum by (le) (max by (le, pool_id, replica_id, model_id, model, version) (rate(%s_bucket{%s}[$__rate_interval])))", name, ofModel)
}

// with adds matchers.
func with(selector string, matchers []string) string {
	return strings.Join(append([]string{selector}, matchers...), ",")
}

// union adds labels that are not there yet.
func union(labels, more string) string {
	have := strings.Split(labels, ", ")
	for l := range strings.SplitSeq(more, ", ") {
		found := l == ""
		for _, h := range have {
			found = found || h == l
		}
		if !found {
			have = append(have, l)
		}
	}
	return strings.Join(have, ", ")
}

// states are those of llm_server_state, in the order of their numbers.
func states() []Outcome {
	return []Outcome{
		{},
		{Text: "ready", Color: "green"},
		{Text: "blind", Color: "yellow"},
		{Text: "starting", Color: "blue"},
		{Text: "draining", Color: "purple"},
		{Text: "not_ready", Color: "orange"},
		{Text: "failing", Color: "semi-dark-red"},
		{Text: "stalled", Color: "dark-red"},
		{Text: "down", Color: "red"},
	}
}

// numbered is one number for the state that holds, from families with a series
// of 0 or 1 for each state.
func numbered(by, name, selector string, states []Outcome) string {
	var parts []string
	for i, s := range states {
		if s.Text != "" {
			parts = append(parts, fmt.Sprintf("%d * max by (%s) (%s{%s,state=%q})", i, by, name, selector, s.Text))
		}
	}
	return strings.Join(parts, " + ")
}

// serving is 1 for each replica that serves requests.
func serving() string { return eachReplica("llm_server_state", `state=~"ready|blind"`) }

// known is the number of replicas by pool.
func known() string { return "count by (pool_id) (" + serving() + ")" }
