package dashboards

import (
	"fmt"
	"slices"
	"strings"
)

// Series that several exporters serve count once, and labels of versions are
// left out, so that an upgrade does not break a line: hence max by first.

// highest is the highest of a family by labels, of the series that are selected.
func highest(by, name, selector string, matchers ...string) string {
	return fmt.Sprintf("max by (%s) (%s{%s})", by, name, with(selector, matchers))
}

// each is a family of a model, by replica.
func each(name string) string { return highest("pool_id, replica_id, model_id", name, ofModel) }

// eachEntry is a family of a model that clients call, of which a deployment may
// have several.
func eachEntry(name string) string {
	return highest("pool_id, replica_id, model_id, model, version", name, ofModel)
}

// eachReplica is a family of a replica, eachTarget a gauge that the exporter says of one.
func eachReplica(name string, matchers ...string) string {
	return highest("pool_id, replica_id", name, ofReplica, matchers...)
}
func eachTarget(name string) string { return highest("pool_id, replica_id", name, ofTarget) }

// ofModels is a family of a model with a matcher more, ofReplicas one of a replica.
func ofModels(name string) func(matcher string) string {
	return func(matcher string) string { return fmt.Sprintf("%s{%s}", name, with(ofModel, []string{matcher})) }
}

func ofReplicas(name string, matchers ...string) func(matcher string) string {
	return func(matcher string) string {
		return fmt.Sprintf("%s{%s}", name, with(ofReplica, append(matchers, matcher)))
	}
}

// eachRate is the rate of a counter of a model, by replica.
func eachRate(name string) string {
	return fmt.Sprintf("max by (pool_id, replica_id, model_id) (%s)", rate(name))
}

// rateBy is the sum over replicas of a counter's rate, by labels.
func rateBy(by, name string) string {
	return fmt.Sprintf("sum by (%s) (max by (%s) (%s))", by, union("pool_id, replica_id, model_id", by), rate(name))
}

// rateOfEntries is [rateBy] of a counter of entry models, of which a deployment
// may have several.
func rateOfEntries(by, name string) string {
	return fmt.Sprintf("sum by (%s) (max by (%s) (%s))", by, union("pool_id, replica_id, model_id, model, version", by), rate(name))
}

// rate is a counter's rate in the interval that the panel shows.
func rate(name string, matchers ...string) string {
	return fmt.Sprintf("rate(%s{%s}[$__rate_interval])", name, with(ofModel, matchers))
}

// total adds up an expression by labels; none is all of it.
func total(by, expr string) string {
	if by == "" {
		return "sum(" + expr + ")"
	}
	return fmt.Sprintf("sum by (%s) (%s)", by, expr)
}

// mean is the mean of a histogram over replicas, by labels.
func mean(by, name string) string {
	return fmt.Sprintf("%s / (%s > 0)", rateBy(by, name+"_sum"), rateBy(by, name+"_count"))
}

// counted is how many series of an expression meet a condition: 0 only where there
// are some, for of what is not known none is no good news.
func counted(expr, condition string) string {
	return "count(" + expr + " " + condition + ") or 0 * count(" + expr + ")"
}

// with adds matchers.
func with(selector string, matchers []string) string {
	return strings.Join(append([]string{selector}, matchers...), ",")
}

// union adds labels that are not there yet.
func union(labels, more string) string {
	have := strings.Split(labels, ", ")
	for l := range strings.SplitSeq(more, ", ") {
		if l != "" && !slices.Contains(have, l) {
			have = append(have, l)
		}
	}
	return strings.Join(have, ", ")
}

// extremes are the highest three of a quantity by replica in each pool, with the
// middle and the lowest of the pool: as many lines for hundreds of replicas as
// for four.
func extremes(expr string) []query {
	return []query{
		{"topk by (pool_id) (3, " + expr + ")", "{{pool_id}} / {{replica_id}}"},
		{"quantile by (pool_id) (0.5, " + expr + ")", "{{pool_id}} median"},
		{"min by (pool_id) (" + expr + ")", "{{pool_id}} lowest"},
	}
}

// states are those of llm_server_state, in the order of their numbers. Where
// none holds nothing is known, which is grey and never green.
func states() []Outcome {
	return []Outcome{
		{Text: "unknown", Color: "gray"},
		{Text: "ready", Color: "green"},
		{Text: "blind", Color: "yellow"},
		{Text: "starting", Color: "blue"},
		{Text: "draining", Color: "purple"},
		{Text: "not_ready", Color: "orange"},
		{Text: "unserved", Color: "light-red"},
		{Text: "failing", Color: "semi-dark-red"},
		{Text: "stalled", Color: "dark-red"},
		{Text: "down", Color: "red"},
	}
}

// numbered is one number for the state that holds, from families with a series
// of 0 or 1 for each state. Of two states that two exporters see it is the
// later one.
func numbered(by, name string, states []Outcome) string {
	var parts []string
	for i, s := range states[1:] {
		parts = append(parts, fmt.Sprintf("%d * max by (%s, state) (%s{%s,state=%q})", i+1, by, name, ofReplica, s.Text))
	}
	return fmt.Sprintf("max by (%s) (%s)", by, strings.Join(parts, " or "))
}

// serving is 1 for each replica that serves requests.
func serving() string { return eachReplica("llm_server_state", `state=~"ready|blind"`) }

// known is the number of replicas by pool.
func known() string { return "count by (pool_id) (" + serving() + ")" }
