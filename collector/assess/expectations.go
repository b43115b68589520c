package assess

import (
	"cmp"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Expectations are what the operator expects of every replica of a pool; what
// is empty is not checked.
type Expectations struct {
	EngineVersion string
	TRTLLMVersion string
	// Determinism says that the same request has to give the same answer.
	Determinism bool
}

// unknown is what identity labels say of what is not known.
const unknown = "unknown"

// expected holds the replica against what its pool expects. What is not known
// yet is neither as expected nor not, and left out.
func expected(k *Known) []target.Check {
	if k.Topology == nil || k.Expect == nil {
		return nil
	}
	// What the server says, on its page too, counts more than what was declared of it.
	facts := cmp.Or(k.Facts, &engine.Facts{})
	engineVersion, trtllmVersion := cmp.Or(facts.EngineVersion, k.EngineVersion), k.TRTLLMVersion
	if said, source := facts.ResolveVersion(k.Engine, k.Page, ""); source != engine.SourceTable && source != engine.SourceUnknown {
		trtllmVersion = said
	}
	var all []target.Check
	for _, v := range []struct{ name, want, got string }{
		{"engine_version", k.Expect.EngineVersion, engineVersion},
		{"trtllm_version", k.Expect.TRTLLMVersion, trtllmVersion},
	} {
		if v.want == "" || v.got == "" || v.got == unknown {
			continue
		}
		c := target.Check{Name: v.name, OK: v.want == v.got, Reason: "it is " + v.got + ", as expected"}
		if !c.OK {
			c.Reason = "it is " + v.got + ", expected is " + v.want
		}
		all = append(all, c)
	}
	if checks := determinism(k); k.Expect.Determinism && len(checks) > 0 {
		c := target.Check{Name: "determinism", OK: true, Reason: "all checks of the determinism profile hold"}
		if broken := target.FailedNames(checks); len(broken) > 0 {
			c.OK, c.Reason = false, "these checks of the determinism profile do not hold: "+strings.Join(broken, ", ")
		}
		all = append(all, c)
	}
	return all
}

// Unmet says in one clause what the pool expects and the replica is not; empty
// where it is as expected.
func (k *Known) Unmet() string {
	names := target.FailedNames(k.List(Expected))
	if len(names) == 0 {
		return ""
	}
	return "it is not what its pool expects: " + strings.Join(names, ", ")
}
