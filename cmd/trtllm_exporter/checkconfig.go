package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/promslog"

	"github.com/trtllm-exporter/trtllm_exporter/collector"
	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
)

// declareCheckConfig declares the subcommand that starts nothing.
func declareCheckConfig(app *kingpin.Application, out *output) (string, func() error) {
	cmd := app.Command("check-config", "Check a configuration file and report each mistake with its line.")
	file := cmd.Arg("file", "Configuration file.").Required().String()
	return cmd.FullCommand(), func() error { return checkConfig(out, *file) }
}

// checkConfig does what a start does, without scraping: what is built from the
// file, such as certificates, is checked too.
func checkConfig(out *output, file string) error {
	f, err := config.Load(file)
	if err != nil {
		return err
	}
	shards := &f.Sharding
	if shards.Index == nil {
		// A start gets the index from --sharding.index; any does for a check.
		if err := shards.Place("0"); err != nil {
			return err
		}
	}
	c, err := collector.New(collector.Options{
		Store: snapshot.NewStore(), Logger: promslog.New(&out.log), Registerer: prometheus.NewRegistry(),
	})
	if err != nil {
		return err
	}
	if err := c.ApplyConfig(f); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return summarise(out.stdout, file, f)
}

// summarise says what a good file holds.
func summarise(w io.Writer, file string, f *config.File) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: OK, %s", file, count(len(f.Pools), "pool"))
	if total := f.Sharding.Total; total > 1 {
		fmt.Fprintf(&b, " shared by %d exporters", total)
	}
	b.WriteByte('\n')
	for _, warning := range f.Warnings() {
		fmt.Fprintf(&b, "  warning: %s\n", warning)
	}
	for i := range f.Pools {
		pool := &f.Pools[i]
		targets := 0
		for _, g := range pool.Discovery.StaticConfigs {
			targets += len(g.Targets)
		}
		fmt.Fprintf(&b, "  %s: engine %s, %s, every %s, timeout %s\n", pool.PoolID, pool.Engine,
			count(targets, "static target"), time.Duration(pool.ScrapeInterval), time.Duration(pool.ScrapeTimeout))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// count is a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
