package alerts_test

import (
	"math"
	"slices"
	"strings"
)

// replicasOf are the names of the replicas of a fault in their order; the first
// stands for a pool of which nothing is said.
func replicasOf(fault []signal) []string {
	var names []string
	for _, s := range fault {
		if r := s.label("replica_id"); r != "" && !slices.Contains(names, r) {
			names = append(names, r)
		}
	}
	if names == nil {
		return []string{"r0"}
	}
	return names
}

// label is the value of a label of a series.
func (s signal) label(name string) string {
	_, rest, _ := strings.Cut(","+s.labels, ","+name+`="`)
	value, _, _ := strings.Cut(rest, `"`)
	return value
}

// of is the series of another replica.
func (s signal) of(replica string) signal {
	s.labels = strings.Replace(s.labels, `replica_id="`+s.label("replica_id")+`"`, `replica_id="`+replica+`"`, 1)
	return s
}

// values are those of a series of a replica.
func (c *change) values(s signal, at func(step int) phase, healthy bool) string {
	own := strings.HasPrefix(s.name, "trtllm_exporter_")
	var sum float64
	was, before := false, absent
	out := make([]string, 0, changed)
	for step := range changed {
		p := at(step)
		if healthy && p == fails {
			p = serves
		}
		there := p == serves || p == fails || p == drains
		v := s.good
		if p == fails {
			v = s.bad
		}
		asked := c.load.of(s, v, step)
		whole := asked != v
		v = asked
		if own && p != absent {
			there = true
			if !ofPage(p) {
				v = s.unreachable()
			}
		}
		if !own && before == restarts && p != restarts {
			sum = 0
		}
		switch {
		case v == gone:
			there = false
		case s.clock:
			if v > 0 {
				sum = float64(step) * 60 / minute
			}
			v, there = sum, there && sum > 0
		case s.counter:
			sum += v
			v = sum
			if whole {
				v = math.Floor(sum)
			}
		}
		out = append(out, sample(v, there, was))
		was, before = there, p
	}
	return strings.Join(out, " ")
}

// ofPage says whether a replica has a page in a phase.
func ofPage(p phase) bool { return p == serves || p == fails || p == drains }

// unreachable is what the exporter says of a replica that does not answer.
func (s signal) unreachable() float64 {
	switch s.name {
	case "trtllm_exporter_target_up":
		return 0
	case "trtllm_exporter_target_scrape_failures_total":
		return 3
	case "trtllm_exporter_target_last_success_timestamp_seconds":
		return 0
	}
	return s.good
}

// of is the value of a series with so much load: with little of it the requests
// of a counter are one a minute, and gauges show what they show for a quarter of
// the time; without any there are no means.
func (l load) of(s signal, v float64, step int) float64 {
	name := strings.TrimPrefix(s.name, "llm_server_")
	asks := slices.Contains([]string{"slo_requests_total", "slo_requests_bad_total", "requests_total", "requests_per_second"}, name)
	holds := slices.Contains([]string{"requests_running", "queue_depth", "requests_paused", "saturated", "requests_fill_ratio", "kv_cache_utilization_ratio"}, name)
	means := slices.Contains([]string{"request_duration_average_seconds", "request_error_ratio"}, name)
	switch {
	case l == much || !asks && !holds && !means && name != "generation_tokens_total":
		return v
	case l == none && means:
		return gone
	case l == none || holds && step%minute != 0:
		return 0
	case asks:
		return v / 300
	default:
		return v
	}
}

// states are those of a replica over a change; bad is what its fault makes of it.
func states(replica, bad string, at func(step int) phase, healthy bool) []signalValues {
	names := []string{"ready", "unknown", "draining", "down"}
	if !slices.Contains(names, bad) {
		names = append(names, bad)
	}
	var all []signalValues
	for _, name := range names {
		ever, was := name == "ready", false
		out := make([]string, 0, changed)
		for step := range changed {
			p := at(step)
			is := map[phase]string{loads: "unknown", serves: "ready", fails: bad, drains: "draining", restarts: "down"}[p]
			if healthy && p == fails {
				is = "ready"
			}
			there := is != "" && is != "gone"
			v := 0.0
			if is == name {
				ever, v = true, 1
			}
			out = append(out, sample(v, there, was))
			was = there
		}
		if ever {
			all = append(all, signalValues{steady("llm_server_state", `replica_id="`+replica+`",state="`+name+`"`, 1), strings.Join(out, " ")})
		}
	}
	return all
}

// signalValues is a series with its values.
type signalValues struct {
	signal

	values string
}

// ofPool are the series of a pool with a fault over a change.
func (c *change) ofPool(fault []signal, healthy bool) []signalValues {
	var all []signalValues
	for i, replica := range replicasOf(fault) {
		bad := "ready"
		for _, s := range fault {
			if s.name == "llm_server_state" && s.label("replica_id") == replica && s.bad != s.good && s.bad != 0 {
				bad = s.label("state")
				if s.bad == gone {
					bad = "gone"
				}
			}
		}
		for _, u := range c.become(i) {
			all = append(all, states(replica+u.suffix, bad, u.at, healthy)...)
			for _, s := range fault {
				if s.label("replica_id") == replica && s.name != "llm_server_state" {
					all = append(all, signalValues{s.of(replica + u.suffix), c.values(s, u.at, healthy)})
				}
			}
		}
	}
	for _, s := range fault {
		if s.label("replica_id") == "" {
			all = append(all, signalValues{s, c.values(s, c.whole, healthy)})
		}
	}
	return all
}

// whole is what is said of a pool as such: it is bad from when its first replica
// is.
func (c *change) whole(step int) phase {
	if step < c.from {
		return absent
	}
	for _, u := range c.become(0) {
		if u.at(step) == fails {
			return fails
		}
	}
	return serves
}
