package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/discovery/targetgroup"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/web"
	"github.com/trtllm-exporter/trtllm_exporter/relabel"
)

// defaultAddress is on loopback, so that other hosts can read the metrics only if configured.
const defaultAddress = "127.0.0.1:9802"

type webFlags struct {
	web.Options

	// canary is the inverse of IgnoreCanary.
	canary bool
}

func (f *webFlags) declare(cmd *kingpin.CmdClause) {
	cmd.Flag("web.listen-address", "Address to serve on as host:port; repeatable.").
		Default(defaultAddress).
		StringsVar(&f.ListenAddresses)
	cmd.Flag("web.config.file", "File with TLS and users, in the format of Prometheus' exporter-toolkit.").
		PlaceHolder("FILE").StringVar(&f.WebConfigFile)
	cmd.Flag("web.enable-lifecycle", "Enable POST /-/reload and GET /config.").BoolVar(&f.EnableLifecycle)
	cmd.Flag("web.max-requests", "Requests handled at once; further ones get a 503.").
		Default(strconv.Itoa(web.DefaultMaxInFlight)).IntVar(&f.MaxInFlight)
	cmd.Flag("web.grpc-health-address", "Address of the probes in the gRPC health protocol as host:port, without "+
		"TLS; not served unless given.").
		PlaceHolder("HOST:PORT").StringVar(&f.GRPCHealthAddress)
	cmd.Flag("web.runbook-url", "Address of your own runbook, to which # and the name of an alert are added; pages "+
		"link to /runbook unless given.").
		PlaceHolder("URL").StringVar(&f.Runbook)
	cmd.Flag("web.grafana-url", "Address of the Grafana that has the dashboards; the page of a replica links to "+
		"it if given.").
		PlaceHolder("URL").StringVar(&f.Grafana)
	answers := []string{string(web.UnjudgedServer), string(web.UnjudgedReady), string(web.UnjudgedUnready)}
	cmd.Flag("probe.unjudged", "Readiness answer for replicas that are not judged yet: the server's own answer at "+
		"that moment (server), ready, or unready.").
		Default(answers[0]).EnumVar((*string)(&f.Unjudged), answers...)
	cmd.Flag("probe.canary", "Fail readiness probes of replicas that are canary_failing; --no-probe.canary leaves "+
		"those to alerts.").
		Default("true").BoolVar(&f.canary)
}

func (f *webFlags) check() error {
	if f.MaxInFlight < 1 {
		return fmt.Errorf("--web.max-requests: %d is below 1; use 1 or more", f.MaxInFlight)
	}
	return cmp.Or(checkURLFlag("--web.runbook-url", f.Runbook), checkURLFlag("--web.grafana-url", f.Grafana))
}

// checkURLFlag returns an error unless a flag is not given, or is a URL.
func checkURLFlag(name, text string) error {
	if text == "" {
		return nil
	}
	if err := config.CheckURL(text); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if u, err := url.Parse(text); err != nil || u.User != nil {
		return fmt.Errorf("%s: has a user name or password, which links would show; remove it", name)
	}
	return nil
}

func (f *webFlags) options() web.Options {
	opts := f.Options
	opts.IgnoreCanary, opts.Grafana = !f.canary, strings.TrimRight(opts.Grafana, "/")
	return opts
}

// sourceFlags selects the targets.
type sourceFlags struct {
	file              string
	reloadInterval    time.Duration
	targets           []string
	interval, timeout time.Duration
	shard             string
	names             namingFlags
}

func declareServe(app *kingpin.Application, out *output) (string, func() error) {
	cmd := app.Command("serve", "Scrape and serve until a signal arrives. This is the default.").Default()
	var source sourceFlags
	var serving webFlags
	cmd.Flag("config.file", "Configuration file; SIGHUP reads it again.").PlaceHolder("FILE").StringVar(&source.file)
	cmd.Flag("config.reload-interval", "How often to check whether the content of the configuration file has "+
		"changed, and reload it if so; 0 is never.").
		Default("0s").DurationVar(&source.reloadInterval)
	cmd.Flag("target", "Server as host:port or URL, for use without a "+
		"file; repeatable.").PlaceHolder("SERVER").StringsVar(&source.targets)
	cmd.Flag("scrape.interval", "Interval between scrapes of a --target (default 5s).").
		PlaceHolder("5s").
		DurationVar(&source.interval)
	cmd.Flag("scrape.timeout", "Timeout of a scrape of a --target (default 4s, or the interval if that is shorter).").
		PlaceHolder("4s").DurationVar(&source.timeout)
	cmd.Flag("sharding.index", "Index of this exporter among those of sharding.total, from 0: a number, or a name "+
		"that ends in one.").
		PlaceHolder("N").StringVar(&source.shard)
	cmd.Flag("pool-id", "Name of the only pool; replaces the pool_id of a file that several "+
		"sidecars share.").PlaceHolder("NAME").StringVar(&source.names.poolID)
	cmd.Flag("replica-id", "Name of the only static target, usually that of the pod; also with a file.").
		PlaceHolder("NAME").StringVar(&source.names.replicaID)
	serving.declare(cmd)
	check := func() error { return cmp.Or(source.check(), serving.check()) }
	return cmd.FullCommand(), checked(
		check,
		func(ctx context.Context) error { return serve(ctx, out, &serving, &source) },
	)
}

func (s *sourceFlags) check() error {
	switch {
	case s.file != "" && len(s.targets) > 0:
		return errors.New("--config.file and --target are both given; name targets in the file, or leave the file out")
	case s.file == "" && len(s.targets) == 0:
		return errors.New("there is nothing to scrape; give --target URL (repeatable) or --config.file FILE, or " +
			"try: trtllm_exporter demo")
	case s.file != "" && (s.interval != 0 || s.timeout != 0):
		return errors.New("--scrape.interval and --scrape.timeout are for --target; with a file set " +
			"global.scrape_interval and global.scrape_timeout in it")
	case s.file == "" && s.shard != "":
		return errors.New("--sharding.index is for a file with sharding.total; give --config.file FILE")
	case s.reloadInterval < 0:
		return fmt.Errorf("--config.reload-interval: %s is below 0; give a time, or 0 to read the file "+
			"on SIGHUP only", s.reloadInterval)
	case s.file == "" && s.reloadInterval > 0:
		return errors.New("--config.reload-interval is for a file; give --config.file FILE")
	case tooShort(s.interval) || tooShort(s.timeout):
		return errors.New("--scrape.interval and --scrape.timeout must be 1ms or longer")
	}
	window := time.Duration(config.DefaultFile.Global.Window)
	if s.interval > window/2 {
		return fmt.Errorf("--scrape.interval: %s leaves fewer than two scrapes in the window of %s that rates "+
			"cover; use %s or less, or a file with a longer global.window", s.interval, window, window/2)
	}
	return nil
}

// tooShort reports whether a time is given, and shorter than a file can say.
func tooShort(given time.Duration) bool { return given != 0 && given < time.Millisecond }

// load loads the file, or returns a configuration for the targets, and applies the naming flags.
func (s *sourceFlags) load() (*config.File, error) {
	if s.file == "" {
		pool := config.DefaultPool
		pool.ScrapeInterval, pool.ScrapeTimeout = model.Duration(s.interval), model.Duration(s.timeout)
		f, err := config.FromTargets(withScheme(s.targets, pool.Scheme), pool)
		if err != nil {
			return nil, err
		}
		return f, s.names.apply(f)
	}
	f, err := config.Load(s.file)
	if err != nil {
		return nil, err
	}
	if err := f.Sharding.Place(s.shard); err != nil {
		return nil, fmt.Errorf("%s: %w", s.file, err)
	}
	return f, s.names.apply(f)
}

// namingFlags holds the names of pool and target for a sidecar: all pods of a Deployment may
// share a file.
type namingFlags struct{ poolID, replicaID string }

// apply names the only pool and the only target of a configuration.
func (n namingFlags) apply(f *config.File) error {
	if n.poolID != "" {
		if len(f.Pools) != 1 {
			return fmt.Errorf("--pool-id: names one pool, and there are %d; set pool_id of "+
				"each in the file", len(f.Pools))
		}
		f.Pools[0].PoolID = n.poolID
	}
	if n.replicaID != "" {
		group, err := onlyTarget(f)
		if err != nil {
			return err
		}
		group.Labels = group.Labels.Merge(model.LabelSet{relabel.LabelReplicaID: model.LabelValue(n.replicaID)})
	}
	if err := f.Validate(); err != nil {
		return fmt.Errorf("--pool-id or --replica-id: %w", err)
	}
	return nil
}

// onlyTarget returns the group of the only static target. Other kinds of discovery are an error.
func onlyTarget(f *config.File) (only *targetgroup.Group, err error) {
	targets, sources := 0, 0
	for i := range f.Pools {
		sd := &f.Pools[i].Discovery
		for _, group := range sd.StaticConfigs {
			if targets += len(group.Targets); len(group.Targets) > 0 {
				only = group
			}
		}
		sources += sd.Sources()
	}
	if targets != 1 || sources != 1 {
		return nil, fmt.Errorf("--replica-id: names one static target, and the configuration has %d, or other "+
			"kinds of discovery; set labels.replica_id of each, or a rule in relabel_configs", targets)
	}
	return only, nil
}

func serve(ctx context.Context, out *output, flags *webFlags, source *sourceFlags) error {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	logger := promslog.New(&out.log)
	redirectKubernetesLog(logger)
	flags.ConfigFile = source.file
	var initial []byte
	if source.reloadInterval > 0 { // A pipe can be read only once.
		initial = config.Contents(source.file) // A change while the exporter starts must count as one.
	}
	e, err := newExporter(ctx, logger, out.secrets, flags.options(), source.load)
	if err != nil {
		return err
	}
	if out.dropped != nil {
		e.registry.MustRegister(assess.MetricLogDropped.NewFunc(func() float64 { return float64(out.dropped.Load()) }))
	}
	signal.Ignore(syscall.SIGPIPE) // Whoever reads the log may end.
	var watching sync.WaitGroup
	defer watching.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if source.reloadInterval > 0 {
		watching.Go(func() { watch(ctx, source.file, initial, source.reloadInterval, hangups) })
	}
	return e.run(ctx, hangups)
}

// checked returns the action of a subcommand that checks its flags and then runs until a signal.
func checked(check func() error, work func(context.Context) error) func() error {
	return func() error {
		if err := check(); err != nil {
			return exitError{err, exitUsage}
		}
		return untilSignal(work)
	}
}

// untilSignal cancels the context of work at the first SIGINT or SIGTERM; a later one kills the
// process.
func untilSignal(work func(context.Context) error) error {
	ctx, stop := withSignals(os.Interrupt, syscall.SIGTERM)
	defer stop()
	return bounded(ctx, work)
}

// signaled is the cause of a context that a signal ended.
type signaled struct{ os.Signal }

func (s signaled) Error() string { return s.String() }

// sameSignal is how long signals after the first one are the same one: timeout, make and others send it to the
// process and to its group.
const sameSignal = 500 * time.Millisecond

// withSignals returns a context that the first of some signals ends; a later one kills the process.
func withSignals(which ...os.Signal) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	ended := make(chan struct{})
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, which...)
	go func() {
		defer signal.Stop(signals)
		select {
		case s := <-signals:
			cancel(signaled{s})
		case <-ended:
			return
		}
		select {
		case <-time.After(sameSignal):
		case <-ended:
		}
	}()
	return ctx, func() {
		cancel(nil)
		close(ended)
	}
}

// untilAnotherSignal returns a context that the next SIGINT or SIGTERM ends after the one that ended ctx.
func untilAnotherSignal(ctx context.Context) (context.Context, func()) {
	again, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		defer signal.Stop(signals)
		same := time.After(sameSignal)
		for {
			select {
			case s := <-signals:
				select {
				case <-same:
					cancel(signaled{s})
					return
				default:
				}
			case <-again.Done():
				return
			}
		}
	}()
	return again, func() { cancel(nil) }
}

// stopTimeout is a second longer than the web server waits for running requests.
const stopTimeout = 10 * time.Second

// bounded runs work, and gives up waiting for it stopTimeout after ctx is done.
func bounded(ctx context.Context, work func(context.Context) error) error {
	done := make(chan error, 1)
	go func() { done <- work(ctx) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	case <-time.After(stopTimeout):
		return fmt.Errorf("not everything ended within %s of the signal; what was left, such as a scrape, "+
			"was given up", stopTimeout)
	}
}

// watch requests a reload whenever the content of a file, or of the files with kinds that it names,
// changes, until ctx is done. It compares the content because a ConfigMap is mounted through symbolic
// links, which are swapped, and modification times say little. A file that cannot be read counts as a
// change only the second time in a row, and its reload fails.
func watch(ctx context.Context, file string, previous []byte, interval time.Duration, reload chan<- os.Signal) {
	latest := previous
	for wait(ctx, interval) {
		now := config.Contents(file) // It is nil if a file cannot be read.
		unreadable := now == nil && latest != nil
		if latest = now; unreadable || bytes.Equal(now, previous) {
			continue
		}
		previous = now
		select {
		case reload <- syscall.SIGHUP:
		default: // A reload is pending.
		}
	}
}
