package main

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/diagnose"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
	"github.com/trtllm-exporter/trtllm_exporter/collector/web"
)

// text returns the report for people; a width of 0 folds nothing.
func (r *report) text(width int) string {
	p := &textTable{width: width}
	if r.Pools != nil {
		r.printPools(p)
	} else {
		for i := range r.Servers {
			if i > 0 {
				p.row()
			}
			r.Servers[i].print(p)
		}
	}
	p.row()
	if r.File != "" {
		p.line("Next: write this to " + program + ".yml, and run the command below it:")
		p.verbatim("\n" + r.File + "\n")
		p.verbatim("  " + r.Next[0] + "\n")
		return p.String()
	}
	heads := []string{"Next:", "And again when the server has the flags above:"}
	if r.repeats {
		heads[0] = "When that is done, again:"
	}
	for i, command := range r.Next {
		p.line(heads[i])
		p.verbatim("  " + command + "\n")
	}
	return p.String()
}

func (s *server) print(p *textTable) {
	t := &s.Target
	p.row(t.ReplicaID, t.MetricsURL)
	if s.Problem != nil {
		printProblem(p, s.Problem)
	}
	if s.pageless {
		if s.Problem == nil || s.Problem.Page == "" {
			p.row("page", t.LastError)
		}
		p.end()
		return
	}
	printFacts(p, t)
	for _, c := range target.FindChecks(t.Checks, assess.Unanswered) {
		p.row("not answered", c.Name+": "+c.Reason)
	}
	if len(t.Models) > 0 {
		p.row()
		p.row("MODEL", "ROLE", "MODEL ID", "STATE", "BACKEND", "BATCH", "INSTANCES")
	}
	for i := range t.Models {
		m := &t.Models[i]
		p.row(m.Name, m.Role, m.ModelID, m.State, m.Backend+m.Platform, optional(m.MaxBatchSize), optional(m.Instances))
	}
	for _, list := range assess.Lists() {
		if list.Label != "" {
			printChecks(p, &list, target.FindChecks(t.Checks, list.Name))
		}
	}
	p.end()
}

func printProblem(p *textTable, problem *diagnose.Finding) {
	p.row("what", problem.What)
	p.row("where", problem.Where)
	p.row("what to do", problem.Do)
	var open, closed []string
	for _, port := range problem.Ports {
		number := strconv.Itoa(port.Number)
		switch {
		case port.Page != "":
			open = slices.Insert(open, 0, number+" "+port.Is+" ✓")
		case port.Is == diagnose.Closed:
			closed = append(closed, number)
		default:
			open = append(open, number+" "+port.Is)
		}
	}
	if len(closed) > 0 {
		open = append(open, "nothing listens on "+strings.Join(closed, ", "))
	}
	if len(open) > 0 {
		p.row("other ports", strings.Join(open, "; "))
	}
}

// unknown stands for a value that is not known.
const unknown = "unknown"

func printFacts(p *textTable, t *web.TargetState) {
	if t.PageURL != t.MetricsURL {
		p.row("page", t.PageURL)
	}
	p.row("engine", cmp.Or(t.DetectedEngine, unknown))
	if t.EngineEvidence != "" {
		p.row("recognised by", t.EngineEvidence)
	}
	if t.Generation != "" {
		p.row("generation", t.Generation+": "+t.GenerationReason)
	}
	p.row("engine version", cmp.Or(t.Status.EngineVersion, unknown))
	p.row("TensorRT-LLM", cmp.Or(t.Status.TRTLLMVersion, unknown)+" (source: "+cmp.Or(t.VersionSource, unknown)+")")
	state := t.State + ": " + t.StateReason
	if t.State == string(assess.Ready) && t.Severity != string(assess.Broken) {
		state += "; one look cannot show requests that fail or hang: ask the exporter"
	}
	p.row("state", state)
}

// printChecks writes a table of checks, with what turns on the missing ones.
func printChecks(p *textTable, list *assess.List, checks []target.Check) {
	if len(checks) == 0 {
		return
	}
	p.row()
	p.row(list.Title, list.Question, "REASON")
	for i, c := range checks {
		answer := "no"
		if c.OK {
			answer = "yes"
		}
		if i > 0 && !c.OK && c.Reason == checks[i-1].Reason && c.Cure == checks[i-1].Cure {
			p.row(c.Name, answer, "the same")
			continue
		}
		p.row(c.Name, answer, c.Reason)
		switch {
		case c.Cure != "":
			p.row("", "", "turn on: "+c.Cure)
		case !c.OK && list.Name == assess.Capabilities:
			p.row("", "", "no flag of the server turns it on")
		}
	}
}

func optional(n *int) string {
	if n == nil {
		return "-"
	}
	return strconv.Itoa(*n)
}
