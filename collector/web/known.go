package web

import (
	"strings"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// knownState is what is known of a server beside its scrapes: its page, its
// models, and what the exporter makes of them.
type knownState struct {
	Generation         string           `json:"generation,omitempty"`
	GenerationReason   string           `json:"generation_reason,omitempty"`
	EngineBuildVersion string           `json:"engine_build_version,omitempty"`
	Silent             bool             `json:"silent,omitempty"`
	Models             []target.Model   `json:"models,omitempty"`
	Capabilities       []target.Check `json:"capabilities,omitempty"`
	Determinism        []target.Check `json:"determinism,omitempty"`
	Expectations       []target.Check `json:"expectations,omitempty"`
	Unanswered         []target.Check `json:"unanswered,omitempty"`
	Canary             *canaryState     `json:"canary,omitempty"`
}

// canaryState is what active probes show of a replica.
type canaryState struct {
	Model string `json:"model,omitempty"`
	// Hold says why nothing is asked now.
	Hold   string     `json:"hold,omitempty"`
	Result string     `json:"result,omitempty"`
	Reason string     `json:"reason,omitempty"`
	At     *time.Time `json:"at,omitempty"`
}

// readCanary copies what probes show; nil where they are off.
func readCanary(c *target.Canary, clean scrubber) *canaryState {
	if c == nil {
		return nil
	}
	return &canaryState{c.Model, c.Hold, c.Result, clean.text(c.Reason), moment(c.At)}
}

// readKnown copies what is known without secrets, which a server's own words
// or an address in them might hold.
func readKnown(t *target.Target, s *target.Status, clean scrubber) knownState {
	words := func(all []target.Check) []target.Check {
		copied := make([]target.Check, len(all))
		for i, v := range all {
			v.Reason = clean.text(v.Reason)
			copied[i] = v
		}
		return copied
	}
	return knownState{
		Generation: s.Generation, GenerationReason: s.GenerationReason,
		EngineBuildVersion: s.EngineBuildVersion, Silent: t.Silent, Models: s.Models,
		Capabilities: words(s.Capabilities), Determinism: words(s.Determinism),
		Expectations: words(s.Expectations), Unanswered: words(s.Unanswered), Canary: readCanary(s.Canary, clean),
	}
}

// Missing names what the server does not tell.
func (k *knownState) Missing() string { return named(k.Capabilities) }

// Unmet names what the replica is not, of what its pool expects.
func (k *knownState) Unmet() string { return named(k.Expectations) }

// Free names what keeps equal requests from equal answers.
func (k *knownState) Free() string { return named(k.Determinism) }

// named lists the checks that are no.
func named(all []target.Check) string {
	var names []string
	for _, v := range all {
		if !v.OK {
			names = append(names, v.Name)
		}
	}
	return strings.Join(names, ", ")
}

// Doubts are all checks that are no, with their reasons.
func (k *knownState) Doubts() []target.Check {
	var all []target.Check
	for _, part := range [][]target.Check{k.Expectations, k.Capabilities, k.Determinism, k.Unanswered} {
		for _, v := range part {
			if !v.OK {
				all = append(all, v)
			}
		}
	}
	return all
}
