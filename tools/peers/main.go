// Command peers measures the exporter next to other ways to bring the pages of many
// servers with their identity to one page: processor time, memory, and how long
// reads take, each in one run over the same targets, each held to have every
// series with every label.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

func main() {
	var o options
	flag.BoolVar(&o.library, "library", false, "be the exporter that is written with the usual libraries, for the targets named on stdin")
	flag.StringVar(&o.address, "address", "", "where -library listens")
	flag.DurationVar(&o.interval, "interval", 0, "time between two scrapes")
	flag.DurationVar(&o.settle, "settle", 15*time.Second, "how long a peer has to come to rest after its first whole page")
	flag.DurationVar(&o.window, "window", 20*time.Second, "how long scraping is measured")
	flag.IntVar(&o.targets, "targets", 100, "number of targets")
	flag.IntVar(&o.reads, "reads", 10, "reads of each coding")
	flag.StringVar(&o.exporter, "exporter", "bin/trtllm_exporter", "the exporter")
	flag.StringVar(&o.prometheus, "prometheus", ".cache/bin/prometheus", "Prometheus")
	flag.StringVar(&o.only, "only", "", "part of the name of the peers to run; all when empty")
	flag.StringVar(&o.chart, "chart", "", "draw the results named as arguments into this file instead, one JSON object a line")
	flag.Parse()
	if err := o.run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	library                             bool
	interval, settle, window            time.Duration
	targets, reads                      int
	address, exporter, prometheus, only string
	chart                               string
}

func (o *options) run(ctx context.Context) error {
	switch {
	case o.library:
		return library(ctx, os.Stdin, o.address, o.interval)
	case o.chart != "":
		return draw(o.chart, flag.Args())
	}
	f, err := newFleet(ctx, o.targets)
	if err != nil {
		return err
	}
	defer f.close()
	for _, p := range peers(o.exporter, o.prometheus) {
		if !strings.Contains(p.name, o.only) {
			continue
		}
		r, err := p.measure(ctx, f, plan{o.interval, o.settle, o.window, o.reads})
		if err != nil {
			return err
		}
		if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
			return err
		}
		r.tell()
	}
	version, err := exec.CommandContext(ctx, o.prometheus, "--version").Output() //nolint:gosec // the program that is measured.
	fmt.Fprint(os.Stderr, string(version))
	return err
}

// tell writes a result as a row of a table.
func (r *result) tell() {
	const mega = 1e6
	fmt.Fprintf(os.Stderr, "| %s | %d | %s | %.2f | %.2f | %.2f | %.0f / %.0f | %.0f / %.0f | %.1f / %.2f | %.0f |\n",
		r.Peer, r.Targets, r.Interval, r.Scrape, r.Plain, r.Gzip,
		micros(r.PlainP50)/1e3, micros(r.PlainP99)/1e3, micros(r.GzipP50)/1e3, micros(r.GzipP99)/1e3,
		float64(r.PlainBytes)/mega, float64(r.GzipBytes)/mega, float64(r.Peak)/mega)
}
