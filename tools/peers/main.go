// Command peers measures the exporter next to other ways to bring the pages of many
// servers with their identity to one page: processor time, memory, how long reads
// take, and how long until all is there, each in one run over the same
// targets, each held to have every series with every label.
package main

import (
	"context"
	"encoding/json"
	"flag" //nolint:depguard // This is a main of its own.
	"fmt"
	"os"
	"os/signal" //nolint:depguard // This is a main of its own.
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	var o options
	flag.BoolVar(&o.library, "library", false, "be the exporter that is written with the usual libraries, for the targets named on stdin")
	flag.StringVar(&o.address, "address", "", "where -library listens")
	flag.DurationVar(&o.plan.interval, "interval", time.Second, "time between two scrapes, and between two reads of a reader")
	flag.Int64Var(&o.plan.scrapes, "scrapes", 12, "scrapes that each target has had before a peer is measured")
	flag.DurationVar(&o.plan.warm, "warm", time.Minute, "time after which a peer is measured though targets had fewer")
	flag.DurationVar(&o.plan.window, "window", 6*time.Second, "how long scraping, and reads of each coding, are measured")
	flag.DurationVar(&o.plan.most, "most", 15*time.Second, "how long many readers may need for one read each; with more they are left out")
	flag.IntVar(&o.targets, "targets", 100, "number of targets")
	flag.StringVar(&o.programs.exporter, "exporter", "bin/trtllm_exporter", "the exporter")
	flag.StringVar(&o.programs.prometheus, "prometheus", ".cache/bin/prometheus", "Prometheus")
	flag.StringVar(&o.programs.otelcol, "otelcol", ".cache/bin/otelcol", "the OpenTelemetry Collector of tools/otelcol")
	flag.StringVar(&o.only, "only", "", "parts of the names of the peers to run, between commas; all when empty")
	flag.StringVar(&o.report, "report", "", "write the results named as arguments, one JSON object a line, as tables into this document instead, between its marks")
	flag.Parse()
	if err := o.run(); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1) //nolint:forbidigo // This is a main of its own.
	}
}

// options are the flags.
type options struct {
	library       bool
	plan          plan
	targets       int
	address, only string
	programs      programs
	report        string
}

func (o *options) run() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	switch {
	case o.library:
		return library(ctx, os.Stdin, o.address, o.plan.interval)
	case o.report != "":
		all, err := load(flag.Args())
		if err != nil {
			return err
		}
		return report(o.report, all)
	}
	f, err := newFleet(ctx, o.targets)
	if err != nil {
		return err
	}
	defer f.close()
	if o.targets >= fewestRead {
		o.plan.many = []int{4, 40}
	}
	for i, p := range peers(o.programs) {
		if !p.chosen(o.only, o.targets) {
			continue
		}
		r, err := p.measure(ctx, f, &o.plan)
		switch {
		case ctx.Err() != nil:
			return ctx.Err() // The peer has ended too.
		case err != nil && i == 0:
			return fmt.Errorf("%s with %d targets: %w", p.name, o.targets, err)
		case err != nil:
			r = result{Peer: p.name, Targets: o.targets, Interval: o.plan.interval, Failed: err.Error()}
		}
		if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
			return err
		}
		fmt.Fprintln(os.Stderr, r.line())
	}
	return nil
}

// fewestRead is how many targets a page has, at least, that is read by many.
const fewestRead = 100

// chosen says whether a peer is one of those to run: those that are named, or all
// that are measured with so many targets.
func (p *peer) chosen(only string, targets int) bool {
	if only == "" {
		return p.fewest <= targets && targets <= p.most
	}
	return slices.ContainsFunc(strings.Split(only, ","), func(part string) bool { return strings.Contains(p.name, part) })
}
