package dashboards

import (
	"fmt"
	"slices"
	"strings"
)

// Queries aggregate first, numbers by avg and states by max: series from several exporters count
// once, and an upgrade, which changes version labels, does not interrupt lines.

// Labels of a series about the engine of a replica, and about one of its entry models.
const (
	ofEngine = "pool_id, replica_id, model_id"
	ofEntry  = ofEngine + ", model, version"
)

// maxBy returns the maximum of a family by labels.
func maxBy(by, name, selector string, matchers ...string) string {
	return fmt.Sprintf("max by (%s) (%s{%s})", by, name, with(selector, matchers))
}

// each returns a family about models, by replica.
func each(name string) string { return avgBy(ofEngine, name+"{"+modelMatchers+"}") }

func avgBy(by, expr string) string { return fmt.Sprintf("avg by (%s) (%s)", by, expr) }

// eachReplica returns a family about replicas.
func eachReplica(name string, matchers ...string) string {
	return maxBy("pool_id, replica_id", name, replicaMatchers, matchers...)
}

// modelFamily returns a function that returns a selector for a family about models with another
// matcher.
func modelFamily(name string) func(matcher string) string {
	return func(matcher string) string {
		return fmt.Sprintf("%s{%s}", name, with(modelMatchers, []string{matcher}))
	}
}

// eachRate returns the rate of a counter about models, by replica.
func eachRate(name string) string { return avgBy(ofEngine, rate(name)) }

// rateBy sums the rate of a counter over replicas.
func rateBy(by, name string) string { return sumBy(by, ofEngine, rate(name)) }

// rateOfEntries is [rateBy] for a counter about entry models.
func rateOfEntries(by, name string) string { return sumBy(by, ofEntry, rate(name)) }

// sumBy sums an expression with the labels of series.
func sumBy(by, series, expr string) string { return total(by, avgBy(union(series, by), expr)) }

func rate(name string, matchers ...string) string {
	return fmt.Sprintf("rate(%s{%s}[$__rate_interval])", name, with(modelMatchers, matchers))
}

// total sums an expression by labels, or in total without labels.
func total(by, expr string) string {
	if by == "" {
		return "sum(" + expr + ")"
	}
	return fmt.Sprintf("sum by (%s) (%s)", by, expr)
}

func mean(by, name string) string {
	return fmt.Sprintf("%s / (%s > 0)", rateBy(by, name+"_sum"), rateBy(by, name+"_count"))
}

// countMatching counts the series that meet a condition. It is absent without series: unknown is
// not zero.
func countMatching(expr, condition string) string {
	return "count(" + expr + " " + condition + ") or 0 * count(" + expr + ")"
}

func with(selector string, matchers []string) string {
	return strings.Join(append([]string{selector}, matchers...), ",")
}

// union adds missing labels.
func union(labels, more string) string {
	have := strings.Split(labels, ", ")
	for l := range strings.SplitSeq(more, ", ") {
		if l != "" && !slices.Contains(have, l) {
			have = append(have, l)
		}
	}
	return strings.Join(have, ", ")
}

// extremes returns the highest three replicas of each pool, the median and the lowest, so
// that panels stay readable with hundreds of replicas.
func extremes(expr string) []query {
	return []query{
		{"topk by (pool_id) (3, " + expr + ")", "{{pool_id}} / {{replica_id}}"},
		{"quantile by (pool_id) (0.5, " + expr + ")", "{{pool_id}} median"},
		{"min by (pool_id) (" + expr + ")", "{{pool_id}} lowest"},
	}
}

// states returns the states of llm_server_state in the order of [stateNumber].
func states() []MappedValue {
	return []MappedValue{
		{Text: "unknown", Color: "gray"},
		{Text: "ready", Color: "green"},
		{Text: "blind", Color: "yellow"},
		{Text: "starting", Color: "blue"},
		{Text: "draining", Color: "purple"},
		{Text: "canary_failing", Color: "dark-orange"},
		{Text: "not_ready", Color: "orange"},
		{Text: "unserved", Color: "light-red"},
		{Text: "failing", Color: "semi-dark-red"},
		{Text: "stalled", Color: "dark-red"},
		{Text: "down", Color: "red"},
	}
}

// stateNumber returns the index of the current state, given a family with 0 or 1 per state. If two
// exporters see different states, one that sees it ready is right, as for alerts and the share that
// serves; otherwise the higher index wins. The states begin with unknown and ready.
func stateNumber(by, name string, states []MappedValue) string {
	var parts []string
	for i, s := range states[1:] {
		parts = append(
			parts,
			fmt.Sprintf("%d * max by (%s, state) (%s{%s,state=%q})", i+1, by, name, replicaMatchers, s.Text),
		)
	}
	ready := maxBy(by, name, replicaMatchers, fmt.Sprintf("state=%q", states[1].Text))
	return fmt.Sprintf("(%s == 1 or max by (%s) (%s))", ready, by, strings.Join(parts, " or "))
}

// serving returns 1 for replicas that serve requests, 0 for others.
func serving() string { return eachReplica("llm_server_serving") }

func replicaCount() string { return "count by (pool_id) (" + serving() + ")" }
