package main

import (
	"fmt"
	"io"
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
// the file, such as certificates, is checked too.
func checkConfig(out *output, file string) error {
	f, err := config.Load(file)
	if err != nil {
		return err
	}
	if f.Sharding.Index == nil {
		// A start gets the index from --sharding.index; any does for a check.
		_ = f.Sharding.Place("0")
	}
	if err := collector.Check(f); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return summarise(out.stdout, file, f, warnings(file, f))
}

// summarise says what a good file holds, and what may not be meant.
func summarise(w io.Writer, file string, f *config.File, warnings []string) error {
	p := &textTable{width: widthOf(w)}
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
