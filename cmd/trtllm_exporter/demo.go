package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/common/model"

	"github.com/trtllm-exporter/trtllm_exporter/collector"
	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

type demoFlags struct {
	length   time.Duration
	speed    float64
	calm     bool
	mixed    bool
	staged   bool
	faults   []string
	replicas int
}

func declareDemo(app *kingpin.Application, out *output) (string, func() error) {
	cmd := app.Command("demo", "Serve the metrics of a simulated fleet, to try the exporter without a GPU. After "+
		"half a minute its replicas begin to fail, one after the other.")
	var serving webFlags
	serving.declare(cmd)
	var f demoFlags
	cmd.Flag("for", "Stop after this time instead of at Ctrl-C.").PlaceHolder("TIME").DurationVar(&f.length)
	cmd.Flag("speed", "Simulated seconds per second.").Default("1").Float64Var(&f.speed)
	cmd.Flag("calm", "Inject no faults, and let no requests wait.").BoolVar(&f.calm)
	cmd.Flag("fault", "Inject only this fault, at once; repeatable: "+strings.Join(faultNames(), ", ")+".").
		PlaceHolder("NAME").
		StringsVar(&f.faults)
	cmd.Flag("replicas", "Number of replicas.").Default("6").IntVar(&f.replicas)
	cmd.Flag("mixed", "Add two pools in which every replica is a different kind of server.").BoolVar(&f.mixed)
	cmd.Flag("disaggregated", "Add two pools in which some servers prefill and others decode.").BoolVar(&f.staged)
	check := func() error { return cmp.Or(f.check(), serving.check()) }
	return cmd.FullCommand(), checked(check, func(ctx context.Context) error {
		if f.length > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, f.length)
			defer cancel()
		}
		return f.run(ctx, out, &serving)
	})
}

// maxReplicas bounds the fleet of the demo; each replica opens two ports.
const maxReplicas = 1000

func (f *demoFlags) check() error {
	for _, name := range f.faults {
		switch named := faultNamed(name); {
		case named == nil:
			return fmt.Errorf("--fault: there is no %q; use %s", name, strings.Join(faultNames(), ", "))
		case named.staged && !f.staged:
			return fmt.Errorf("--fault: %s is between servers that prefill and decode; add --disaggregated", name)
		}
	}
	switch {
	case f.calm && len(f.faults) > 0:
		return errors.New("--calm and --fault are both given; give one of them")
	case f.length < 0:
		return fmt.Errorf("--for: %s is below 0; give a time, or leave it out to go on until Ctrl-C", f.length)
	case !(f.speed > 0):
		return fmt.Errorf("--speed: with %v nothing ever happens; use more than 0, up to 1000", f.speed)
	case f.replicas < 1 || f.replicas > maxReplicas:
		return fmt.Errorf("--replicas: %d is out of range; use 1 to %d", f.replicas, maxReplicas)
	}
	return nil
}

func (f *demoFlags) run(ctx context.Context, out *output, flags *webFlags) error {
	// The fleet outlives ctx, so that nothing fails while the exporter stops.
	fleet, err := simulate.StartFleet(context.WithoutCancel(ctx), f.fleet())
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	defer fleet.Close()
	text := demoText(fleet)
	logger := out.quietLogger() // The story replaces the log unless a level is given.
	e, err := newExporter(
		ctx,
		logger,
		out.secrets,
		flags.options(),
		func() (*config.File, error) { return config.Parse("demo", []byte(text)) },
	)
	if err != nil {
		return err
	}
	_, _ = io.WriteString(
		out.stdout,
		guide(e.server.Addr(), fleet, f)+"\n",
	) // The demo goes on even if nobody reads its output.
	storyCtx, stop := context.WithCancel(ctx)
	var telling sync.WaitGroup
	defer telling.Wait()
	defer stop()
	if !f.calm {
		s := &story{pools: fleet.Pools(), exporter: e, out: out.stdout, start: time.Now()}
		telling.Go(func() { s.tell(storyCtx, f.faults) })
	}
	return e.run(ctx, nil)
}

func (f *demoFlags) fleet() simulate.FleetSpec {
	fleet := demoFleet(f.replicas, f.speed)
	if f.staged {
		fleet.Pools = append(fleet.Pools, simulate.StagedPools(f.speed)...)
	}
	if f.mixed {
		pools := simulate.MixedFleet(f.speed).Pools
		mixed := pools[len(pools)-1]
		fleet.Pools = append(fleet.Pools, mixed, otherKinds(&mixed.Replicas[0]))
	}
	if f.calm {
		calm(&fleet)
	}
	return fleet
}

// calm leaves out the bursts that fill replicas for seconds: the rate rises a little once a minute, nothing waits, and
// none of the few requests fails that do so in any fleet.
func calm(fleet *simulate.FleetSpec) {
	const peak, length = 1.2, 12 * time.Second
	for p := range fleet.Pools {
		for i := range fleet.Pools[p].Replicas {
			r := &fleet.Pools[p].Replicas[i]
			at, rate := time.Duration(5+20*(i%3))*time.Second, r.Workload.Rate
			r.Scenario = simulate.Burst(at, length, rate, peak*rate).Repeat(5000, time.Minute)
			r.Workload.ErrorRate, r.Workload.AbandonRate = 0, 0
		}
	}
}

// otherKinds returns a pool of the kinds of servers that the mixed pool lacks, based on a
// template.
func otherKinds(template *simulate.Spec) simulate.PoolSpec {
	pool := simulate.PoolSpec{Name: "gemma-9b-mixed"}
	for i, kind := range []simulate.Kind{
		simulate.KindNIM, simulate.KindDynamo, simulate.KindTritonOpenAI, simulate.KindTritonVLLM,
	} {
		spec := *template
		spec.Name, spec.Model, spec.Kind, spec.Seed = fmt.Sprintf("gemma-9b-%d", i), "gemma-9b", kind, uint64(50+i)
		pool.Replicas = append(pool.Replicas, spec)
	}
	return pool
}

// demoFleet returns simulate.DemoFleet with the given number of replicas, all of one release and
// ready from the start.
func demoFleet(replicas int, speed float64) simulate.FleetSpec {
	fleet := simulate.DemoFleet(speed)
	for p := range fleet.Pools {
		pool := &fleet.Pools[p]
		templates, size := pool.Replicas, (replicas+len(fleet.Pools)-1-p)/len(fleet.Pools)
		pool.Replicas = make([]simulate.Spec, size)
		for i := range pool.Replicas {
			spec := templates[0]
			spec.Name = fmt.Sprintf("%s-%d", strings.TrimSuffix(spec.Name, "-0"), i)
			spec.Seed += uint64(i)
			spec.LoadDuration = 0
			spec.Scenario = templates[i%len(templates)].Scenario
			pool.Replicas[i] = spec
		}
	}
	fleet.Pools = slices.DeleteFunc(fleet.Pools, func(p simulate.PoolSpec) bool { return len(p.Replicas) == 0 })
	return fleet
}

// demoText returns the configuration of a fleet. Each pool expects its number of replicas and the
// version of its first replica, so that another version stands out.
func demoText(fleet *simulate.Fleet) string {
	var b strings.Builder
	b.WriteString("global: { scrape_interval: 1s, scrape_timeout: 900ms, window: 15s, stall_after: 5s }\npools:\n")
	for _, pool := range fleet.Pools() {
		fmt.Fprintf(&b, "  - pool_id: %q\n", pool.Name)
		fmt.Fprintf(&b, "    expect: { replicas: %d", len(pool.Replicas))
		if version := pool.Replicas[0].Spec().TRTLLMVersion; version != "" {
			fmt.Fprintf(&b, ", trtllm_version: %q", version)
		}
		b.WriteString(" }\n    slo: { ttft: { le: 5s, objective: 0.9 }")
		if alike(pool.Replicas) { // Others would be a part of the pool that counts no failures.
			b.WriteString(", availability: { objective: 0.99 }")
		}
		b.WriteString(" }\n")
		if !slices.ContainsFunc(pool.Replicas, cannotBeAsked) {
			// A frozen replica shows soon. One whose canary waits behind others is only slow.
			b.WriteString("    canary: { enabled: true, interval: 30s, first_token_timeout: 4s }\n")
		}
		b.WriteString("    static_configs:\n")
		for _, r := range pool.Replicas {
			fmt.Fprintf(
				&b,
				"      - { targets: [%q], labels: { replica_id: %q, %s: %q, %s: %q } }\n",
				r.MetricsAddr(),
				r.Name(),
				model.MetricsPathLabel,
				r.MetricsPath(),
				collector.APIAddressLabel,
				r.APIAddr(),
			)
		}
	}
	return b.String()
}

// cannotBeAsked reports whether a replica does not answer canary requests, so that LLMCanaryFailing would
// fire: a Dynamo worker has no API, and clients do not ask servers of a stage.
func cannotBeAsked(r *simulate.Replica) bool {
	return r.Spec().Kind == simulate.KindDynamo || r.Spec().Stage != ""
}

// alike reports whether replicas are of one kind.
func alike(all []*simulate.Replica) bool {
	return !slices.ContainsFunc(all, func(r *simulate.Replica) bool { return r.Spec().Kind != all[0].Spec().Kind })
}

// ownName is what calls this program in a shell: its name if that is found, or else its path, as after `make demo`.
func ownName() string {
	if _, err := exec.LookPath(program); err == nil {
		return program
	}
	path, err := os.Executable()
	if err != nil {
		return program
	}
	if dir, err := os.Getwd(); err == nil {
		if below, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(below) {
			path = "." + string(filepath.Separator) + below
		}
	}
	return path
}

func guide(addr string, fleet *simulate.Fleet, f *demoFlags) string {
	var b strings.Builder
	replicas, pools := 0, fleet.Pools()
	for _, pool := range pools {
		replicas += len(pool.Replicas)
	}
	fmt.Fprintf(
		&b,
		"A simulated fleet of %s in %s is being scraped.\n\n",
		count(replicas, "replica"),
		count(len(pools), "pool"),
	)
	// The longest line is 79 columns wide.
	fmt.Fprintf(&b, `fleet   http://%[1]s/
top     %[2]s top %[1]s
JSON    curl -sg 'http://%[1]s/targets?format=json'
all     curl -sg http://%[1]s/metrics
queues  curl -sg 'http://%[1]s/metrics?name[]=llm_server_queue_depth'
SD      http_sd_configs: [{url: 'http://%[1]s/sd'}]
`, addr, ownName())
	switch {
	case f.calm:
		b.WriteString("\nNothing will fail, and no request waits.\n")
	case len(f.faults) > 0:
		b.WriteString("\nThis will fail in a moment: " + strings.Join(f.faults, ", ") + ".\n")
	default:
		b.WriteString("\nEverything is healthy for the first 30 seconds; then one thing after another\nfails, each until " +
			"its alert has fired: a round takes half an hour. It is\ndetected sooner than usual: stall_after is 5s " +
			"here, window 15s.\n")
	}
	return b.String()
}
