package canary

import "time"

// Series gives every series of the canary to add: the family without the common
// prefix, the public id of the model and the result, empty for none. Values of a
// request that failed, and of one that was before the replica was left alone,
// are left out.
func (r *Record) Series(add func(family, modelID, result string, v float64)) {
	if r.order == nil {
		return
	}
	add("canary_active", "", "", flag(r.order.Hold == ""))
	if r.last == nil {
		return
	}
	of, last := r.of.ModelID, &r.last.Last
	for _, result := range Results() {
		if n := r.last.Counts[result]; n > 0 {
			add("canary_requests_total", of, string(result), float64(n))
		}
	}
	add("canary_age_seconds", of, "", time.Since(last.At).Seconds())
	add("canary_output_changes_total", of, "", float64(r.last.Changes))
	r.cancel.series(of, r.order.Hold == "", add)
	if r.order.Hold != "" {
		return
	}
	add("canary_success", of, "", flag(last.Result == OK))
	if last.Result != OK {
		return
	}
	add("canary_time_to_first_token_seconds", of, "", last.FirstToken.Seconds())
	add("canary_duration_seconds", of, "", last.Duration.Seconds())
	add("canary_tail_seconds", of, "", last.Tail.Seconds())
	add("canary_tokens", of, "", float64(last.Tokens))
	if last.EngineFirstToken > 0 {
		add("canary_engine_queue_seconds", of, "", last.EngineQueue.Seconds())
		add("canary_engine_time_to_first_token_seconds", of, "", last.EngineFirstToken.Seconds())
	}
	if last.Frames > 1 {
		add("canary_inter_token_latency_max_seconds", of, "", last.LongestGap.Seconds())
	}
	if r.last.Answers > 1 {
		add("canary_deterministic", of, "", flag(r.last.Alike))
	}
}

// flag is 1 for true.
func flag(on bool) float64 {
	if on {
		return 1
	}
	return 0
}

// series gives those of the cancel checks; what the last of them showed is left
// out while the replica is left alone.
func (c *cancels) series(of string, active bool, add func(family, modelID, result string, v float64)) {
	for _, result := range CancelResults() {
		if n := c.counts[result]; n > 0 {
			add("canary_cancel_checks_total", of, string(result), float64(n))
		}
	}
	if !active || c.clear == "" {
		return
	}
	add("canary_cancel_success", of, "", flag(c.clear == Freed))
	if c.clear == Freed {
		add("canary_cancel_seconds", of, "", c.took.Seconds())
	}
}
