package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/alecthomas/kingpin/v2"
	promconfig "github.com/prometheus/common/config"
	"github.com/prometheus/common/model"

	"github.com/trtllm-exporter/trtllm_exporter/cmd/trtllm_exporter/top"
	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/web"
)

// topFlags say whom top asks, and what it shows.
type topFlags struct {
	url     string
	targets []string
	file    string
	every   time.Duration
	once    bool
	json    bool
	choice  top.Choice
	access  accessFlags
}

// declareTop declares the subcommand that shows the fleet in a terminal.
func declareTop(app *kingpin.Application, out *output) (string, func() error) {
	cmd := app.Command("top", "Show the fleet in the terminal: what a running exporter sees, or servers themselves with --target or --config.file.")
	var f topFlags
	cmd.Arg("url", "URL of the exporter.").Default("http://" + defaultAddress).StringVar(&f.url)
	cmd.Flag("target", "Ask this server and no exporter; repeatable.").PlaceHolder("URL").StringsVar(&f.targets)
	cmd.Flag("config.file", "Ask the servers of this configuration and no exporter.").PlaceHolder("FILE").StringVar(&f.file)
	cmd.Flag("every", "Time between two looks.").Default("2s").DurationVar(&f.every)
	cmd.Flag("once", "Print the fleet as text and end.").BoolVar(&f.once)
	cmd.Flag("json", "Print the fleet as JSON and end.").BoolVar(&f.json)
	cmd.Flag("sort", "Order of the replicas: "+strings.Join(top.Orders(), ", ")+".").Default(top.Orders()[0]).EnumVar(&f.choice.Order, top.Orders()...)
	cmd.Flag("filter", "Show what has this text in pool, replica, state, reason or version.").PlaceHolder("TEXT").StringVar(&f.choice.Text)
	cmd.Flag("wrong", "Show only replicas with which something is wrong.").BoolVar(&f.choice.Wrong)
	f.access.declare(cmd)
	return cmd.FullCommand(), checked(f.check, func(ctx context.Context) error { return f.run(ctx, out) })
}

// check says which flags contradict each other.
func (f *topFlags) check() error {
	switch {
	case len(f.targets) > 0 && f.file != "":
		return errors.New("--config.file and --target are both given; name targets in the file, or leave the file out")
	case f.file != "" && f.access.given():
		return errors.New("--config.file and flags for TLS or credentials are both given; the pools of the file have these as keys")
	case f.direct() && f.url != "http://"+defaultAddress:
		return errors.New("an exporter and servers are both named; leave the URL of the exporter out, or --target and --config.file")
	case f.every < 100*time.Millisecond:
		return errors.New("--every must be 100ms or more")
	}
	return f.access.check()
}

// direct reports whether servers are asked and no exporter.
func (f *topFlags) direct() bool { return len(f.targets) > 0 || f.file != "" }

// run shows the fleet of an exporter; where servers are named that is one of our
// own, which lives as long as we do and listens on loopback only.
func (f *topFlags) run(ctx context.Context, out *output) error {
	if !f.direct() {
		client, err := f.client()
		if err != nil {
			return err
		}
		return f.present(ctx, out.stdout, client)
	}
	var running sync.WaitGroup
	defer running.Wait()
	exporting, stop := context.WithCancel(ctx)
	defer stop()
	e, err := newExporter(exporting, out.quiet(), &webFlags{addresses: []string{"127.0.0.1:0"}, inFlight: web.DefaultMaxInFlight}, f.load)
	if err != nil {
		return err
	}
	running.Go(func() { _ = e.run(exporting, nil) }) // Its failure shows as questions without an answer.
	if f.once || f.json {
		f.settle(ctx, e)
	}
	return f.present(ctx, out.stdout, &top.Client{HTTP: &http.Client{}, URL: "http://" + e.server.Addr()})
}

// client asks the exporter with the TLS and credentials of the flags.
func (f *topFlags) client() (*top.Client, error) {
	var pool config.Pool
	f.access.apply(&pool)
	settings := promconfig.HTTPClientConfig{TLSConfig: pool.HTTP.TLS, BasicAuth: pool.HTTP.BasicAuth, Authorization: pool.HTTP.Authorization}
	address, user, err := f.exporter()
	if err != nil {
		return nil, usageError{err}
	}
	if user != nil {
		settings.BasicAuth = user
	}
	if err := settings.Validate(); err != nil {
		return nil, usageError{err}
	}
	client, err := promconfig.NewClientFromConfig(settings, "top")
	if err != nil {
		return nil, fmt.Errorf("top: %w", err)
	}
	return &top.Client{HTTP: client, URL: address}, nil
}

// exporter is the address of the exporter, which is shown, and apart from it the user
// that it may have.
func (f *topFlags) exporter() (address string, user *promconfig.BasicAuth, err error) {
	address = strings.TrimRight(f.url, "/")
	if !strings.Contains(address, "://") {
		scheme := "http://"
		if f.access.tls() {
			scheme = "https://"
		}
		address = scheme + address
	}
	u, err := url.Parse(address)
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return "", nil, fmt.Errorf("top: %w; write http://host:port", failed.Err)
	}
	if u.User == nil {
		return address, nil, nil
	}
	password, _ := u.User.Password()
	user = &promconfig.BasicAuth{Username: u.User.Username(), Password: promconfig.Secret(password)}
	u.User = nil
	return u.String(), user, nil
}

// load is the configuration of servers that are named.
func (f *topFlags) load() (*config.File, error) {
	if f.file != "" {
		return f.loadFile()
	}
	pool := config.DefaultPool
	f.access.apply(&pool)
	pool.ScrapeInterval = model.Duration(max(f.every, time.Second))
	return config.FromTargets(schemed(f.targets, pool.Scheme), pool)
}

// loadFile is a file as it is looked at: what servers give out once is left to the
// exporter that has the same file.
func (f *topFlags) loadFile() (*config.File, error) {
	file, err := wholeFile(f.file)
	if err != nil {
		return nil, err
	}
	for i := range file.Pools {
		file.Pools[i].IterationStats = false
	}
	return file, nil
}

// settle waits until every server was scraped often enough for rates, or had the
// time for it.
func (*topFlags) settle(ctx context.Context, e *exporter) {
	const scrapes, patience = 3, 30 * time.Second
	began := time.Now()
	for wait(ctx, lookEvery) && time.Since(began) < patience {
		least, length := uint64(scrapes), time.Duration(0)
		slots := e.store.Slots()
		for _, slot := range slots {
			t, s := slot.Target(), slot.Status()
			if t.Silent {
				continue
			}
			least = min(least, s.Scrapes)
			length = max(length, scrapes*t.Interval+t.Timeout)
		}
		if e.collector.Ready() && (least == scrapes || len(slots) > 0 && time.Since(began) > length) {
			return
		}
	}
}

// present prints the fleet once, or follows it.
func (f *topFlags) present(ctx context.Context, w io.Writer, client *top.Client) error {
	if !f.once && !f.json {
		return f.show(ctx, w, client)
	}
	fleet, raw, err := f.ask(ctx, client)
	if err != nil {
		return err
	}
	if !f.json {
		raw = []byte(top.Once(fleet, f.choice, widthOf(w)))
	}
	_, err = w.Write(raw)
	return err
}

// ask asks for the fleet once; an error says what else can be done.
func (f *topFlags) ask(ctx context.Context, client *top.Client) (fleet *web.Fleet, raw []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	fleet, raw, err = client.Fleet(ctx)
	switch {
	case err == nil:
		return fleet, raw, nil
	case f.direct():
		return nil, nil, fmt.Errorf("top: %w", err)
	}
	return nil, nil, fmt.Errorf("top: %w; is an exporter there? Name it (top http://host:9802), ask servers themselves (top --target http://host:8002), or start one: %s demo", err, program)
}

// show follows the fleet on the terminal.
func (f *topFlags) show(ctx context.Context, w io.Writer, client *top.Client) error {
	if terminalOf(w) == nil || terminalOf(os.Stdin) == nil {
		return usageError{errors.New("top: this is no terminal; give --once or --json")}
	}
	guide := ""
	if f.direct() {
		guide = "Asking the servers …"
	} else if _, _, err := f.ask(ctx, client); err != nil {
		// A terminal that is taken over to say that nothing is there helps nobody.
		return err
	}
	return top.Run(ctx, top.Options{Client: client, Every: f.every, Choice: f.choice, Guide: guide})
}
