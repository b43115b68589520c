package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/alecthomas/kingpin/v2"
	promconfig "github.com/prometheus/common/config"
	"github.com/prometheus/common/model"
	"golang.org/x/term"

	"github.com/trtllm-exporter/trtllm_exporter/cmd/trtllm_exporter/top"
	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/secret"
	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
	"github.com/trtllm-exporter/trtllm_exporter/collector/web"
)

type topFlags struct {
	url      string
	targets  []string
	file     string
	interval time.Duration
	once     bool
	json     bool
	choice   top.Choice
	access   accessFlags
}

func declareTop(app *kingpin.Application, out *output) (string, func() error) {
	cmd := app.Command("top", "Show the fleet in the terminal, as a running exporter reports it, or ask servers "+
		"directly with --target or --config.file.")
	var f topFlags
	cmd.Arg("url", "URL of the exporter.").Default("http://" + defaultAddress).StringVar(&f.url)
	cmd.Flag("target", "Ask this server instead of an exporter; repeatable.").PlaceHolder("URL").StringsVar(&f.targets)
	cmd.Flag("config.file", "Ask the servers of this configuration instead of "+
		"an exporter.").PlaceHolder("FILE").StringVar(&f.file)
	cmd.Flag("every", "Refresh interval.").Default("2s").DurationVar(&f.interval)
	cmd.Flag("once", "Print the fleet as text and exit.").BoolVar(&f.once)
	cmd.Flag("json", "Print the fleet as JSON and exit.").BoolVar(&f.json)
	cmd.Flag("sort", "Order of the replicas: "+strings.Join(top.Orders(), ", ")+".").
		Default(top.Orders()[0]).
		EnumVar(&f.choice.Order, top.Orders()...)
	cmd.Flag("filter", "Show only replicas with this text in pool, name, state, "+
		"reason or version.").PlaceHolder("TEXT").StringVar(&f.choice.Text)
	cmd.Flag("wrong", "Show only replicas with a problem.").BoolVar(&f.choice.Wrong)
	f.access.declare(cmd)
	return cmd.FullCommand(), checked(f.check, func(ctx context.Context) error { return f.run(ctx, out) })
}

func (f *topFlags) check() error {
	switch {
	case len(f.targets) > 0 && f.file != "":
		return errors.New("--config.file and --target are both given; name targets in the file, or leave the file out")
	case f.direct() && f.url != "http://"+defaultAddress:
		return errors.New("an exporter and servers are both named; leave the URL of the exporter out, or --target " +
			"and --config.file")
	case f.interval < 100*time.Millisecond:
		return errors.New("--every must be 100ms or more")
	}
	return f.access.checkBeside(f.file, "", nil)
}

// direct reports whether servers are queried instead of an exporter.
func (f *topFlags) direct() bool { return len(f.targets) > 0 || f.file != "" }

// run shows the fleet of an exporter. If servers are named, it runs an exporter for them on
// loopback.
func (f *topFlags) run(ctx context.Context, out *output) error {
	if !f.direct() {
		client, err := f.client(out.secrets)
		if err != nil {
			return err
		}
		return f.present(ctx, out.stdout, client)
	}
	var running sync.WaitGroup
	defer running.Wait()
	exporterCtx, stop := context.WithCancel(ctx)
	defer stop()
	opts := web.Options{ListenAddresses: []string{"127.0.0.1:0"}}
	e, err := newExporter(exporterCtx, out.quietLogger(), out.secrets, opts, f.load)
	if err != nil {
		return err
	}
	running.Go(func() { _ = e.run(exporterCtx, nil) }) // If it fails, so do the requests to it.
	if f.once || f.json {
		waitForRates(ctx, e)
	}
	return f.present(ctx, out.stdout, &top.Client{HTTP: &http.Client{}, URL: "http://" + e.server.Addr()})
}

// client returns a client of the exporter with TLS and credentials from the flags, or the user of
// the URL, which secrets learns.
func (f *topFlags) client(secrets *secret.Store) (*top.Client, error) {
	pool := config.DefaultPool
	f.access.apply(&pool)
	u, err := url.Parse(withScheme([]string{strings.TrimRight(f.url, "/")}, pool.Scheme)[0])
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return nil, exitError{fmt.Errorf("top: %w; write http://host:port", failed.Err), exitUsage}
	}
	settings := promconfig.HTTPClientConfig{
		TLSConfig:     pool.HTTP.TLS,
		BasicAuth:     pool.HTTP.BasicAuth,
		Authorization: pool.HTTP.Authorization,
	}
	if u.User != nil {
		password, _ := u.User.Password()
		settings.BasicAuth = &promconfig.BasicAuth{Username: u.User.Username(), Password: promconfig.Secret(password)}
		u.User = nil // The URL is displayed.
	}
	if err := settings.Validate(); err != nil {
		return nil, exitError{err, exitUsage}
	}
	elsewhere := secrets.AddConfig(settings)
	if err := elsewhere.Check(); err != nil { // The client reads files to their end.
		return nil, exitError{fmt.Errorf("top: %w", err), exitUsage}
	}
	client, err := promconfig.NewClientFromConfig(settings, "top")
	if err != nil {
		return nil, fmt.Errorf("top: %w", err)
	}
	client.Transport = elsewhere.Transport(client.Transport)
	return &top.Client{HTTP: client, URL: u.String(), Hide: secrets.HideInAnswer}, nil
}

// load returns the configuration for the named servers. It disables iteration statistics, which
// servers hand out only once, in favor of the exporter that runs with the same file.
func (f *topFlags) load() (*config.File, error) {
	if f.file == "" {
		pool := config.DefaultPool
		f.access.apply(&pool)
		pool.ScrapeInterval = model.Duration(max(f.interval, time.Second))
		return config.FromTargets(withScheme(f.targets, pool.Scheme), pool)
	}
	file, err := loadUnsharded(f.file)
	if err != nil {
		return nil, err
	}
	for i := range file.Pools {
		file.Pools[i].IterationStats = false
	}
	return file, nil
}

// waitForRates waits until every healthy server was scraped often enough for rates.
func waitForRates(ctx context.Context, e *exporter) {
	const scrapes, timeout = 3, 30 * time.Second
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for wait(ctx, pollInterval) {
		waits := slices.ContainsFunc(e.store.Slots(), func(slot *snapshot.Slot) bool {
			status := slot.Status()
			return !slot.Target().Silent && status.Health != target.HealthDown && status.Scrapes < scrapes
		})
		if !waits && e.collector.Ready() {
			return
		}
	}
}

func (f *topFlags) present(ctx context.Context, w io.Writer, client *top.Client) error {
	if !f.once && !f.json {
		return f.follow(ctx, client)
	}
	fleet, raw, err := f.fleet(ctx, client)
	if err != nil {
		return err
	}
	if !f.json {
		raw = []byte(top.Once(fleet, f.choice, widthOf(w)))
	}
	_, err = w.Write(raw)
	return err
}

// fleet requests the fleet once. The error names alternatives.
func (f *topFlags) fleet(ctx context.Context, client *top.Client) (fleet *web.Fleet, raw []byte, err error) {
	fleet, raw, err = client.Fleet(ctx)
	switch {
	case err != nil && f.direct():
		err = fmt.Errorf("top: %w", err)
	case err != nil:
		err = fmt.Errorf("top: %w; %s", err, adviceFor(err))
	}
	return fleet, raw, err
}

// adviceFor returns what to do if no exporter answers.
func adviceFor(err error) string {
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	switch text := err.Error(); {
	case untrusted:
		return "give --tls.ca-file FILE with the CA of its certificate"
	case strings.Contains(text, "HTTPS server"):
		return "write its address with https://"
	case strings.Contains(text, "answers 401"):
		return "give --user NAME and --password-file FILE"
	}
	return "is an exporter running there? Name it (top http://host:9802), ask servers directly (top --target " +
		"http://host:8002), or start one: " + program + " demo"
}

// follow shows the fleet on the terminal. It fails if the exporter does not answer the first
// request.
func (f *topFlags) follow(ctx context.Context, client *top.Client) error {
	if !term.IsTerminal(int(os.Stdin.Fd())) || !term.IsTerminal(int(os.Stdout.Fd())) {
		return exitError{
			errors.New("top: standard input and output are not a terminal; give --once or --json"),
			exitUsage,
		}
	}
	opts := top.Options{Client: client, Interval: f.interval, Choice: f.choice}
	if f.direct() {
		opts.Connecting = "Asking the servers …"
	} else if _, _, err := f.fleet(ctx, client); err != nil {
		return err
	}
	return top.Run(ctx, opts)
}
