package main

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/diagnose"
	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
	"github.com/trtllm-exporter/trtllm_exporter/collector/web"
)

type report struct {
	ExitCode int `json:"exit_code"`
	// Pools are the results of discovery; nil when servers were named.
	Pools    []target.PoolDiscovery `json:"pools,omitempty"`
	Warnings []string               `json:"warnings,omitempty"`
	Servers  []server               `json:"servers"`
	// Next are the commands to run next, File what to write before the first.
	Next []string `json:"next"`
	File string   `json:"file,omitempty"`

	// repeats reports that the first of Next is the command that was just run.
	repeats bool

	unreachable, pageless, missing, unwell, empty int
}

// server is a target as /targets shows it, with what doctor found out besides.
type server struct {
	Target  web.TargetState   `json:"target"`
	Problem *diagnose.Finding `json:"problem,omitempty"`

	// pageless reports that there is no metrics page at the address of the target.
	pageless bool
}

func (s *server) nextURL() string {
	if s.Problem == nil {
		return s.Target.MetricsURL
	}
	return cmp.Or(s.Problem.Page, s.Problem.Try, s.Target.MetricsURL)
}

func (r *report) add(slot *snapshot.Slot, problem *diagnose.Finding) {
	s := server{Target: web.NewTargetState(slot), Problem: problem}
	capabilities := target.FindChecks(s.Target.Checks, assess.Capabilities)
	s.pageless = s.Target.Health != target.HealthUp && !s.Target.Silent && (len(capabilities) == 0 || problem != nil && problem.Page != "")
	r.Servers = append(r.Servers, s)
	if s.pageless {
		r.pageless++
		if problem != nil && problem.Unreachable && problem.Page == "" {
			r.unreachable++
		}
		return
	}
	for _, c := range capabilities {
		if !c.OK && c.Cure != "" {
			r.missing++
		}
	}
	if problem != nil || s.Target.Severity != "" && s.Target.Severity != string(assess.OK) {
		r.unwell++
	}
}

// err returns what is wrong, with the exit code; nil when nothing is.
func (r *report) err() error {
	var text string
	code := exitNoPage
	switch {
	case r.empty > 0:
		text = fmt.Sprintf("%d of %d pools have no targets", r.empty, len(r.Pools))
	case r.pageless > 0 && r.pageless == r.unreachable:
		text = fmt.Sprintf("%d of %d servers cannot be reached", r.unreachable, len(r.Servers))
	case r.pageless > 0:
		text = fmt.Sprintf("no metrics page at %d of %d servers", r.pageless, len(r.Servers))
	case r.missing == 1:
		text, code = "1 capability is missing", exitFailure
	case r.missing > 0:
		text, code = fmt.Sprintf("%d capabilities are missing", r.missing), exitFailure
	case r.unwell > 0:
		text, code = fmt.Sprintf("%d of %d servers need attention", r.unwell, len(r.Servers)), exitFailure
	default:
		return nil
	}
	return exitError{errors.New(text), code}
}

func (r *report) conclude(f *doctorFlags) {
	if len(f.urls) == 0 {
		r.Next = []string{f.nextOfFile(r)}
		return
	}
	var urls, failing, flags []string
	elsewhere := false
	for i := range r.Servers {
		s := &r.Servers[i]
		urls = append(urls, s.Target.MetricsURL)
		if s.pageless {
			failing, elsewhere = append(failing, s.nextURL()), elsewhere || s.nextURL() != s.Target.MetricsURL
			if f.file == "" && s.Problem != nil && s.Problem.Flags != "" && !slices.Contains(flags, s.Problem.Flags) {
				flags = append(flags, s.Problem.Flags)
			}
		}
	}
	switch {
	case len(failing) > 0:
		r.Next = []string{f.command(append(flags, failing...))}
		r.repeats = len(flags) == 0 && !elsewhere
	case f.file != "":
		r.Next = []string{program + " --config.file " + f.file}
	case f.access.given() && len(urls) == 1:
		r.Next = []string{program + " --config.file " + program + ".yml"}
		if u, err := url.Parse(urls[0]); err == nil {
			r.File = f.access.document(u.Scheme, u.Host)
		}
	default:
		r.Next = []string{program + " --target " + strings.Join(urls, " --target ")}
	}
	if r.missing > 0 && r.pageless == 0 {
		r.Next = append(r.Next, f.command(urls))
	}
}

// nextOfFile returns a closer look at the first server with a problem, else the start of the exporter.
func (f *doctorFlags) nextOfFile(r *report) string {
	for i := range r.Servers {
		if s := &r.Servers[i]; s.pageless || s.Problem != nil {
			return fmt.Sprintf("%s doctor --config.file %s --pool-id %s %s", program, f.file, s.Target.PoolID, s.nextURL())
		}
	}
	if r.empty > 0 {
		return program + " check-config " + f.file
	}
	return program + " --config.file " + f.file
}

// command returns the command that examines these servers with the same flags.
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
