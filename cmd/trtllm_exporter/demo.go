package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"

	"github.com/trtllm-exporter/trtllm_exporter/collector"
	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// demoConfig is the head of the demo's configuration; pools follow.
const demoConfig = "global: { scrape_interval: 1s, scrape_timeout: 900ms, window: 15s }\npools:\n"

// declareDemo declares the subcommand that needs no server.
func declareDemo(app *kingpin.Application, out *output) (string, func() error) {
	cmd := app.Command("demo", "Serve the metrics of a simulated fleet, to try the exporter without a GPU.")
	var serving webFlags
	serving.declare(cmd)
	length := cmd.Flag("for", "Stop after this time instead of at Ctrl-C.").PlaceHolder("TIME").Duration()
	speed := cmd.Flag("speed", "Simulated seconds per second.").Default("1").Float64()
	mixed := cmd.Flag("mixed", "Add a pool of one model that vLLM, SGLang, trtllm-serve and Triton serve.").Bool()
	return cmd.FullCommand(), func() error {
		return untilSignal(func(ctx context.Context) error {
			if *length > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, *length)
				defer cancel()
			}
			spec := simulate.DemoFleet(*speed)
			if *mixed {
				spec = simulate.MixedFleet(*speed)
			}
			return demo(ctx, out, &serving, spec)
		})
	}
}

// demo runs the fleet and an exporter that scrapes it.
func demo(ctx context.Context, out *output, flags *webFlags, spec simulate.FleetSpec) error {
	// The fleet outlives ctx, so that nothing fails while the exporter stops.
	fleet, err := simulate.StartFleet(context.WithoutCancel(ctx), spec)
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	defer fleet.Close()
	text := demoText(fleet)
	logger := promslog.New(&out.log)
	e, err := newExporter(ctx, logger, flags, func() (*config.File, error) { return config.Parse("demo", []byte(text)) })
	if err != nil {
		return err
	}
	if _, err := fmt.Fprint(out.stdout, guide(e.server.Addr(), fleet)); err != nil {
		e.server.Close()
		return err
	}
	return e.run(ctx, nil)
}

// demoText is the configuration of a fleet. What is expected of a pool is what
// its first replica runs, so that the one of an older release is noticed; one
// without TensorRT-LLM expects nothing.
func demoText(fleet *simulate.Fleet) string {
	var b strings.Builder
	b.WriteString(demoConfig)
	for _, pool := range fleet.Pools() {
		fmt.Fprintf(&b, "  - pool_id: %q\n", pool.Name)
		if version := pool.Replicas[0].Spec().TRTLLMVersion; version != "" {
			fmt.Fprintf(&b, "    expect: { trtllm_version: %q }\n", version)
		}
		b.WriteString("    canary: { enabled: true, interval: 10s }\n    static_configs:\n")
		for _, r := range pool.Replicas {
			fmt.Fprintf(&b, "      - { targets: [%q], labels: { replica_id: %q, %s: %q, %s: %q } }\n",
				r.MetricsAddr(), r.Name(), model.MetricsPathLabel, r.MetricsPath(), collector.APIAddressLabel, r.APIAddr())
		}
	}
	return b.String()
}

// guide says where to look.
func guide(addr string, fleet *simulate.Fleet) string {
	var b strings.Builder
	replicas := 0
	for _, pool := range fleet.Pools() {
		replicas += len(pool.Replicas)
	}
	fmt.Fprintf(&b, "A simulated fleet of %s in %s is being scraped. Where to look:\n\n",
		count(replicas, "replica"), count(len(fleet.Pools()), "pool"))
	for _, line := range [][2]string{
		{"in a browser", "http://%s/"},
		{"the fleet", "curl -sg 'http://%s/targets?format=json'"},
		{"all metrics", "curl -sg http://%s/metrics"},
		{"tokens a second", "curl -sg 'http://%s/metrics?name[]=llm_server_generation_tokens_per_second'"},
		{"queues", "curl -sg 'http://%s/metrics?name[]=llm_server_queue_depth'"},
		{"one pool", "curl -sg 'http://%s/metrics?pool_id=" + fleet.Pools()[0].Name + "'"},
		{"for Prometheus", "http_sd_configs: [{url: 'http://%s/sd'}]"},
	} {
		fmt.Fprintf(&b, "  %-16s "+line[1]+"\n", line[0], addr)
	}
	b.WriteString("\nRates appear after two scrapes. Ctrl-C stops.\n\n")
	return b.String()
}
