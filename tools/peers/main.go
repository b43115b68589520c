// Command peers measures the exporter next to other ways to bring the pages of many
// servers with their identity to one page: processor time, memory, and how long
// reads take, each in one run over the same targets, each held to have every
// series with every label.
package main

import (
	"context"
	"encoding/json"
	"flag" //nolint:depguard // This is a main of its own.
	"fmt"
	"os"
	"slices"
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
	flag.StringVar(&o.only, "only", "", "parts of the names of the peers to run, between commas; all when empty")
	flag.StringVar(&o.chart, "chart", "", "draw the results named as arguments into this file instead, one JSON object a line")
	flag.StringVar(&o.report, "report", "", "write the results named as arguments as a table into this document instead, between its marks")
	flag.Parse()
	if err := o.run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1) //nolint:forbidigo // This is a main of its own.
	}
}

// options are the flags.
type options struct {
	library                             bool
	interval, settle, window            time.Duration
	targets, reads                      int
	address, exporter, prometheus, only string
	chart, report                       string
}

func (o *options) run(ctx context.Context) error {
	switch {
	case o.library:
		return library(ctx, os.Stdin, o.address, o.interval)
	case o.chart != "" || o.report != "":
		return o.show(flag.Args())
	}
	f, err := newFleet(ctx, o.targets)
	if err != nil {
		return err
	}
	defer f.close()
	for _, p := range peers(o.exporter, o.prometheus) {
		if !chosen(p.name, o.only) {
			continue
		}
		r, err := p.measure(ctx, f, plan{o.interval, o.settle, o.window, o.reads})
		if err != nil {
			return err
		}
		if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
			return err
		}
		fmt.Fprintln(os.Stderr, r.row())
	}
	return nil
}

// chosen says whether a peer is one of those to run.
func chosen(name, only string) bool {
	return slices.ContainsFunc(strings.Split(only, ","), func(part string) bool { return strings.Contains(name, part) })
}

// show draws results and writes them into a document.
func (o *options) show(from []string) error {
	all, err := load(from)
	if err != nil {
		return err
	}
	if o.chart != "" {
		if err := draw(o.chart, all); err != nil {
			return err
		}
	}
	if o.report != "" {
		return report(o.report, all)
	}
	return nil
}
