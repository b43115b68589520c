package engine

import (
	"fmt"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// The checks of the determinism profile. In-flight batching, several instances
// and free GPUs change the order of floating point sums, versions the kernels.
const (
	CheckOneInstance   = "one_instance"
	CheckPinnedGPUs    = "gpus_pinned"
	CheckNoBatching    = "no_dynamic_batching"
	CheckSingleRequest = "single_request"
	CheckVersions      = "versions_pinned"
)

// Pins are the versions that the operator declared or expects of a replica.
type Pins struct{ EngineVersion, TRTLLMVersion bool }

// Determinism checks whether a replica gives the same answer to the same request.
// Checks of which nothing is known are left out.
func Determinism(e Engine, f *Facts, p *Page, pins Pins) []target.Check {
	pins.TRTLLMVersion = pins.TRTLLMVersion || e.data().foreign
	return append(e.Determinism(f, p), pins.check())
}

// check says whether the versions cannot change unseen.
func (p Pins) check() target.Check {
	var open []string
	if !p.EngineVersion {
		open = append(open, "engine_version")
	}
	if !p.TRTLLMVersion {
		open = append(open, "trtllm_version")
	}
	if len(open) > 0 {
		return target.Failed(CheckVersions, "declare or expect "+strings.Join(open, " and "), "")
	}
	return target.Passed(CheckVersions, "its versions are declared or expected")
}

// admitsOne checks that the executor takes one request into a batch; false while
// its limit is not known.
func admitsOne(p *Page) (check target.Check, known bool) {
	limit, known := p.RequestsLimit()
	if !known {
		return check, false
	}
	reason := fmt.Sprintf("the executor admits %.0f requests at once", limit)
	if limit != 1 {
		return target.Failed(CheckSingleRequest, reason+oneInFlight, ""), true
	}
	return target.Passed(CheckSingleRequest, reason), true
}

// oneInFlight is the way out of requests that share a batch.
const oneInFlight = "; let clients keep one request in flight, or set the largest batch of the engine to 1"
