package assess

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
	"github.com/trtllm-exporter/trtllm_exporter/relabel"
)

// Basis is what the checks of a replica are based on. Everything that it points to is immutable.
type Basis struct {
	// Engine is the kind of server, Topology holds the models under their public ids.
	Engine   *engine.Kind
	Topology *engine.Topology
	engine.Knowledge
	// EngineVersion and TRTLLMVersion are the versions in the labels of the replica's series.
	EngineVersion, TRTLLMVersion string
	// Mismatch describes how the page contradicts the configured kind of server, empty if it does not.
	Mismatch string
	// Objectives lists which objectives of the pool can be measured at the replica.
	Objectives []target.Check
	Expect     *Expectations
	// Declared holds the versions that the operator declared for the target.
	Declared engine.Pins
}

// Findings are the conclusions from a basis. They are immutable.
type Findings struct {
	Basis

	Generation, GenerationReason string
	// Unserved explains why a ready server serves none of its models, empty if it does.
	// Deliberate is true if somebody brought that about.
	Unserved   string
	Deliberate bool
	Models     []target.Model
	// LeftOut counts the models beyond the limit of models by state, empty if it is unknown.
	LeftOut map[string]int
	// kept are the versions of models within the limit.
	kept []engine.ModelState
	// Checks are in the order of [Lists].
	Checks []target.CheckList
}

// Examine draws the findings from a basis.
func Examine(b *Basis) *Findings {
	f := &Findings{Basis: *b}
	if b.Page != nil {
		generation, reason := b.Engine.Generation(b.Page, b.Facts)
		f.Generation, f.GenerationReason = string(generation), reason
	}
	f.Unserved = f.Engine.Unserved(f.Page, f.Facts, f.Health.Models)
	f.Deliberate = f.Engine.Deliberate(f.Page, f.Facts, f.Health.Models)
	kept, leftOut := f.rows()
	f.kept, f.Models, f.LeftOut = kept, describe(&f.Basis, kept), count(&f.Basis, leftOut)
	for _, list := range Lists() {
		f.Checks = append(f.Checks, target.CheckList{Name: list.Name, Checks: list.checks(f)})
	}
	return f
}

// RestsOn reports whether b would lead to the same findings.
func (f *Findings) RestsOn(b *Basis) bool {
	return f != nil && f.Topology == b.Topology && f.EngineVersion == b.EngineVersion &&
		f.TRTLLMVersion == b.TRTLLMVersion &&
		f.Engine == b.Engine && f.Facts == b.Facts && f.Page == b.Page && f.MissingPage == b.MissingPage &&
		f.Health.API == b.Health.API && f.Health.Detail == b.Health.Detail &&
		slices.Equal(f.Health.Models, b.Health.Models) &&
		maps.Equal(f.Health.LeftOut, b.Health.LeftOut) && slices.Equal(f.Objectives, b.Objectives)
}

// List returns the checks of the named list.
func (f *Findings) List(name string) []target.Check {
	if f == nil {
		return nil
	}
	return target.FindChecks(f.Checks, name)
}

// Unobservable explains why failing requests would go unnoticed, empty if they would not.
func (f *Findings) Unobservable() string {
	_, unasked := f.Engine.Stream(cmp.Or(f.Facts, &engine.Facts{}).EngineVersion, f.Page)
	if f.Canary && unasked == "" {
		return ""
	}
	for _, c := range f.List(Capabilities) {
		if c.Name == engine.CanOutcomes && !c.OK {
			return c.Reason
		}
	}
	return ""
}

// BuildVersion returns the version that built the TensorRT engine, empty if unknown.
func (f *Findings) BuildVersion() string { return cmp.Or(f.Facts, &engine.Facts{}).BuildVersion }

// List is a list of checks with its presentation.
type List struct {
	// Name is the key in the JSON of /targets. Title and Question are the headings of a table of
	// checks. Clause introduces the failed checks, if they mean anything.
	Name, Title, Question, Clause string
	// Label is the label with the name of the check in the series of the checks, empty if there
	// are no series. The series of a check that passes is 1, or 0 if Negated.
	Label   string
	Negated bool

	checks func(f *Findings) []target.Check
}

// Names of the lists.
const (
	Capabilities = "capabilities"
	Determinism  = "determinism"
	Expected     = "expectations"
	Unanswered   = "unanswered"
	Objectives   = "objectives"
)

// Lists returns the lists in order of presentation.
func Lists() []List {
	return []List{
		{
			Name:     Expected,
			Title:    "EXPECTED",
			Question: "MET",
			Clause:   "not as expected",
			Label:    "fact",
			Negated:  true,
			checks:   expected,
		},
		{
			Name:     Objectives,
			Title:    "OBJECTIVE",
			Question: "MEASURED",
			Clause:   "objective not measured",
			Label:    "slo",
			checks:   func(f *Findings) []target.Check { return f.Objectives },
		},
		{
			Name:     Capabilities,
			Title:    "CAPABILITY",
			Question: "EXPOSED",
			Clause:   "not exposed",
			Label:    "capability",
			checks:   capabilities,
		},
		{
			Name:     Determinism,
			Title:    "DETERMINISM",
			Question: "HOLDS",
			Clause:   "answers may differ",
			Label:    "check",
			checks:   determinism,
		},
		{Name: Unanswered, Title: "QUESTION", Question: "ANSWERED", checks: unanswered},
	}
}

// cureEngine is the way out if a page is of another kind than the configured one.
const cureEngine = "correct engine or leave it out"

// capabilities judges what is known of the replica. What a page of another kind lacks no flag of the configured
// one brings.
func capabilities(f *Findings) []target.Check {
	all := engine.Capabilities(f.Engine, &f.Knowledge)
	for i := range all {
		if f.Mismatch != "" && !all[i].OK {
			all[i].Reason, all[i].Cure, all[i].Elsewhere = f.Mismatch, cureEngine, false
		}
	}
	return all
}

// determinism returns the conditions for equal answers, nil while the page fails.
func determinism(f *Findings) []target.Check {
	if f.Page == nil {
		return nil
	}
	return engine.Determinism(f.Engine, f.Facts, f.Page, f.Declared)
}

const cureVersion = "trtllm_version in the pool, or an image of your own with the metrics module of " +
	"deploy/triton/llmapi, which reports it; Dynamo and trtllm-serve are NVIDIA's other ways to serve TensorRT-LLM"

// unanswered returns the requests that the server did not answer.
func unanswered(f *Findings) []target.Check {
	if f.Facts == nil {
		return nil
	}
	var all []target.Check
	if _, reason := f.Engine.StockVersion(f.Facts, f.Page); reason != "" && f.TRTLLMVersion == relabel.Unknown {
		all = append(all, target.Failed("trtllm_version", reason, cureVersion))
	}
	for _, p := range f.Facts.Problems {
		all = append(all, target.Check{Name: p.Question, Reason: p.Reason})
	}
	return all
}

// Expectations is what the operator expects of a pool's replicas. Empty fields are not checked.
type Expectations struct {
	EngineVersion string
	TRTLLMVersion string
	// Determinism requires identical answers to identical requests.
	Determinism bool
}

// expected compares a replica with the expectations of its pool, as far as known.
func expected(f *Findings) []target.Check {
	if f.Topology == nil || f.Expect == nil {
		return nil
	}
	// What the server reports in its API or on its page takes precedence over what was declared.
	facts := cmp.Or(f.Facts, &engine.Facts{})
	engineVersion, trtllmVersion := cmp.Or(facts.EngineVersion, f.EngineVersion), f.TRTLLMVersion
	reported, source := facts.ResolveVersion(f.Engine, f.Page, "")
	if source != engine.SourceTable && source != engine.SourceUnknown {
		trtllmVersion = reported
	}
	var all []target.Check
	for _, v := range []struct{ name, want, got string }{
		{"engine_version", f.Expect.EngineVersion, engineVersion},
		{"trtllm_version", f.Expect.TRTLLMVersion, trtllmVersion},
	} {
		if v.want == "" || v.got == "" || v.got == relabel.Unknown {
			continue
		}
		c := target.Check{Name: v.name, OK: v.want == v.got, Reason: v.got + ", as the pool expects"}
		if !c.OK {
			c.Reason = v.got + ", pool expects " + v.want
		}
		all = append(all, c)
	}
	if checks := determinism(f); f.Expect.Determinism && len(checks) > 0 {
		c := target.Check{Name: "determinism", OK: true, Reason: "all checks of the determinism profile hold"}
		if failed := target.FailedNames(checks); len(failed) > 0 {
			c.OK, c.Reason = false, "failed checks of the determinism profile: "+strings.Join(failed, ", ")
		}
		all = append(all, c)
	}
	return all
}

// Unmet returns a clause that lists the expectations that are not met, empty if all are.
func (f *Findings) Unmet() string {
	names := target.FailedNames(f.List(Expected))
	if len(names) == 0 {
		return ""
	}
	return "unexpected " + strings.Join(names, ", ")
}
