package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/web"
)

// defaultAddress is on loopback: metrics are open to others only on
// request.
const defaultAddress = "127.0.0.1:9802"

// webFlags are what concerns the HTTP server.
type webFlags struct {
	addresses  []string
	configFile string
	lifecycle  bool
	inFlight   int
	health     string
	unjudged   string
	canary     bool
	// runbook and grafana are where pages lead, config is what the commands on them name.
	runbook, grafana, config string
}

// declare adds the flags to a subcommand.
func (f *webFlags) declare(cmd *kingpin.CmdClause) {
	cmd.Flag("web.listen-address", "Address to serve on as host:port; repeatable.").Default(defaultAddress).StringsVar(&f.addresses)
	cmd.Flag("web.config.file", "File with TLS and users, in the format of Prometheus' exporter-toolkit.").
		PlaceHolder("FILE").StringVar(&f.configFile)
	cmd.Flag("web.enable-lifecycle", "Enable POST /-/reload and GET /config.").BoolVar(&f.lifecycle)
	cmd.Flag("web.max-requests", "Requests handled at once; further ones get a 503.").
		Default(strconv.Itoa(web.DefaultMaxInFlight)).IntVar(&f.inFlight)
	cmd.Flag("web.grpc-health-address", "Address of the probes in the gRPC health protocol as host:port, without TLS; not served unless given.").
		PlaceHolder("HOST:PORT").StringVar(&f.health)
	cmd.Flag("web.runbook-url", "Address of your own runbook, to which # and the name of an alert are added; the pages lead to /runbook unless given.").
		PlaceHolder("URL").StringVar(&f.runbook)
	cmd.Flag("web.grafana-url", "Address of the Grafana that has the dashboards; the page of a replica leads there if given.").
		PlaceHolder("URL").StringVar(&f.grafana)
	answers := []string{string(web.UnjudgedServer), string(web.UnjudgedReady), string(web.UnjudgedUnready)}
	cmd.Flag("probe.unjudged", "Readiness answer for replicas that are not judged yet: what the server says when it is asked then, ready, or unready.").
		Default(answers[0]).EnumVar(&f.unjudged, answers...)
	cmd.Flag("probe.canary", "A readiness probe fails while the canary of the replica fails; --no-probe.canary to leave that to alerts.").
		Default("true").BoolVar(&f.canary)
}

// check says which flag cannot be meant.
func (f *webFlags) check() error {
	if f.inFlight < 1 {
		return fmt.Errorf("--web.max-requests: %d is below 1; use 1 or more", f.inFlight)
	}
	return nil
}

// sourceFlags say what is scraped.
type sourceFlags struct {
	file              string
	reload            time.Duration
	targets           []string
	interval, timeout time.Duration
	shard             string
	names             naming
}

// declareServe declares the default subcommand.
func declareServe(app *kingpin.Application, out *output) (string, func() error) {
	cmd := app.Command("serve", "Scrape and serve until a signal comes. This is the default.").Default()
	var source sourceFlags
	var serving webFlags
	cmd.Flag("config.file", "Configuration file; SIGHUP reads it again.").PlaceHolder("FILE").StringVar(&source.file)
	cmd.Flag("config.reload-interval", "How often to look whether the configuration file has another content, and read it again if so; 0 is never.").
		Default("0s").DurationVar(&source.reload)
	cmd.Flag("target", "Server as host:port or URL, for use without a file; repeatable.").PlaceHolder("SERVER").StringsVar(&source.targets)
	cmd.Flag("scrape.interval", "Time between two scrapes of a --target (default 5s).").PlaceHolder("5s").DurationVar(&source.interval)
	cmd.Flag("scrape.timeout", "Time one scrape of a --target may take (default 4s, or the interval if that is shorter).").
		PlaceHolder("4s").DurationVar(&source.timeout)
	cmd.Flag("sharding.index", "Which of the exporters of sharding.total this is, from 0: a number, or a name that ends in one.").
		PlaceHolder("N").StringVar(&source.shard)
	cmd.Flag("pool-id", "Name of the one pool, for a sidecar.").PlaceHolder("NAME").StringVar(&source.names.poolID)
	cmd.Flag("replica-id", "Name of the one static target, usually that of the pod; also with a file.").
		PlaceHolder("NAME").StringVar(&source.names.replicaID)
	serving.declare(cmd)
	check := func() error { return cmp.Or(source.check(), serving.check()) }
	return cmd.FullCommand(), checked(check, func(ctx context.Context) error { return serve(ctx, out, &serving, &source) })
}

// check says which flags contradict each other.
func (s *sourceFlags) check() error {
	switch {
	case s.file != "" && len(s.targets) > 0:
		return errors.New("--config.file and --target are both given; name targets in the file, or leave the file out")
	case s.file == "" && len(s.targets) == 0:
		return errors.New("there is nothing to scrape; give --target URL (repeatable) or --config.file FILE, or try: trtllm_exporter demo")
	case s.file != "" && (s.interval != 0 || s.timeout != 0):
		return errors.New("--scrape.interval and --scrape.timeout are for --target; with a file set global.scrape_interval and global.scrape_timeout in it")
	case s.file == "" && s.shard != "":
		return errors.New("--sharding.index is for a file with sharding.total; give --config.file FILE")
	case s.reload < 0:
		return fmt.Errorf("--config.reload-interval: %s is below 0; give a time, or 0 to read the file on SIGHUP only", s.reload)
	case s.file == "" && s.reload > 0:
		return errors.New("--config.reload-interval is for a file; give --config.file FILE")
	case s.interval < 0 || s.timeout < 0:
		return errors.New("--scrape.interval and --scrape.timeout must be longer than 0")
	}
	window := time.Duration(config.DefaultFile.Global.Derive.Window)
	if s.interval > window/2 {
		return fmt.Errorf("--scrape.interval: with %s there are no two scrapes in the window of %s that rates cover; use %s or less, or a file with a longer global.window", s.interval, window, window/2)
	}
	return nil
}

// load reads the configuration and puts in what only the command line knows.
func (s *sourceFlags) load() (*config.File, error) {
	f, err := s.read()
	if err != nil {
		return nil, err
	}
	return f, s.names.apply(f)
}

// read reads the file, or makes a configuration of the targets.
func (s *sourceFlags) read() (*config.File, error) {
	if s.file != "" {
		f, err := config.Load(s.file)
		if err != nil {
			return nil, err
		}
		if err := f.Sharding.Place(s.shard); err != nil {
			return nil, fmt.Errorf("%s: %w", s.file, err)
		}
		return f, nil
	}
	pool := config.DefaultPool
	pool.ScrapeInterval, pool.ScrapeTimeout = model.Duration(s.interval), model.Duration(s.timeout)
	return config.FromTargets(schemed(s.targets, pool.Scheme), pool)
}

// serve runs the exporter until ctx ends.
func serve(ctx context.Context, out *output, flags *webFlags, source *sourceFlags) error {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	logger := promslog.New(&out.log)
	takeKubernetesLog(logger)
	takeStandardLog(logger)
	var before content
	flags.config = source.file
	if source.reload > 0 {
		before = contentOf(source.file) // What is written while it starts is another.
	}
	e, err := newExporter(ctx, logger, flags, source.load)
	if err != nil {
		return err
	}
	var watching sync.WaitGroup
	defer watching.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if source.reload > 0 {
		watching.Go(func() { watch(ctx, source.file, before, source.reload, hangups) })
	}
	return e.run(ctx, hangups)
}

// takeStandardLog gives package log of the standard library, in which clients of
// net/http complain of servers, the exporter's log: otherwise its lines would be
// between those of JSON.
func takeStandardLog(logger *slog.Logger) {
	slog.SetLogLoggerLevel(slog.LevelDebug)
	slog.SetDefault(logger.With("component", "net/http"))
}

// checked is the action of a subcommand: it works until a signal comes, if the
// flags can be meant.
func checked(check func() error, work func(context.Context) error) func() error {
	return func() error {
		if err := check(); err != nil {
			return usageError{err}
		}
		return untilSignal(work)
	}
}

// errForced is the end that a second signal asks for.
var errForced = errors.New("stopped at once by a second signal")

// untilSignal runs work with a context that the first SIGINT or SIGTERM ends.
// A second one does not wait for work any more.
func untilSignal(work func(context.Context) error) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	stops := make(chan os.Signal, 2)
	signal.Notify(stops, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(stops)
	done := make(chan error, 1)
	go func() { done <- work(ctx) }()
	select {
	case err := <-done:
		return err
	case <-stops:
		cancel()
	}
	select {
	case err := <-done:
		return err
	case <-stops:
		return errForced
	}
}
