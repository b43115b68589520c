package main

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
	"github.com/trtllm-exporter/trtllm_exporter/collector/web"
)

type report struct {
	ExitCode int `json:"exit_code"`
	// Pools holds the results of discovery, nil if servers were named.
	Pools    []target.PoolDiscovery `json:"pools,omitempty"`
	Warnings []string               `json:"warnings,omitempty"`
	Servers  []server               `json:"servers"`
	// Next lists the commands to run next, File is what to write into a file before.
	Next []string `json:"next"`
	File string   `json:"file,omitempty"`

	// repeats is true if the first of Next is the command that was just run.
	repeats bool

	unreachable, pageless, missing, unwell int
}

// server is a target as on /targets, with what doctor found out in addition.
type server struct {
	Target  web.TargetState   `json:"target"`
	Problem *scrape.Diagnosis `json:"problem,omitempty"`
	// Series is what it costs a Prometheus, nil without a page.
	Series *seriesCount `json:"series,omitempty"`

	// pageless is true if there is no metrics page at the address of the target.
	pageless bool
}

func (s *server) nextURL() string {
	if s.Problem == nil {
		return s.Target.MetricsURL
	}
	return cmp.Or(s.Problem.Page, s.Problem.Try, s.Target.MetricsURL)
}

func (r *report) add(slot *snapshot.Slot, problem *scrape.Diagnosis, page *exposition.Config) {
	s := server{Target: web.NewTargetState(slot), Problem: problem}
	if s.Target.Health == target.HealthUp && !s.Target.Silent && s.Target.State != string(assess.Silent) {
		s.Series = new(countSeries(slot.Latest(), page))
	}
	capabilities := target.FindChecks(s.Target.Checks, assess.Capabilities)
	s.pageless = s.Target.Health != target.HealthUp && !s.Target.Silent &&
		(len(capabilities) == 0 || problem != nil && problem.Page != "")
	r.Servers = append(r.Servers, s)
	if s.pageless {
		r.pageless++
		if problem != nil && problem.Unreachable && problem.Page == "" {
			r.unreachable++
		}
		return
	}
	for i := range capabilities {
		if capabilities[i].Curable() {
			r.missing++
		}
	}
	if problem != nil || s.Target.Severity != "" && s.Target.Severity != string(assess.OK) {
		r.unwell++
	}
}

// empty returns the number of pools without targets.
func (r *report) empty() (n int) {
	for i := range r.Pools {
		if r.Pools[i].Problem() != "" || r.Pools[i].Waiting() != "" {
			n++
		}
	}
	return n
}

// conclusion sets the exit code and returns the worst problem as an error, nil if there is none.
func (r *report) conclusion() error {
	var text string
	r.ExitCode = exitNoPage
	switch empty := r.empty(); {
	case empty > 0:
		text = fmt.Sprintf("%d of %d pools have no targets", empty, len(r.Pools))
	case r.pageless > 0 && r.pageless == r.unreachable:
		text = fmt.Sprintf("%d of %d servers cannot be reached", r.unreachable, len(r.Servers))
	case r.pageless > 0:
		text = fmt.Sprintf("no metrics page at %d of %d servers", r.pageless, len(r.Servers))
	case r.missing == 1:
		text, r.ExitCode = "1 capability is missing", exitFailure
	case r.missing > 0:
		text, r.ExitCode = fmt.Sprintf("%d capabilities are missing", r.missing), exitFailure
	case r.unwell > 0:
		text, r.ExitCode = fmt.Sprintf("%d of %d servers need attention", r.unwell, len(r.Servers)), exitFailure
	default:
		r.ExitCode = exitOK
		return nil
	}
	return exitError{errors.New(text), r.ExitCode}
}

// conclude finds out which commands to run next.
func (r *report) conclude(f *doctorFlags) {
	if len(f.urls) == 0 {
		r.Next = []string{f.nextOfFile(r)}
		return
	}
	var urls []string
	for i := range r.Servers {
		urls = append(urls, r.Servers[i].Target.MetricsURL)
	}
	switch {
	case r.pageless > 0:
		r.tryAgain(f)
	case f.file != "":
		r.Next = []string{program + " --config.file " + f.file}
	case (f.access.given() || len(f.kindsFiles) > 0) && len(urls) == 1:
		r.Next = []string{program + " --config.file " + program + ".yml"}
		if u, err := url.Parse(urls[0]); err == nil {
			r.File = f.access.document(u.Scheme, u.Host)
		}
		if len(f.kindsFiles) > 0 {
			r.File = "kinds_file: [" + strings.Join(f.kindsFiles, ", ") + "]\n" + r.File
		}
	default:
		r.Next = []string{program + " --target " + strings.Join(urls, " --target ")}
	}
	if r.missing > 0 && r.pageless == 0 {
		r.Next = append(r.Next, f.command(urls))
	}
}

// tryAgain has those servers examined that have no page, with the flags and at the addresses that may help.
func (r *report) tryAgain(f *doctorFlags) {
	var urls, flags []string
	r.repeats = true
	for i := range r.Servers {
		s := &r.Servers[i]
		if !s.pageless {
			continue
		}
		urls = append(urls, s.nextURL())
		if f.file == "" && s.Problem != nil && s.Problem.Flags != "" && !slices.Contains(flags, s.Problem.Flags) {
			flags = append(flags, s.Problem.Flags)
		}
		r.repeats = r.repeats && s.nextURL() == s.Target.MetricsURL
	}
	r.repeats = r.repeats && len(flags) == 0
	r.Next = []string{f.command(append(flags, urls...))}
}

// nextOfFile returns the command that examines the first server with a problem, or else the
// command that starts the exporter.
func (f *doctorFlags) nextOfFile(r *report) string {
	for i := range r.Servers {
		if s := &r.Servers[i]; s.pageless || s.Problem != nil {
			return fmt.Sprintf(
				"%s doctor --config.file %s --pool-id %s %s",
				program,
				f.file,
				s.Target.PoolID,
				s.nextURL(),
			)
		}
	}
	if r.empty() > 0 {
		return program + " check-config " + f.file
	}
	return program + " --config.file " + f.file
}

// command returns the command that examines the given servers with the same flags.
func (f *doctorFlags) command(urls []string) string {
	words := []string{program, "doctor"}
	for _, flag := range f.cmd.Model().Flags {
		switch value := flag.Value.String(); {
		case flag.IsBoolFlag() && value == "true":
			words = append(words, "--"+flag.Name)
		case !slices.Contains([]string{"", "0", "false", strings.Join(flag.Default, "")}, value):
			words = append(words, "--"+flag.Name, value)
		}
	}
	return strings.Join(append(words, urls...), " ")
}

// text returns the report as text, folded to width unless that is 0.
func (r *report) text(width int) string {
	p := &textTable{width: width}
	if r.Pools != nil {
		r.printPools(p)
	} else {
		for i := range r.Servers {
			p.verbatim("\n")
			r.Servers[i].print(p)
		}
	}
	p.verbatim("\n")
	head := "Next:"
	switch {
	case r.File != "":
		head = "Next: write this to " + program + ".yml, and run the command below it:"
	case r.repeats:
		head = "When that is done, again:"
	}
	for i, command := range r.Next {
		p.line(head)
		if i == 0 && r.File != "" {
			p.verbatim("\n" + r.File + "\n")
		}
		p.verbatim("  " + command + "\n")
		head = "And again when the server has what is missing above:"
	}
	return strings.TrimPrefix(p.String(), "\n")
}

// maxDropsPrinted limits the dropped targets that are printed per pool.
const maxDropsPrinted = 5

func (r *report) printPools(p *textTable) {
	for _, w := range r.Warnings {
		p.line("warning: " + w)
	}
	for i := range r.Pools {
		p.verbatim("\n")
		pool := &r.Pools[i]
		p.line("pool " + pool.PoolID)
		for j := range pool.Sources {
			p.row("  "+pool.Sources[j].Key, sourceText(&pool.Sources[j]))
		}
		p.row("  relabeling", relabelText(pool))
		for _, d := range pool.Drops[:min(len(pool.Drops), maxDropsPrinted)] {
			p.row("  dropped", d.Address+": "+d.Rule)
		}
		if text := cmp.Or(pool.Waiting(), pool.Problem()); text != "" {
			p.row("  what", text)
			p.row("  what to do", advice(pool))
		}
		for j := range r.Servers {
			if s := &r.Servers[j]; s.Target.PoolID == pool.PoolID {
				p.row("  "+cmp.Or(s.Target.Severity, unknown), s.Target.ReplicaID+": "+s.summary())
			}
		}
	}
}

func (s *server) summary() string {
	if s.Problem != nil {
		return s.Problem.What + "; " + s.Problem.Do
	}
	text := s.Target.State + ": " + s.Target.StateReason
	if s.Series != nil {
		text += fmt.Sprintf("; %d series, %d on its own page", s.Series.Exposed, s.Series.Own)
	}
	return text
}

func sourceText(s *target.Source) string {
	text := count(s.Targets, "target")
	switch {
	case s.LastSuccess.IsZero() && s.LastError == "":
		return "did not answer"
	case s.LastSuccess.IsZero():
		return "failed: " + s.LastError
	case s.Failing():
		return text + ", and an error: " + s.LastError
	}
	return text
}

func relabelText(s *target.PoolDiscovery) string {
	text := fmt.Sprintf("%d found, %d kept, %d dropped", s.Found, s.Targets, s.Dropped)
	if s.LeftOut > 0 {
		text += fmt.Sprintf(", %d cannot be used: %s", s.LeftOut, s.Error)
	}
	return text
}

// advice returns what to do about a pool without targets.
func advice(s *target.PoolDiscovery) string {
	remote := func(source target.Source) bool { return !strings.HasPrefix(source.Key, "file_sd_configs") }
	switch {
	case s.Waiting() != "" && !slices.ContainsFunc(s.Sources, remote):
		return "correct the file, or its name in files"
	case s.Waiting() != "":
		return "check that the source can be reached from here, and its credentials"
	case s.Dropped > 0:
		return "change the rule, or the labels that the source gives"
	case s.LeftOut > 0:
		return "change the addresses where the source has them, or with relabel_configs"
	}
	return "check that the source names the replicas, and that they run"
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
		return
	}
	printFacts(p, t)
	if s.Series != nil {
		p.row("series", s.Series.String())
	}
	for _, c := range target.FindChecks(t.Checks, assess.Unanswered) {
		p.row("not answered", c.Name+": "+c.Reason)
	}
	if len(t.Models) > 0 {
		p.verbatim("\n")
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
}

func printProblem(p *textTable, problem *scrape.Diagnosis) {
	p.row("what", problem.What)
	p.row("where", problem.Where)
	p.row("what to do", problem.Do)
	var open, closed []string
	for _, port := range problem.Ports {
		number := strconv.Itoa(port.Number)
		switch {
		case port.Page != "":
			open = slices.Insert(open, 0, number+" "+port.Is+" ✓")
		case port.Is == scrape.NothingListens:
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

// unknown is printed for unknown values.
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

// printChecks writes a table of checks, with what brings missing ones.
func printChecks(p *textTable, list *assess.List, checks []target.Check) {
	if len(checks) == 0 {
		return
	}
	p.verbatim("\n")
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
			p.row("", "", "fix: "+c.Cure)
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
