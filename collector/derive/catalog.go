package derive

import (
	"slices"
	"sync"

	"github.com/prometheus/common/model"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

//go:generate go run ../../tools/metricsdoc ../../docs/metrics.md

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

// Family is one entry of the catalogue: everything that is said of a derived
// family anywhere, from HELP to the metric reference, is said here.
type Family struct {
	Name  string
	Type  model.MetricType
	Unit  string
	Help  string
	Grade Grade
	// Labels stand beside the identity of the replica; model_id among them
	// says that the family belongs to a model.
	Labels []string
	// Formula is how the value comes about, in the names of the servers.
	Formula string
	// Engines are the kinds of servers that can feed it.
	Engines []engine.Kind
	// Section is the part of the metric reference it stands in.
	Section string
	// rule makes the series of the family; nil for families that speak of the
	// replica beside its page, which the collector knows.
	rule Rule
}

// Rule makes the series of one family for one target. Compile is called when
// the target's page has a new shape; it adds a series for every value that
// the page can give.
type Rule interface {
	Compile(p *Plan, f *Family)
}

// Catalogue are all derived families, in the order of the metric reference.
// The slice is shared and only read.
func Catalogue() []Family { return catalogue() }

// catalogue is made once for all targets.
//
//nolint:gochecknoglobals // constant data that is made when it is first asked for.
var catalogue = sync.OnceValue(makeCatalogue)

// makeCatalogue puts the parts of the catalogue together.
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
		{"KV cache", slices.Concat(cacheFamilies(), reuseFamilies())},
		{"Executor", slices.Concat(executorFamilies(), speculativeFamilies())},
		{"Models of a Triton", slices.Concat(modelFamilies(), modelLatencyFamilies())},
		{"GPU and host", machineFamilies()},
		{"Iterations of a trtllm-serve", iterationFamilies()},
		{"Canary", canaryFamilies()},
		{"Replica", slices.Concat(replicaFamilies(), configFamilies(), stateFamilies())},
	} {
		for _, f := range part.families {
			f.Name, f.Section = Prefix+f.Name, part.section
			all = append(all, f)
		}
	}
	return all
}

// byModel are the labels of families of an entry model, with further ones.
func byModel(more ...string) []string {
	names := append(slices.Clone(more), "model_id")
	slices.Sort(names)
	return names
}

// byPart are the labels of families of one model of a server.
func byPart(more ...string) []string { return byModel(append(more, "model", "role", "version")...) }

// withTriton are the kinds of servers with Triton's page, withServe those with
// trtllm-serve's.
func withTriton() []engine.Kind { return []engine.Kind{engine.Triton, engine.TritonOpenAI} }
func withServe() []engine.Kind  { return []engine.Kind{engine.TRTLLMServe, engine.Dynamo} }

// withEngines are all kinds of servers, withOpenAI all but Triton's.
func withEngines() []engine.Kind { return append(withTriton(), withOpenAI()...) }

func withOpenAI() []engine.Kind {
	return []engine.Kind{engine.TRTLLMServe, engine.NIM, engine.Dynamo}
}

// withExecutor are the kinds that show TensorRT-LLM's executor.
func withExecutor() []engine.Kind { return append(withTriton(), withServe()...) }

const (
	counter = model.MetricTypeCounter
	gauge   = model.MetricTypeGauge
	histo   = model.MetricTypeHistogram
	summary = model.MetricTypeSummary
)
