package assess

import (
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// List is one kind of checks and everything that is said of how it is shown.
type List struct {
	// Name is the key in the JSON of /targets. Title and Question head a table of
	// the checks, Clause begins a list of those that are not met; the clause is
	// empty where such a list would say nothing.
	Name, Title, Question, Clause string
	// Label has the check's name in the series of the checks, which are 1 for one
	// that is met; empty where there are no series. Negated series are 1 for a
	// check that is not met.
	Label   string
	Negated bool

	of func(k *Known) []target.Check
}

// The names of the lists.
const (
	Capabilities = "capabilities"
	Determinism  = "determinism"
	Expected     = "expectations"
	Unanswered   = "unanswered"
	Objectives   = "objectives"
)

// Lists are the kinds of checks in the order in which they are shown, what
// matters most first.
func Lists() []List {
	return []List{
		{Name: Expected, Title: "EXPECTED", Question: "MET", Clause: "not as expected", Label: "fact", Negated: true, of: expected},
		{Name: Objectives, Title: "OBJECTIVE", Question: "MEASURED", Clause: "objective not measured", Label: "slo", of: func(k *Known) []target.Check { return k.Objectives }},
		{Name: Capabilities, Title: "CAPABILITY", Question: "EXPOSED", Clause: "not exposed", Label: "capability", of: capabilities},
		{Name: Determinism, Title: "DETERMINISM", Question: "HOLDS", Clause: "answers may differ", Label: "check", of: determinism},
		{Name: Unanswered, Title: "QUESTION", Question: "ANSWERED", of: unanswered},
	}
}

// capabilities are what can be known of the replica.
func capabilities(k *Known) []target.Check {
	return engine.Capabilities(k.Engine, &k.Knowledge)
}

// determinism are the conditions of equal answers to equal requests; none while
// the page fails.
func determinism(k *Known) []target.Check {
	if k.Page == nil {
		return nil
	}
	return engine.Determinism(k.Engine, k.Facts, k.Page, k.Declared)
}

// cureVersion is what a fleet can do whose stock image has no TensorRT-LLM that is
// known.
const cureVersion = "trtllm_version in the pool, or an image of your own with the metrics module of deploy/triton/llmapi, which says it; Dynamo and trtllm-serve are NVIDIA's other ways to serve TensorRT-LLM"

// unanswered are the questions that the server did not answer, and which TensorRT-LLM a
// Triton has whose release has no stock image with one.
func unanswered(k *Known) []target.Check {
	if k.Facts == nil {
		return nil
	}
	var all []target.Check
	if _, none := k.Engine.StockVersion(k.Facts, k.Page); none != "" && k.TRTLLMVersion == "unknown" {
		all = append(all, target.Failed("trtllm_version", none, cureVersion))
	}
	for _, p := range k.Facts.Problems {
		all = append(all, target.Check{Name: p.Question, Reason: p.Reason})
	}
	return all
}
