package simulate

import "time"

// newVLLM returns the histograms of vLLM's engine in Triton's vLLM backend (README of
// vllm_backend) and, without the prefix, in NIM 1.x. They report times between tokens
// under the name of the mean time per token.
func newVLLM() booked {
	return booked{requestTimings: requestTimings{
		ttft: newHistogram(0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10),
		itl:  newHistogram(0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5),
		e2e:  newHistogram(1, 2.5, 5, 10, 15, 20, 30, 40, 50, 60),
	}}
}

func seconds(from, to time.Duration) float64 { return (to - from).Seconds() }

// born returns when the process started, in seconds since the Unix epoch.
func (w *world) born() float64 { return float64(w.start.Add(w.up).UnixMilli()) / 1e3 }

// writePython writes prometheus_client's families about a Python 3 process.
func (w *world) writePython(p *page, minor, patch string) {
	p.one("gauge", "python_info", "Python platform information",
		pairs("implementation", "CPython", "major", "3", "minor", minor, "patchlevel", patch, "version", "3."+minor+"."+patch), 1)
	p.one("gauge", "process_start_time_seconds", "Start time of the process since unix epoch in seconds.", "", w.born())
}

func (b *booked) writeTokens(p *page, prefix, labels string) {
	p.one("counter", prefix+"prompt_tokens_total", "Number of prefill tokens processed.", labels, float64(b.context))
	p.one("counter", prefix+"generation_tokens_total", "Number of generation tokens processed.", labels, float64(b.generated))
}

func (b *booked) writeTimes(p *page, prefix, labels string) {
	p.histogram(prefix+"time_to_first_token_seconds", "Histogram of time to first token in seconds.", labels, b.ttft)
	p.histogram(prefix+"time_per_output_token_seconds", "Histogram of time per output token in seconds.", labels, b.itl)
	p.histogram(prefix+"e2e_request_latency_seconds", "Histogram of end to end request latency in seconds.", labels, b.e2e)
}
