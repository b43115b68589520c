package assess

import (
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
	"github.com/trtllm-exporter/trtllm_exporter/relabel"
)

// List is a list of checks and how it is presented.
type List struct {
	// Name is the key in the JSON of /targets. Title and Question head a table of the
	// checks, Clause introduces a list of failed ones; it is empty if such a list would
	// mean nothing.
	Name, Title, Question, Clause string
	// Label holds the check's name in the series of the checks, which are 1 for one that
	// passes; empty if there are no series. Negated series are 1 for one that fails.
	Label   string
	Negated bool

	checks func(f *Findings) []target.Check
}

// The names of the lists.
const (
	Capabilities = "capabilities"
	Determinism  = "determinism"
	Expected     = "expectations"
	Unanswered   = "unanswered"
	Objectives   = "objectives"
)

// Lists returns the lists in the order in which they are presented.
func Lists() []List {
	return []List{
		{Name: Expected, Title: "EXPECTED", Question: "MET", Clause: "not as expected", Label: "fact", Negated: true, checks: expected},
		{Name: Objectives, Title: "OBJECTIVE", Question: "MEASURED", Clause: "objective not measured", Label: "slo", checks: func(f *Findings) []target.Check { return f.Objectives }},
		{Name: Capabilities, Title: "CAPABILITY", Question: "EXPOSED", Clause: "not exposed", Label: "capability", checks: func(f *Findings) []target.Check {
			return engine.Capabilities(f.Engine, &f.Knowledge)
		}},
		{Name: Determinism, Title: "DETERMINISM", Question: "HOLDS", Clause: "answers may differ", Label: "check", checks: determinism},
		{Name: Unanswered, Title: "QUESTION", Question: "ANSWERED", checks: unanswered},
	}
}

// determinism returns the conditions of equal answers, and none while the page fails.
func determinism(f *Findings) []target.Check {
	if f.Page == nil {
		return nil
	}
	return engine.Determinism(f.Engine, f.Facts, f.Page, f.Declared)
}

const cureVersion = "trtllm_version in the pool, or an image of your own with the metrics module of deploy/triton/llmapi, which reports it; Dynamo and trtllm-serve are NVIDIA's other ways to serve TensorRT-LLM"

// unanswered returns the questions that the server did not answer, and which
// TensorRT-LLM a Triton has whose release has no stock image with one.
func unanswered(f *Findings) []target.Check {
	if f.Facts == nil {
		return nil
	}
	var all []target.Check
	if _, none := f.Engine.StockVersion(f.Facts, f.Page); none != "" && f.TRTLLMVersion == relabel.Unknown {
		all = append(all, target.Failed("trtllm_version", none, cureVersion))
	}
	for _, p := range f.Facts.Problems {
		all = append(all, target.Check{Name: p.Question, Reason: p.Reason})
	}
	return all
}
