// Command peers compares the exporter with other programs that merge the pages of many
// servers into one page with identity labels: CPU time, memory, latency of reads, and time
// until the page is complete. All run over the same targets, and all must have every series
// with every label.
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
	flag.BoolVar(&o.serveOrdinary, "library", false, "run the ordinary exporter for the targets on stdin")
	flag.StringVar(&o.address, "address", "", "listen address of -library")
	flag.DurationVar(&o.plan.interval, "interval", time.Second, "scrape interval, and interval of each reader")
	flag.DurationVar(
		&o.plan.window,
		"window",
		6*time.Second,
		"duration of measuring scrapes, and reads of each encoding",
	)
	flag.IntVar(&o.targets, "targets", 100, "number of targets")
	flag.StringVar(&o.programs.exporter, "exporter", "bin/trtllm_exporter", "the exporter")
	flag.StringVar(&o.programs.prometheus, "prometheus", ".cache/bin/prometheus", "Prometheus")
	flag.StringVar(&o.programs.otelcol, "otelcol", ".cache/bin/otelcol", "the OpenTelemetry Collector of tools/otelcol")
	flag.StringVar(&o.only, "only", "", "comma-separated parts of the names of the peers to run; default all")
	flag.BoolVar(&o.report, "report", false, "print the results in the files given as arguments as tables")
	flag.Parse()
	if err := o.run(); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1) //nolint:forbidigo // This is a main of its own.
	}
}

// options holds the flags.
type options struct {
	serveOrdinary bool
	plan          plan
	targets       int
	address, only string
	programs      programs
	report        bool
}

func (o *options) run() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	switch {
	case o.serveOrdinary:
		return serveOrdinary(ctx, os.Stdin, o.address, o.plan.interval)
	case o.report:
		all, err := load(flag.Args())
		if err != nil {
			return err
		}
		_, err = os.Stdout.WriteString(report(all))
		return err
	}
	f, err := startFleet(ctx, o.targets)
	if err != nil {
		return err
	}
	defer f.close()
	if o.targets >= minManyTargets {
		o.plan.many = []int{4, 40}
	}
	for i, p := range peers(o.programs) {
		if !p.chosen(o.only, o.targets) {
			continue
		}
		r, err := p.measure(ctx, f, &o.plan)
		switch {
		case ctx.Err() != nil:
			return ctx.Err() // The peer has stopped too.
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

// minManyTargets is the number of targets from which on several readers are measured.
const minManyTargets = 100

// chosen reports whether to run a peer: whether it is named, or measured with that number of
// targets by default.
func (p *peer) chosen(only string, targets int) bool {
	if only == "" {
		return p.minTargets <= targets && targets <= p.maxTargets
	}
	return slices.ContainsFunc(
		strings.Split(only, ","),
		func(part string) bool { return strings.Contains(p.name, part) },
	)
}
