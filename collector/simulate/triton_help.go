package simulate

import "strings"

// HELP texts of Triton core (src/metrics.cc) and of the TRT-LLM backend's
// custom_metrics_reporter.cc, verbatim.
const (
	helpSuccess       = "Number of successful inference requests, all batch sizes"
	helpFailure       = "Number of failed inference requests, all batch sizes"
	helpCount         = "Number of inferences performed (does not include cached requests)"
	helpExecCount     = "Number of model executions performed (does not include cached requests)"
	helpPending       = "Instantaneous number of pending requests awaiting execution per-model."
	helpFirstResponse = "Duration from request to first response in milliseconds"
	helpRequest       = "TRT LLM request metrics"
	helpRuntimeMemory = "TRT LLM runtime memory metrics"
	helpKVCache       = "TRT LLM KV cache block metrics"
	helpDisagg        = "TRT LLM disaggregated serving metrics"
	helpInflight      = "TRT LLM inflight_batcher-specific metrics"
	helpGeneral       = "General TRT LLM metrics"
	helpTokenLen      = "TRT LLM response metrics"
)

// duration is one of the five times Triton books per request: the part of its
// names that differs, and its HELP.
type duration struct{ name, help string }

// durations lists them in Triton's order.
func durations() []duration {
	return []duration{
		{"request", "Cumulative inference request duration in microseconds (includes cached requests)"},
		{"queue", "Cumulative inference queuing duration in microseconds (includes cached requests)"},
		{"compute_input", "Cumulative compute input duration in microseconds (does not include cached requests)"},
		{"compute_infer", "Cumulative compute inference duration in microseconds (does not include cached requests)"},
		{"compute_output", "Cumulative inference compute output duration in microseconds (does not include cached requests)"},
	}
}

func (d duration) counter() string     { return "nv_inference_" + d.name + "_duration_us" }
func (d duration) counterHelp() string { return d.help }
func (d duration) summary() string     { return "nv_inference_" + d.name + "_summary_us" }

// summaryHelp says Cumulative of the compute times too, as Triton does.
func (d duration) summaryHelp() string {
	if strings.HasPrefix(d.name, "compute") {
		return d.help
	}
	return strings.Replace(d.help, "Cumulative", "Summary of", 1)
}
