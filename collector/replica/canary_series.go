package replica

import (
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/canary"
	"github.com/trtllm-exporter/trtllm_exporter/relabel"
)

// canarySeries are what the canary has shown. Values of a request that failed,
// and of one that was before the replica was left alone, are left out.
func (r *Replica) canarySeries(own labels.Labels) {
	c, a := &r.canary, &r.shown.about
	if c.order == nil {
		return
	}
	a.add("canary_active", own, flag(c.order.hold == ""))
	if c.last == nil {
		return
	}
	id := labels.NewBuilder(own).Set(relabel.LabelModelID, c.of.modelID)
	set := id.Labels()
	for _, result := range canary.Results() {
		if n := c.last.Counts[result]; n > 0 {
			a.add("canary_requests_total", id.Set("result", string(result)).Labels(), float64(n))
		}
	}
	last := &c.last.Last
	a.add("canary_age_seconds", set, time.Since(last.At).Seconds())
	a.add("canary_output_changes_total", set, float64(c.last.Changes))
	if c.order.hold != "" {
		return
	}
	a.add("canary_success", set, flag(last.Result == canary.OK))
	if last.Result != canary.OK {
		return
	}
	a.add("canary_time_to_first_token_seconds", set, last.FirstToken.Seconds())
	a.add("canary_duration_seconds", set, last.Duration.Seconds())
	a.add("canary_tail_seconds", set, last.Tail.Seconds())
	a.add("canary_tokens", set, float64(last.Tokens))
	if last.Frames > 1 {
		a.add("canary_inter_token_latency_max_seconds", set, last.LongestGap.Seconds())
	}
	if c.last.Answers > 1 {
		a.add("canary_deterministic", set, flag(c.last.Alike))
	}
}
