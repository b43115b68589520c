package collector

import (
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/canary"
	"github.com/trtllm-exporter/trtllm_exporter/relabel"
)

// sayCanary says what the canary has shown. Values of a request that failed, and
// of one that was before the replica was left alone, are not said.
func (r *replica) sayCanary(id *labels.Builder) {
	order, shown := r.canary.order.Load(), r.canary.shown.Load()
	if order == nil {
		return
	}
	r.about.say("canary_active", id.Labels(), flag(order.hold == ""))
	if shown == nil {
		return
	}
	id.Set(relabel.LabelModelID, shown.order.modelID)
	defer id.Del(relabel.LabelModelID)
	for _, result := range canary.Results() {
		if n := shown.Counts[result]; n > 0 {
			r.about.say("canary_requests_total", id.Set("result", string(result)).Labels(), float64(n))
		}
	}
	id.Del("result")
	set := id.Labels()
	last := &shown.Last
	r.about.say("canary_age_seconds", set, time.Since(last.At).Seconds())
	r.about.say("canary_output_changes_total", set, float64(shown.Changes))
	if order.hold != "" {
		return
	}
	r.about.say("canary_success", set, flag(last.Result == canary.OK))
	if last.Result != canary.OK {
		return
	}
	r.about.say("canary_time_to_first_token_seconds", set, last.FirstToken.Seconds())
	r.about.say("canary_duration_seconds", set, last.Duration.Seconds())
	r.about.say("canary_tail_seconds", set, last.Tail.Seconds())
	r.about.say("canary_tokens", set, float64(last.Tokens))
	if last.Frames > 1 {
		r.about.say("canary_inter_token_latency_max_seconds", set, last.LongestGap.Seconds())
	}
	if shown.Answers > 1 {
		r.about.say("canary_deterministic", set, flag(shown.Alike))
	}
}

// canaryAnswer is the last answer of one replica, for the comparison inside its
// pool.
type canaryAnswer struct{ group, output string }

// answer is the replica's; false unless its last request was well and it is
// asked now.
func (c *canaryFlight) answer() (canaryAnswer, bool) {
	order, shown := c.order.Load(), c.shown.Load()
	if order == nil || shown == nil || order.hold != "" || shown.order.identity != order.identity || shown.Last.Result != canary.OK {
		return canaryAnswer{}, false
	}
	return canaryAnswer{order.group, shown.Last.Output}, true
}

// distinct is the largest number of distinct outputs among replicas of one
// group; false while no two can be compared.
func distinct(answers []canaryAnswer) (int, bool) {
	outputs := make(map[string]map[string]bool)
	replicas := make(map[string]int)
	for _, a := range answers {
		if outputs[a.group] == nil {
			outputs[a.group] = make(map[string]bool)
		}
		outputs[a.group][a.output] = true
		replicas[a.group]++
	}
	most, compared := 0, false
	for group, n := range replicas {
		if n > 1 {
			most, compared = max(most, len(outputs[group])), true
		}
	}
	return most, compared
}
