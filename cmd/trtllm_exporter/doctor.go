package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Exit codes of doctor other than exitOK.
const (
	exitMissing     = 1
	exitUnreachable = 2
)

// findings is what doctor found wrong, with the exit code that says so.
type findings struct {
	error

	code int
}

// Unwrap gives the reason.
func (f findings) Unwrap() error { return f.error }

// declareDoctor declares the subcommand that says what servers expose.
func declareDoctor(app *kingpin.Application, out *output) (string, func() error) {
	cmd := app.Command("doctor", "Say of each server what it is, what it exposes, and which flag turns on what it does not expose. Exit code 0: it exposes everything; 1: something is missing; 2: a server cannot be reached.")
	urls := cmd.Arg("url", "URL of a server, as http://host:8002.").Required().Strings()
	port := cmd.Flag("api-port", "Port of the server's HTTP API, if it is not the usual one of its kind.").Int()
	timeout := cmd.Flag("timeout", "Time that one answer may take.").Default("4s").Duration()
	return cmd.FullCommand(), func() error {
		f, err := onceOf(*urls, *timeout, *port)
		if err != nil {
			return err
		}
		return untilSignal(func(ctx context.Context) error { return examine(ctx, out, f) })
	}
}

// examine asks all targets once and prints what is known of them.
func examine(ctx context.Context, out *output, f *config.File) error {
	c, store, err := out.once(f)
	if err != nil {
		return err
	}
	const rounds = 5 // Detection, page, answers, and the page again.
	ctx, cancel := context.WithTimeout(ctx, rounds*time.Duration(f.Pools[0].ScrapeTimeout)*time.Duration(len(f.Pools[0].Discovery.StaticConfigs)))
	defer cancel()
	// A target that fails is a finding like others.
	_ = c.ScrapeOnce(ctx)
	missing, unreachable := 0, 0
	var text bytes.Buffer
	for i, slot := range store.Slots() {
		if i > 0 {
			text.WriteByte('\n')
		}
		status := slot.Status()
		printTarget(&text, slot.Target(), &status)
		capabilities := target.ListOf(status.Checks, assess.Capabilities)
		if len(capabilities) == 0 {
			unreachable++
		}
		missing += len(target.NotMet(capabilities))
	}
	if _, err := out.stdout.Write(text.Bytes()); err != nil {
		return err
	}
	switch {
	case unreachable > 0:
		return findings{fmt.Errorf("%d of %d servers cannot be reached", unreachable, len(store.Slots())), exitUnreachable}
	case missing > 0:
		return findings{errors.New(strconv.Itoa(missing) + " capabilities are missing"), exitMissing}
	}
	return nil
}

// printTarget prints one server.
func printTarget(w io.Writer, t *target.Target, s *target.Status) {
	p := &sheet{Writer: tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	p.row(t.ReplicaID, t.MetricsURL)
	p.row("engine", orUnknown(s.DetectedEngine))
	if s.EngineEvidence != "" {
		p.row("recognised by", s.EngineEvidence)
	}
	if s.Generation != "" {
		p.row("generation", s.Generation+": "+s.GenerationReason)
	}
	p.row("engine version", orUnknown(s.EngineVersion))
	p.row("TensorRT-LLM", orUnknown(s.TRTLLMVersion)+" (source: "+orUnknown(s.VersionSource)+")")
	p.row("state", s.State+": "+s.StateReason)
	if s.LastError != "" {
		p.row("page", s.LastError)
	}
	for _, q := range target.ListOf(s.Checks, assess.Unanswered) {
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
		if list.Family != "" {
			p.checks(list.Title, list.Question, target.ListOf(s.Checks, list.Name))
		}
	}
	_ = p.Flush() // It writes to memory.
}

// sheet is a table of aligned columns.
type sheet struct{ *tabwriter.Writer }

// row writes one row; columns align with those of the rows around it.
func (p *sheet) row(cells ...string) {
	_, _ = io.WriteString(p, strings.TrimRight(strings.Join(cells, "\t"), "\t")+"\n")
}

// checks writes a table of reasons and of what turns a no into a yes.
func (p *sheet) checks(title, question string, all []target.Check) {
	if len(all) == 0 {
		return
	}
	p.row()
	p.row(title, question, "REASON")
	for _, v := range all {
		answer := "no"
		if v.OK {
			answer = "yes"
		}
		p.row(v.Name, answer, v.Reason)
		if v.Cure != "" {
			p.row("", "", "turn on: "+v.Cure)
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
