package simulate

import (
	"fmt"
	"strconv"
	"strings"
)

// tritonVersion is the minor number of Triton 2.N, one per month: 23.01 = 2.30,
// 23.12 = 2.41, 24.12 = 2.53, 25.12 = 2.64.
type tritonVersion int

// parseTritonVersion parses versions like "2.64.0", "2.59.1" or "2.73.0dev".
func parseTritonVersion(s string) (tritonVersion, error) {
	parts := strings.SplitN(s, ".", 3)
	if len(parts) == 3 && parts[0] == "2" {
		if minor, err := strconv.Atoi(parts[1]); err == nil {
			return tritonVersion(minor), nil
		}
	}
	return 0, fmt.Errorf("engine_version: %q is not a Triton version such as 2.64.0", s)
}

// The releases that changed the page, according to the branches of core's src/metrics.cc
// and the TRT-LLM backend's custom_metrics_reporter.cc. Older ones have the page of
// 23.04.
const (
	triton2309 tritonVersion = 38 // Pending gauge.
	triton2311 tritonVersion = 40 // The last with names in *_statistics and base counters of zero.
	triton2401 tritonVersion = 42 // Pinned memory pool.
	triton2402 tritonVersion = 43 // Category terminated_requests.
	triton2404 tritonVersion = 45 // Category paused_requests in its place.
	triton2407 tritonVersion = 48 // Failures have a reason; the Python backend has families.
	triton2408 tritonVersion = 49 // The timestamp is in microseconds.
	triton2410 tritonVersion = 51 // Category reused.
	triton2411 tritonVersion = 52 // Load time, first response, disaggregated serving.
	triton2412 tritonVersion = 53 // Token length histograms.
	triton2504 tritonVersion = 57 // Categories waiting and fraction.
	triton2601 tritonVersion = 65 // First response for all models.
)
