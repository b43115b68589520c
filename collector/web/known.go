package web

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// knownState is what is known of a server besides its scrapes: its page, its
// models, and what the exporter concludes from them.
type knownState struct {
	Generation         string         `json:"generation,omitempty"`
	GenerationReason   string         `json:"generation_reason,omitempty"`
	EngineBuildVersion string         `json:"engine_build_version,omitempty"`
	Silent             bool           `json:"silent,omitempty"`
	Models             []target.Model `json:"models,omitempty"`
	// Checks are marshalled under the name of each list.
	Checks []target.CheckList `json:"-"`
	Canary *target.Canary     `json:"canary,omitempty"`
}

// readCanary copies what the canary shows; nil where it is off.
func readCanary(c *target.Canary, clean scrubber) *target.Canary {
	if c == nil {
		return nil
	}
	shown := *c
	shown.Reason, shown.CancelReason, shown.At = clean.text(c.Reason), clean.text(c.CancelReason), moment(c.At)
	return &shown
}

// readKnown copies what is known without secrets, which a server's own words
// or an address in them might hold.
func readKnown(t *target.Target, s *target.Status, clean scrubber) knownState {
	k := knownState{
		Generation: s.Generation, GenerationReason: s.GenerationReason,
		EngineBuildVersion: s.EngineBuildVersion, Silent: t.Silent, Models: s.Models, Canary: readCanary(s.Canary, clean),
	}
	for _, list := range s.Checks {
		checks := slices.Clone(list.Checks)
		for i := range checks {
			checks[i].Reason = clean.text(checks[i].Reason)
		}
		k.Checks = append(k.Checks, target.CheckList{Name: list.Name, Checks: checks})
	}
	return k
}

// MarshalJSON puts each list of checks that is not empty under its name.
func (t targetState) MarshalJSON() ([]byte, error) {
	type plain targetState
	text, err := json.Marshal(plain(t))
	if err != nil {
		return nil, err
	}
	for _, list := range t.Checks {
		if len(list.Checks) == 0 {
			continue
		}
		checks, err := json.Marshal(list.Checks)
		if err != nil {
			return nil, err
		}
		text = fmt.Appendf(text[:len(text)-1], ",%q:%s}", list.Name, checks)
	}
	return text, nil
}

// NotMet are all checks that are not met, with their reasons.
func (k *knownState) NotMet() []target.Check {
	var all []target.Check
	for _, list := range k.Checks {
		for _, c := range list.Checks {
			if !c.OK {
				all = append(all, c)
			}
		}
	}
	return all
}

// Summary names the checks that are not met, by list.
func (k *knownState) Summary() []string {
	var clauses []string
	for _, list := range assess.Lists() {
		names := target.NotMet(target.ListOf(k.Checks, list.Name))
		if list.Clause != "" && len(names) > 0 {
			clauses = append(clauses, list.Clause+": "+strings.Join(names, ", "))
		}
	}
	return clauses
}
