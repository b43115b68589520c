package engine

import (
	"fmt"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// The checks of determinism. In-flight batching, several instances and unpinned GPUs change the
// order of floating point sums; versions change the kernels.
const (
	CheckOneInstance   = "one_instance"
	CheckPinnedGPUs    = "gpus_pinned"
	CheckNoBatching    = "no_dynamic_batching"
	CheckSingleRequest = "single_request"
	CheckVersions      = "versions_pinned"
)

// Pins are the versions of a replica that the operator declared or expects.
type Pins struct{ EngineVersion, TRTLLMVersion bool }

// Determinism checks whether equal requests get equal answers. What is not known is left out.
func Determinism(e Engine, f *Facts, p *Page, pins Pins) []target.Check {
	var open []string
	if !pins.EngineVersion {
		open = append(open, "engine_version")
	}
	if !pins.TRTLLMVersion && !e.data().noTRTLLM {
		open = append(open, "trtllm_version")
	}
	versions := target.Passed(CheckVersions, "its versions are declared or expected")
	if len(open) > 0 {
		versions = target.Failed(CheckVersions, "declare or expect "+strings.Join(open, " and "), "")
	}
	return append(e.Determinism(f, p), versions)
}

// admitsOne checks that one request is batched at a time; known is false without a limit.
func admitsOne(p *Page) (check target.Check, known bool) {
	limit, known := p.Value(RequestsLimit)
	if !known {
		return check, false
	}
	reason := fmt.Sprintf("the executor admits %.0f requests at once", limit)
	if limit != 1 {
		return target.Failed(CheckSingleRequest, reason+oneInFlight, ""), true
	}
	return target.Passed(CheckSingleRequest, reason), true
}

// oneInFlight is the remedy for requests that share a batch.
const oneInFlight = "; let clients keep one request in flight, or set the largest batch of the engine to 1"
