package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/diagnose"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// report is what doctor found.
type report struct {
	ExitCode int `json:"exit_code"`
	// Pools are what discovery found, where it was asked.
	Pools    []target.Search `json:"pools,omitempty"`
	Warnings []string        `json:"warnings,omitempty"`
	Servers  []serverReport  `json:"servers"`
	// Next are the commands to run next, File what to write before the first.
	Next []string `json:"next"`
	File string   `json:"file,omitempty"`

	unreachable, missing, unwell, empty int
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

	checks []target.CheckList
	// unreachable is true when there is no page where it was looked for.
	unreachable bool
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
		PoolID: t.PoolID, ReplicaID: t.ReplicaID, URL: t.MetricsURL, PageURL: s.PageURL, Problem: problem,
		serverFacts: serverFacts{Engine: s.DetectedEngine, Evidence: s.EngineEvidence, Generation: s.Generation, GenerationReason: s.GenerationReason, EngineVersion: s.EngineVersion, TRTLLMVersion: s.TRTLLMVersion, VersionSource: s.VersionSource},
		State:       s.State, Severity: s.Severity, Reason: s.StateReason, LastError: s.LastError,
	}
	capabilities := target.ListOf(s.Checks, assess.Capabilities)
	one.unreachable = s.Health != target.HealthUp && !t.Silent && (len(capabilities) == 0 || problem != nil && problem.Page != "")
	if one.unreachable {
		r.unreachable++
		r.Servers = append(r.Servers, one)
		return
	}
	one.Models, one.checks = s.Models, s.Checks
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
	case r.unreachable > 0:
		return findings{fmt.Errorf("%d of %d servers cannot be reached", r.unreachable, len(r.Servers)), exitUnreachable}
	case r.missing == 1:
		return findings{errors.New("1 capability is missing"), exitMissing}
	case r.missing > 0:
		return findings{fmt.Errorf("%d capabilities are missing", r.missing), exitMissing}
	case r.unwell > 0:
		return findings{fmt.Errorf("%d of %d servers need a look", r.unwell, len(r.Servers)), exitMissing}
	}
	return nil
}

// text is the report for people; a width of 0 folds nothing.
func (r *report) text(width int) string {
	p := &sheet{width: width}
	if r.Pools != nil {
		r.printWalk(p)
	}
	for i := range r.Servers {
		if r.Pools != nil {
			break
		}
		if i > 0 {
			p.row()
		}
		r.Servers[i].print(p)
	}
	p.row()
	if r.File != "" {
		p.line("Next: write this to " + program + ".yml, and run the command below it:")
		p.verbatim("\n" + r.File + "\n")
		p.verbatim("  " + r.Next[0] + "\n")
		return p.String()
	}
	words := []string{"Next:"}
	if len(r.Next) > 1 {
		words = []string{"Next:", "And again when the server has the flags above:"}
	}
	for i, command := range r.Next {
		p.line(words[min(i, len(words)-1)])
		p.verbatim("  " + command + "\n")
	}
	return p.String()
}

// print writes one server.
func (s *serverReport) print(p *sheet) {
	p.row(s.ReplicaID, s.URL)
	if s.Problem != nil {
		s.printProblem(p)
	}
	switch {
	case !s.unreachable:
		s.printFacts(p)
	case s.Problem == nil || s.Problem.Page == "":
		p.row("page", s.LastError)
	}
	for _, q := range target.ListOf(s.checks, assess.Unanswered) {
		p.row("not answered", q.Name+": "+q.Reason)
	}
	if len(s.Models) > 0 {
		p.row()
		p.row("MODEL", "ROLE", "MODEL ID", "STATE", "BACKEND", "BATCH", "INSTANCES")
		for i := range s.Models {
			m := &s.Models[i]
			p.row(m.Name, m.Role, m.ModelID, m.State, m.Backend+m.Platform, howMany(m.MaxBatchSize), howMany(m.Instances))
		}
	}
	for _, list := range assess.Lists() {
		if list.Label != "" {
			p.checks(&list, target.ListOf(s.checks, list.Name))
		}
	}
	p.end()
}

// printProblem writes what is wrong, where, and what to do.
func (s *serverReport) printProblem(p *sheet) {
	p.row("what", s.Problem.What)
	p.row("where", s.Problem.Where)
	p.row("what to do", s.Problem.Do)
	var is, closed []string
	for _, port := range s.Problem.Ports {
		number := strconv.Itoa(port.Number)
		switch {
		case port.Page != "":
			is = slices.Insert(is, 0, number+" "+port.Is+" ✓")
		case port.Is == diagnose.Closed:
			closed = append(closed, number)
		default:
			is = append(is, number+" "+port.Is)
		}
	}
	if len(closed) > 0 {
		is = append(is, "nothing listens on "+strings.Join(closed, ", "))
	}
	if len(is) > 0 {
		p.row("other ports", strings.Join(is, "; "))
	}
}

// printFacts writes what the server is.
func (s *serverReport) printFacts(p *sheet) {
	p.row("engine", orUnknown(s.Engine))
	if s.Evidence != "" {
		p.row("recognised by", s.Evidence)
	}
	if s.Generation != "" {
		p.row("generation", s.Generation+": "+s.GenerationReason)
	}
	p.row("engine version", orUnknown(s.EngineVersion))
	p.row("TensorRT-LLM", orUnknown(s.TRTLLMVersion)+" (source: "+orUnknown(s.VersionSource)+")")
	p.row("state", s.State+": "+s.Reason)
}

// checks writes a table of reasons, of what turns a no into a yes, and of what
// nothing turns on.
func (p *sheet) checks(list *assess.List, all []target.Check) {
	if len(all) == 0 {
		return
	}
	p.row()
	p.row(list.Title, list.Question, "REASON")
	for i, v := range all {
		answer := "no"
		if v.OK {
			answer = "yes"
		}
		if i > 0 && !v.OK && v.Reason == all[i-1].Reason && v.Cure == all[i-1].Cure {
			p.row(v.Name, answer, "the same")
			continue
		}
		p.row(v.Name, answer, v.Reason)
		switch {
		case v.Cure != "":
			p.row("", "", "turn on: "+v.Cure)
		case !v.OK && list.Name == assess.Capabilities:
			p.row("", "", "impossible: this server has no flag for it")
		}
	}
}

// howMany writes a number that may not be known.
func howMany(n *int) string {
	if n == nil {
		return "-"
	}
	return strconv.Itoa(*n)
}

// orUnknown says so of what is not known.
func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}
