package main

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/diagnose"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// text is the report for people; a width of 0 folds nothing.
func (r *report) text(width int) string {
	p := &textTable{width: width}
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
	words := []string{"Next:", "And again when the server has the flags above:"}
	if r.again {
		words[0] = "When that is done, again:"
	}
	for i, command := range r.Next {
		p.line(words[i])
		p.verbatim("  " + command + "\n")
	}
	return p.String()
}

// print writes one server.
func (s *serverReport) print(p *textTable) {
	p.row(s.ReplicaID, s.URL)
	if s.Problem != nil {
		s.printProblem(p)
	}
	switch {
	case !s.pageless:
		s.printFacts(p)
	case s.Problem == nil || s.Problem.Page == "":
		p.row("page", s.LastError)
	}
	for _, q := range s.Checks[assess.Unanswered] {
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
			p.checks(&list, s.Checks[list.Name])
		}
	}
	p.end()
}

// printProblem writes what is wrong, where, and what to do.
func (s *serverReport) printProblem(p *textTable) {
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

// unknown is said of what is not known.
const unknown = "unknown"

// printFacts writes what the server is.
func (s *serverReport) printFacts(p *textTable) {
	if s.PageURL != s.URL {
		p.row("page", s.PageURL)
	}
	p.row("engine", cmp.Or(s.Engine, unknown))
	if s.Evidence != "" {
		p.row("recognised by", s.Evidence)
	}
	if s.Generation != "" {
		p.row("generation", s.Generation+": "+s.GenerationReason)
	}
	p.row("engine version", cmp.Or(s.EngineVersion, unknown))
	p.row("TensorRT-LLM", cmp.Or(s.TRTLLMVersion, unknown)+" (source: "+cmp.Or(s.VersionSource, unknown)+")")
	p.row("state", s.State+": "+s.Reason+s.unseen())
}

// unseen says what one look at a server that is ready does not show.
func (s *serverReport) unseen() string {
	if s.State != string(assess.Ready) || s.Severity == string(assess.Broken) {
		return ""
	}
	return "; one look cannot show requests that fail or stand still: ask the exporter"
}

// checks writes a table of reasons, of what turns a no into a yes, and of what
// nothing turns on.
func (p *textTable) checks(list *assess.List, all []target.Check) {
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
			p.row("", "", "no flag of the server turns it on")
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
