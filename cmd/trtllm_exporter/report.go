package main

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/diagnose"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// report is what doctor found.
type report struct {
	ExitCode int `json:"exit_code"`
	// Pools are what discovery found, where it was asked.
	Pools    []target.PoolDiscovery `json:"pools,omitempty"`
	Warnings []string               `json:"warnings,omitempty"`
	Servers  []serverReport         `json:"servers"`
	// Next are the commands to run next, File what to write before the first.
	Next []string `json:"next"`
	File string   `json:"file,omitempty"`

	// again is true where the first of them is what was just run.
	again bool

	unreachable, pageless, missing, unwell, empty int
}

// serverReport is what doctor found out about one server.
type serverReport struct {
	PoolID    string            `json:"pool_id"`
	ReplicaID string            `json:"replica_id"`
	URL       string            `json:"url"`
	PageURL   string            `json:"page_url,omitempty"`
	Problem   *diagnose.Finding `json:"problem,omitempty"`
	serverFacts
	State     string                    `json:"state"`
	Severity  string                    `json:"severity"`
	Reason    string                    `json:"reason"`
	LastError string                    `json:"last_error,omitempty"`
	Models    []target.Model            `json:"models,omitempty"`
	Checks    map[string][]target.Check `json:"checks,omitempty"`

	// pageless is true when there is no page where it was looked for.
	pageless bool
}

// serverFacts are what a server is.
type serverFacts struct {
	Engine           string `json:"engine,omitempty"`
	Evidence         string `json:"recognised_by,omitempty"`
	Generation       string `json:"generation,omitempty"`
	GenerationReason string `json:"generation_reason,omitempty"`
	EngineVersion    string `json:"engine_version,omitempty"`
	TRTLLMVersion    string `json:"trtllm_version,omitempty"`
	VersionSource    string `json:"version_source,omitempty"`
}

// elsewhere is the address to look at next.
func (s *serverReport) elsewhere() string {
	if s.Problem == nil {
		return s.URL
	}
	return cmp.Or(s.Problem.Page, s.Problem.Try, s.URL)
}

// add takes one server into the report.
func (r *report) add(t *target.Target, s *target.Status, problem *diagnose.Finding) {
	one := serverReport{
		PoolID: t.PoolID, ReplicaID: t.ReplicaID, URL: target.Public(t.MetricsURL), PageURL: target.Public(s.PageURL), Problem: problem,
		serverFacts: serverFacts{Engine: s.DetectedEngine, Evidence: s.EngineEvidence, Generation: s.Generation, GenerationReason: s.GenerationReason, EngineVersion: s.EngineVersion, TRTLLMVersion: s.TRTLLMVersion, VersionSource: s.VersionSource},
		State:       s.State, Severity: s.Severity, Reason: s.StateReason, LastError: s.LastError,
	}
	capabilities := target.FindChecks(s.Checks, assess.Capabilities)
	one.pageless = s.Health != target.HealthUp && !t.Silent && (len(capabilities) == 0 || problem != nil && problem.Page != "")
	if one.pageless {
		r.pageless++
		if problem != nil && problem.Unreachable && problem.Page == "" {
			r.unreachable++
		}
		r.Servers = append(r.Servers, one)
		return
	}
	one.Models = s.Models
	for _, list := range s.Checks {
		if len(list.Checks) > 0 {
			if one.Checks == nil {
				one.Checks = make(map[string][]target.Check)
			}
			one.Checks[list.Name] = list.Checks
		}
	}
	for _, c := range capabilities {
		if !c.OK && c.Cure != "" {
			r.missing++
		}
	}
	if problem != nil || s.Severity != "" && s.Severity != string(assess.OK) {
		r.unwell++
	}
	r.Servers = append(r.Servers, one)
}

// wrong says what was found wrong, with the exit code; nil for nothing.
func (r *report) wrong() error {
	switch {
	case r.empty > 0:
		return findings{fmt.Errorf("%d of %d pools have no targets", r.empty, len(r.Pools)), exitUnreachable}
	case r.pageless > 0 && r.pageless == r.unreachable:
		return findings{fmt.Errorf("%d of %d servers cannot be reached", r.unreachable, len(r.Servers)), exitUnreachable}
	case r.pageless > 0:
		return findings{fmt.Errorf("no page of metrics at %d of %d servers", r.pageless, len(r.Servers)), exitUnreachable}
	case r.missing == 1:
		return findings{errors.New("1 capability is missing"), exitMissing}
	case r.missing > 0:
		return findings{fmt.Errorf("%d capabilities are missing", r.missing), exitMissing}
	case r.unwell > 0:
		return findings{fmt.Errorf("%d of %d servers need a look", r.unwell, len(r.Servers)), exitMissing}
	}
	return nil
}
