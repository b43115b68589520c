package simulate

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

// duration is one of the five times Triton books per request.
type duration struct{ counter, counterHelp, summary, summaryHelp string }

// durations lists them in Triton's order.
func durations() (all []duration) {
	for _, d := range [][2]string{
		{"request", "inference request duration in microseconds (includes cached requests)"},
		{"queue", "inference queuing duration in microseconds (includes cached requests)"},
		{"compute_input", "compute input duration in microseconds (does not include cached requests)"},
		{"compute_infer", "compute inference duration in microseconds (does not include cached requests)"},
		{"compute_output", "inference compute output duration in microseconds (does not include cached requests)"},
	} {
		of := "Cumulative " // Triton says so of three summaries too.
		if len(all) < 2 {
			of = "Summary of "
		}
		name := "nv_inference_" + d[0]
		all = append(all, duration{name + "_duration_us", "Cumulative " + d[1], name + "_summary_us", of + d[1]})
	}
	return all
}
