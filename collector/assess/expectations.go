package assess

import (
	"cmp"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
	"github.com/trtllm-exporter/trtllm_exporter/relabel"
)

// Expectations is what the operator expects of every replica of a pool; empty fields
// are not checked.
type Expectations struct {
	EngineVersion string
	TRTLLMVersion string
	// Determinism requires that the same request gets the same answer.
	Determinism bool
}

// expected checks a replica against what its pool expects, as far as that is known.
func expected(f *Findings) []target.Check {
	if f.Topology == nil || f.Expect == nil {
		return nil
	}
	// What the server reports, on its page too, takes precedence over what was declared.
	facts := cmp.Or(f.Facts, &engine.Facts{})
	engineVersion, trtllmVersion := cmp.Or(facts.EngineVersion, f.EngineVersion), f.TRTLLMVersion
	if reported, source := facts.ResolveVersion(f.Engine, f.Page, ""); source != engine.SourceTable && source != engine.SourceUnknown {
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

// Unmet returns a clause that names the expectations which the replica does not meet, or
// an empty string.
func (f *Findings) Unmet() string {
	names := target.FailedNames(f.List(Expected))
	if len(names) == 0 {
		return ""
	}
	return "unexpected " + strings.Join(names, ", ")
}
