package web

import (
	"math"
	"strconv"

	"github.com/trtllm-exporter/trtllm_exporter/collector/web/history"
)

// Objective is an objective of a pool, and how its replicas met it in the last ten minutes.
type Objective struct {
	Name string `json:"name"`
	// Goal is the ratio of good requests, Within how long they may take; 0 for any time.
	Goal   float64 `json:"goal_ratio"`
	Within float64 `json:"within_seconds,omitempty"`
	// Requests is how many were counted, Good the ratio of good ones, as alerts count it; nil if it
	// is unknown.
	Requests float64  `json:"requests"`
	Good     *float64 `json:"good_ratio,omitempty"`
	// Severity is ok for an objective that was met, look for one that was missed.
	Severity string `json:"severity"`
	Text     string `json:"text"`
	Runbook  string `json:"runbook,omitempty"`
}

func (s *Server) objectives(configured []Objective, all []*replica) []Objective {
	return mapped(configured, func(o Objective) Objective {
		counts, measured := poolCounts(all, o.Name)
		text := "not measured"
		o.Requests, o.Severity, o.Runbook = counts.Requests, unknown, s.runbook("LLMSLOBlind")
		if measured {
			text, o.Runbook = "no requests", ""
		}
		if o.Requests > 0 {
			o.Good, o.Severity, text = new(1-counts.Bad/o.Requests), healthy, ""
			if counts.BadAtMost > counts.Bad {
				text = "at most "
			}
			if *o.Good < o.Goal {
				o.Severity, o.Runbook = look, s.runbook("LLMSLOBurnFast")
			}
			// A ratio is rounded down: one that missed the goal must not look as if it met it.
			text += strconv.FormatFloat(math.Floor(*o.Good*1e4+1e-6)/100, 'f', -1, 64) + " %"
		}
		name := o.Name
		if o.Within > 0 {
			name += " ≤ " + strconv.FormatFloat(o.Within, 'f', -1, 64) + " s"
		}
		o.Text = name + ": " + text + ", goal " + strconv.FormatFloat(math.Round(o.Goal*1e6)/1e4, 'f', -1, 64) + " %"
		return o
	})
}

// poolCounts adds the counts of an objective; measured reports that a replica has them.
func poolCounts(all []*replica, name string) (sum history.Counts, measured bool) {
	for _, r := range tier(all, func(r *replica) bool { return r.Objectives[name] != history.Counts{} }) {
		c, ok := r.Objectives[name]
		sum.Requests, sum.Bad, sum.BadAtMost, measured = sum.Requests+c.Requests, sum.Bad+c.Bad, sum.BadAtMost+c.BadAtMost, measured || ok
	}
	return sum, measured
}
