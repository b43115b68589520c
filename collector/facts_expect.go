package collector

import (
	"cmp"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
	"github.com/trtllm-exporter/trtllm_exporter/relabel"
)

// The facts that an operator may expect of a replica.
const (
	expectEngineVersion = "engine_version"
	expectTRTLLMVersion = "trtllm_version"
	expectDeterminism   = "determinism"
)

// expectations holds the replica against what its pool expects. What is not
// known yet is neither as expected nor not, and left out.
func (r *replica) expectations(l *lore) []target.Check {
	e := &r.pool.cfg.Expect
	var all []target.Check
	version := func(name, want, got string) {
		if want == "" || got == "" || got == relabel.Unknown {
			return
		}
		v := target.Check{Name: name, OK: want == got, Reason: "it is " + got + ", as expected"}
		if !v.OK {
			v.Reason = "it is " + got + ", expected is " + want
		}
		all = append(all, v)
	}
	if l.known == nil {
		return nil
	}
	engineVersion, trtllmVersion := l.known.engineVersion, l.known.trtllmVersion
	if l.facts != nil {
		// What the server says counts more than what was declared of it.
		engineVersion = cmp.Or(l.facts.EngineVersion, engineVersion)
		trtllmVersion = cmp.Or(l.facts.TRTLLMVersion, trtllmVersion)
	}
	version(expectEngineVersion, e.EngineVersion, engineVersion)
	version(expectTRTLLMVersion, e.TRTLLMVersion, trtllmVersion)
	if e.Determinism && len(l.checks) > 0 {
		v := target.Check{Name: expectDeterminism, OK: true, Reason: "all checks of the determinism profile hold"}
		var broken []string
		for _, c := range l.checks {
			if !c.OK {
				broken = append(broken, c.Name)
			}
		}
		if len(broken) > 0 {
			v.OK, v.Reason = false, "these checks of the determinism profile do not hold: "+strings.Join(broken, ", ")
		}
		all = append(all, v)
	}
	return all
}

// pageMissing says whether the server has no page: it answered 404.
func pageMissing(err error) bool {
	failure, ok := errors.AsType[*scrape.Error](err)
	return ok && failure.Reason == scrape.ReasonHTTPStatus && failure.Class == strconv.Itoa(http.StatusNotFound)
}

// pageHint says what a page that fails may come from.
func (r *replica) pageHint(failed error) string {
	if pageMissing(failed) {
		return r.engine.MissingPageHint()
	}
	return ""
}

// disagreement says that the page is of another kind of server than was
// configured; empty when it is not.
func (r *replica) disagreement() string {
	if r.looks == engine.Unknown || r.kind == engine.Unknown || engine.Alike(r.kind, r.looks) {
		return ""
	}
	return "; the page looks like that of " + string(r.looks) + ", engine says " + string(r.kind)
}

// cmpStrings compares pairs of strings, the first pair that differs decides.
func cmpStrings(pairs ...string) int {
	for i := 0; i+1 < len(pairs); i += 2 {
		if c := strings.Compare(pairs[i], pairs[i+1]); c != 0 {
			return c
		}
	}
	return 0
}
