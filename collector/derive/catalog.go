package derive

import (
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/common/model"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

//go:generate go run ../../tools/metricsdoc ../../docs/metrics.md ../../docs/servers.md

// Prefix begins the name of every derived family.
const Prefix = "llm_server_"

// Grade says how far a family can be trusted.
type Grade string

// The grades of accuracy.
const (
	// Exact values are what the server counted.
	Exact Grade = "A"
	// Sampled values are right at the moment the server sampled them.
	Sampled Grade = "B"
	// Rough values are estimates; their HELP says of what kind.
	Rough Grade = "C"
)

// Scope says what the series of a family are of.
type Scope string

// The scopes. A family of an entry model has label model_id, one of single
// models of a server has model as well.
const (
	OfReplica Scope = "replica"
	OfPool    Scope = "pool"
	OfEntry   Scope = "entry model"
	OfModel   Scope = "model"
)

// Family is one entry of the catalogue: everything that is said of a derived
// family anywhere, from HELP to the metric reference, is said here. What
// follows from its rule and its name is computed and never typed in.
type Family struct {
	Name  string
	Type  model.MetricType
	Grade Grade
	Help  string
	// Formula is how the value is computed, in the names of the servers.
	Formula string
	// Unit is the last word of the name where that is a unit.
	Unit string
	// Scope is what its series are of, Labels those besides the identity of the
	// replica or pool, sorted.
	Scope  Scope
	Labels []string
	// Engines are the kinds of servers that can feed it.
	Engines []engine.Kind
	// Section is the part of the metric reference it is in.
	Section string
	// InPromQL says whether a query gives the same; with
	// [Options.NoWindowGauges] families are not shown of which one does.
	InPromQL InPromQL

	rule Rule
}

// counter is an entry of the catalogue, and so are gauge, histogram and
// summary: the name without prefix, the grade, the rule, HELP and the formula.
func counter(name string, grade Grade, rule Rule, help, formula string) Family {
	return Family{Name: name, Type: model.MetricTypeCounter, Grade: grade, rule: rule, Help: help, Formula: formula}
}

func gauge(name string, grade Grade, rule Rule, help, formula string) Family {
	return Family{Name: name, Type: model.MetricTypeGauge, Grade: grade, rule: rule, Help: help, Formula: formula}
}

func histogram(name string, grade Grade, rule Rule, help, formula string) Family {
	return Family{Name: name, Type: model.MetricTypeHistogram, Grade: grade, rule: rule, Help: help, Formula: formula}
}

func summary(name string, grade Grade, rule Rule, help, formula string) Family {
	return Family{Name: name, Type: model.MetricTypeSummary, Grade: grade, rule: rule, Help: help, Formula: formula}
}

// The formulas of families that pass on what the server shows.
const (
	counted = "as counted by the server"
	exposed = "as exposed by the server"
)

// Catalogue are the derived families of this package, in the order of the metric
// reference.
// The slice is shared and only read.
func Catalogue() []Family { return catalogue() }

// catalogue is made once for all targets.
//
//nolint:gochecknoglobals // constant data that is made when it is first asked for.
var catalogue = sync.OnceValue(makeCatalogue)

// makeCatalogue puts the parts of the catalogue together and computes what
// follows from the rules.
func makeCatalogue() []Family {
	var all []Family
	for _, part := range []struct {
		section  string
		families []Family
	}{
		{"Requests", slices.Concat(requestFamilies(), runningFamilies())},
		{"Queue and saturation", queueFamilies()},
		{"Tokens", slices.Concat(tokenFamilies(), tokenRateFamilies())},
		{"Latency", slices.Concat(latencyFamilies(), latencyGauges())},
		{"Objectives", objectiveFamilies()},
		{"KV cache", slices.Concat(cacheFamilies(), reuseFamilies())},
		{"Executor", slices.Concat(executorFamilies(), speculativeFamilies())},
		{"Versions side by side", versionFamilies()},
		{"Models of a Triton", slices.Concat(modelFamilies(), modelLatencyFamilies())},
		{"GPU and host", machineFamilies()},
		{replicaSection, slices.Concat(replicaFamilies(), configFamilies(), poolFamilies())},
	} {
		for _, f := range part.families {
			all = append(all, f.whole(part.section))
		}
	}
	return all
}

// replicaSection is the part of the metric reference about replicas.
const replicaSection = "Replica"

// whole adds to an entry what follows from its rule and its name.
func (f Family) whole(section string) Family {
	f.Name, f.Section, f.Unit = Prefix+f.Name, section, unitOf(f.Name)
	f.Scope, f.Labels = f.rule.shape()
	f.Engines = f.rule.inputs.feeders()
	f.InPromQL = InPromQL{f.rule.query, f.rule.why}
	return f
}

// AboutReplica is an entry for what is known of a replica from more than its page,
// of servers of which one of the answers is known; of all where none is needed.
// The name goes without prefix; it is a counter if the name says so, and exact.
func AboutReplica(name string, scope Scope, names []string, help, formula string, answers ...engine.Signal) Family {
	f := gauge(name, Exact, beyondPage(scope, anyOf(answers...), names...), help, formula).whole(replicaSection)
	if strings.HasSuffix(name, "_total") {
		f.Type = model.MetricTypeCounter
	}
	return f
}

// unitOf is the unit in which a family's name says it is, empty for none.
func unitOf(name string) string {
	name = strings.TrimSuffix(name, "_total")
	last := name[strings.LastIndexByte(name, '_')+1:]
	if slices.Contains([]string{"bytes", "joules", "ratio", "seconds", "tokens", "watts"}, last) {
		return last
	}
	return ""
}
