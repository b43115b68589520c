package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/trtllm-exporter/trtllm_exporter/collector"
	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
)

// declareCheckConfig declares the subcommand that starts nothing.
func declareCheckConfig(app *kingpin.Application, out *output) (string, func() error) {
	cmd := app.Command("check-config", "Check a configuration file and report each mistake with its line. It needs no network and no cluster.")
	file := cmd.Arg("file", "Configuration file.").Required().String()
	return cmd.FullCommand(), func() error { return checkConfig(out, *file) }
}

// checkConfig does what a start does, without asking anybody: what is built from
// the file, such as certificates, is checked too, also when the file has other
// mistakes, so that one run reports all of them.
func checkConfig(out *output, file string) error {
	f, err := config.Inspect(file)
	if f == nil {
		return err
	}
	if f.Sharding.Index == nil {
		// A start gets the index from --sharding.index; any does for a check. What is
		// wrong with the total is among the mistakes.
		_ = f.Sharding.Place("0")
	}
	if built := buildable(f, err); built != nil {
		err = errors.Join(err, fmt.Errorf("%s: %w", file, built))
	}
	if err == nil {
		return summarise(out.stdout, file, f, warnings(file, f))
	}
	// Who fixes mistakes wants to hear of these as well, and not at the next run.
	mistakes := err.Error()
	for _, warning := range warnings(file, f) {
		place, _, _ := strings.Cut(strings.TrimPrefix(warning, file+": "), ": ")
		if !strings.Contains(mistakes, " "+place+": ") {
			err = errors.Join(err, errors.New("warning: "+warning))
		}
	}
	return err
}

// buildable says what keeps the pools from being built, but for pools of which a
// file was reported already: it would be reported twice.
func buildable(f *config.File, reported error) error {
	left := *f
	left.Pools = nil
	for i := range f.Pools {
		if reported == nil || !namesAFileOf(reported.Error(), i) {
			left.Pools = append(left.Pools, f.Pools[i])
		}
	}
	return collector.Check(&left)
}

// namesAFileOf says whether a line of a message is about a file that a pool names.
func namesAFileOf(message string, pool int) bool {
	for line := range strings.Lines(message) {
		if strings.Contains(line, fmt.Sprintf("pools[%d].", pool)) && strings.Contains(line, "_file: ") {
			return true
		}
	}
	return false
}

// summarise says what a good file holds, and what may not be meant.
func summarise(w io.Writer, file string, f *config.File, warnings []string) error {
	p := &sheet{width: widthOf(w)}
	head := fmt.Sprintf("%s: OK, %s", file, count(len(f.Pools), "pool"))
	if total := f.Sharding.Total; total > 1 {
		head += fmt.Sprintf(" shared by %d exporters", total)
	}
	p.line(head)
	for _, warning := range warnings {
		p.line("  warning: " + warning)
	}
	for i := range f.Pools {
		pool := &f.Pools[i]
		targets := 0
		for _, g := range pool.Discovery.StaticConfigs {
			targets += len(g.Targets)
		}
		p.line(fmt.Sprintf("  %s: engine %s, %s, every %s, timeout %s", pool.PoolID, pool.Engine,
			count(targets, "static target"), time.Duration(pool.ScrapeInterval), time.Duration(pool.ScrapeTimeout)))
	}
	_, err := io.WriteString(w, p.String())
	return err
}

// count is a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
