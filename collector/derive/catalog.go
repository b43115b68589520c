package derive

import (
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/common/model"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

//go:generate go run ../../tools/metricsdoc ../../docs/metrics.md ../../docs/servers.md

// Prefix is the prefix of every derived family.
const Prefix = "llm_server_"

// Grade is the accuracy of a family.
type Grade string

// Grades of accuracy.
const (
	// Exact values were counted by the server.
	Exact Grade = "A"
	// Sampled values were correct when the server sampled them.
	Sampled Grade = "B"
	// Rough values are estimates.
	Rough Grade = "C"
)

// Scope is the subject of the series of a family.
type Scope string

// Scopes. OfEntry has the label model_id, OfModel the label model as well.
const (
	OfReplica Scope = "replica"
	OfPool    Scope = "pool"
	OfEntry   Scope = "entry model"
	OfModel   Scope = "model"
)

// Family is an entry of the catalogue, from which HELP and the metric reference are generated.
type Family struct {
	exposition.Family

	// Unit is the last word of the name if that is a unit.
	Unit  string
	Grade Grade
	// Formula describes how the value is computed, with names of families without their prefix.
	Formula string
	// Scope is the subject of its series, Labels are their labels without the identity, sorted.
	Scope  Scope
	Labels []string
	// Inputs lists sets of signals, any of which is enough. Without sets, no signal is needed.
	Inputs [][]engine.Signal
	// Engines lists the kinds of servers that can have it.
	Engines  []engine.Name
	Section  string // The section of the metric reference.
	InPromQL InPromQL
	// Group is what exposition.normalised lists to have it on the page.
	Group exposition.Group

	rule Rule
}

// family returns an entry of the catalogue. The name has no prefix, and ends in _total for a
// counter. The formula replaces the formula of the rule.
func family(name string, grade Grade, rule Rule, help string, formula ...string) Family {
	f := Family{
		Family: exposition.Family{Name: name, Type: model.MetricTypeGauge, Help: help},
		Grade:  grade,
		rule:   rule,
	}
	switch {
	case rule.typ != "":
		f.Type = rule.typ
	case strings.HasSuffix(name, "_total"):
		f.Type = model.MetricTypeCounter
	}
	switch {
	case len(formula) > 0:
		f.Formula = formula[0]
	case rule.formula != "":
		f.Formula = rule.formula
	case f.Type == model.MetricTypeGauge:
		f.Formula = "as exposed by the server"
	default:
		f.Formula = "as counted by the server"
	}
	return f
}

// counted returns a family that copies a signal which the server counts or which is exact anyway.
func counted(name string, signal engine.Signal, help string, formula ...string) Family {
	return family(name, Exact, copyOf(signal), help, formula...)
}

func sampled(name string, signal engine.Signal, help string) Family {
	return family(name, Sampled, copyOf(signal), help)
}

func histogram(name string, signal engine.Signal, help string, formula ...string) Family {
	return family(name, Exact, distribution(signal), help, formula...)
}

// Catalogue returns the derived families of this package in the order of the metric
// reference. The slice is shared and must not be modified.
//
//nolint:gochecknoglobals // constant data, built on first use.
var Catalogue = sync.OnceValue(func() (all []Family) {
	for _, part := range []struct {
		section  string
		families []Family
	}{
		{"Requests", slices.Concat(requestFamilies(), runningFamilies())},
		{"Queue and saturation", queueFamilies()},
		{"Tokens", tokenFamilies()},
		{"Latency", latencyFamilies()},
		{"Objectives", objectiveFamilies()},
		{"KV cache", cacheFamilies()},
		{"Executor", executorFamilies()},
		{versionSection, versionFamilies()},
		{modelSection, slices.Concat(modelFamilies(), modelLatencyFamilies())},
		{machineSection, machineFamilies()},
		{replicaSection, slices.Concat(replicaFamilies(), configFamilies(), poolFamilies())},
	} {
		for _, f := range part.families {
			all = append(all, f.complete(part.section))
		}
	}
	return all
})

// Sections whose families are in groups of their own.
const (
	versionSection = "Versions side by side"
	modelSection   = "Single models"
	machineSection = "GPU and host"
	replicaSection = "Replica"
)

// complete sets the fields that follow from the rule and the name.
func (f Family) complete(section string) Family {
	f.Name, f.Section, f.Unit = Prefix+f.Name, section, unitOf(f.Name)
	f.Scope, f.Labels = f.rule.scopeAndLabels()
	f.Inputs, f.Engines = f.rule.needs, f.rule.needs.kinds()
	f.InPromQL = InPromQL{f.rule.query, f.rule.why}
	f.Group = f.group(section)
	return f
}

// ReplicaFamily returns an exact entry that needs more than the page, for servers whose API
// answers one of the signals, or for all servers if there are no signals.
func ReplicaFamily(name string, scope Scope, names []string, help, formula string, answers ...engine.Signal) Family {
	return family(name, Exact, beyondPage(scope, anyOf(answers...), names...), help, formula).complete(replicaSection)
}

func unitOf(name string) string {
	name = strings.TrimSuffix(name, "_total")
	last := name[strings.LastIndexByte(name, '_')+1:]
	if slices.Contains([]string{"bytes", "joules", "ratio", "seconds", "tokens", "watts"}, last) {
		return last
	}
	return ""
}
