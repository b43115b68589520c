package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/common/model"

	"github.com/trtllm-exporter/trtllm_exporter/collector"
	"github.com/trtllm-exporter/trtllm_exporter/collector/account"
	"github.com/trtllm-exporter/trtllm_exporter/collector/canary"
	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
)

// recordFlags selects the servers to record, and the stretch of time.
type recordFlags struct {
	targets      []string
	file, poolID string
	kindsFiles   []string
	access       accessFlags
	length, skip time.Duration
	interval     time.Duration
	timed, json  bool
	command      []string
}

func declareRecord(app *kingpin.Application, out *output) (string, func() error) {
	cmd := app.Command("record", "Print what servers counted in a stretch of time, such as while a benchmark ran: "+
		"requests, tokens, requests at once, latencies, KV cache and energy. After -- comes a command whose time "+
		"is recorded and whose exit code is passed on; without one, --for or Ctrl-C ends the recording.")
	var f recordFlags
	cmd.Flag("target", "Server as host:port or URL; repeatable.").PlaceHolder("SERVER").StringsVar(&f.targets)
	cmd.Flag("config.file", "Record the servers of this configuration instead; its canary is "+
		"off.").PlaceHolder("FILE").StringVar(&f.file)
	cmd.Flag("pool-id", "Only this pool of --config.file.").PlaceHolder("NAME").StringVar(&f.poolID)
	cmd.Flag("kinds-file", "File that declares kinds of servers, as kinds_file of a configuration; repeatable.").
		PlaceHolder("FILE").
		StringsVar(&f.kindsFiles)
	cmd.Flag("for", "Length of the recording.").PlaceHolder("TIME").IsSetByUser(&f.timed).DurationVar(&f.length)
	cmd.Flag("skip", "Leave out this much of the beginning, in which servers warm up; with a command it begins with "+
		"the first request.").Default("0s").DurationVar(&f.skip)
	cmd.Flag("interval", "Time between two scrapes of a server.").Default("1s").DurationVar(&f.interval)
	cmd.Flag("json", "Print the account as JSON; the output of the command goes to the error output "+
		"then.").BoolVar(&f.json)
	f.access.declare(cmd)
	cmd.Arg("command", "Command to record, after --.").StringsVar(&f.command)
	return cmd.FullCommand(), func() error {
		if err := f.check(); err != nil {
			return exitError{err, exitUsage}
		}
		if err := f.checkCommand(); err != nil {
			return err
		}
		ctx, stop := withSignals(endings()...)
		defer stop()
		return f.run(ctx, out)
	}
}

func (f *recordFlags) check() error {
	switch {
	case len(f.targets) > 0 && f.file != "":
		return errors.New("--config.file and --target are both given; name targets in the file, or leave the file out")
	case len(f.targets) == 0 && f.file == "":
		return errors.New("no server is named; give --target URL (repeatable) or --config.file FILE, like: " +
			"trtllm_exporter record --for 5m --target localhost:8002")
	case len(f.command) > 0 && f.timed:
		return errors.New("--for and a command are both given; the command ends the recording, so leave --for out")
	case f.timed && f.length <= 0:
		return fmt.Errorf("--for: %s is no time; leave it out to record until Ctrl-C", f.length)
	case f.skip < 0:
		return errors.New("--skip must not be below 0")
	case f.timed && f.skip >= f.length:
		return fmt.Errorf("--skip: %s leaves nothing of --for %s; skip less, or record longer", f.skip, f.length)
	case f.interval < 100*time.Millisecond || f.interval > 30*time.Second:
		return fmt.Errorf("--interval: %s is out of range; use 100ms to 30s", f.interval)
	}
	return f.access.checkBeside(f.file, f.poolID, f.kindsFiles)
}

// endings returns the signals that end a recording, also that of a terminal that is closed, unless nohup ignores it.
func endings() []os.Signal {
	all := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		all = append(all, syscall.SIGHUP)
	}
	return all
}

// Exit codes of a command that cannot be run, as those of a shell.
const (
	exitNotRun   = 126
	exitNotFound = 127
)

// checkCommand finds out early that there is no such command.
func (f *recordFlags) checkCommand() error {
	if len(f.command) == 0 {
		return nil
	}
	_, err := exec.LookPath(f.command[0])
	return notRun(err)
}

// notRun explains why a command cannot be run.
func notRun(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return exitError{fmt.Errorf("the command cannot be run: %w", err), exitNotFound}
	}
	return exitError{fmt.Errorf("the command cannot be run: %w", err), exitNotRun}
}

// load returns the configuration of the servers. Nothing is sent to their models: no request of the
// exporter's own is in the account.
func (f *recordFlags) load() (*config.File, error) {
	file, err := f.servers()
	if err != nil {
		return nil, err
	}
	file.Exposition = account.Exposition()
	for i := range file.Pools {
		pool := &file.Pools[i]
		pool.ScrapeInterval, pool.ScrapeTimeout = model.Duration(f.interval), model.Duration(f.interval)
		pool.Canary = canary.DefaultConfig
	}
	return file, nil
}

func (f *recordFlags) servers() (*config.File, error) {
	if f.file == "" {
		pool, err := namedPool(&f.access, f.kindsFiles)
		if err != nil {
			return nil, exitError{err, exitUsage}
		}
		return singleScrape(f.targets, f.interval, pool)
	}
	file, err := loadUnsharded(f.file)
	if err != nil {
		return nil, exitError{err, exitUsage}
	}
	if f.poolID == "" {
		return file, nil
	}
	if _, err := poolWithoutTargets(file, f.poolID); err != nil {
		return nil, exitError{err, exitUsage}
	}
	file.Pools = slices.DeleteFunc(file.Pools, func(p config.Pool) bool { return p.PoolID != f.poolID })
	return file, nil
}

// run records until the command, the time or ctx ends, and prints the account.
func (f *recordFlags) run(ctx context.Context, out *output) error {
	file, err := f.load()
	if err != nil {
		return err
	}
	c, store, err := out.newCollector(file)
	if err != nil {
		return exitError{err, exitUsage}
	}
	scraping, stop := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	running.Go(func() { _ = c.Run(scraping) })
	recorder := account.NewRecorder(account.Options{
		Interval: f.interval,
		Skip:     f.skip,
		Trim:     len(f.command) > 0,
	})
	r := recording{
		recordFlags: f,
		out:         out,
		collector:   c,
		recorder:    recorder,
		reader:      account.NewReader(store, recorder),
	}
	if err := r.begin(ctx); err != nil {
		return err
	}
	ended := r.stretch(ctx)
	return cmp.Or(f.print(out.stdout, r.end(ctx)), ended)
}

func (f *recordFlags) print(w io.Writer, a *account.Account) error {
	if !f.json {
		_, err := io.WriteString(w, accountText(a, widthOf(w)))
		return err
	}
	return printJSON(w, a)
}

// recording is a running record.
type recording struct {
	*recordFlags

	out       *output
	collector *collector.Collector
	recorder  *account.Recorder
	reader    *account.Reader
}

// startTimeout is how long a recording waits for servers without a page. It begins without those that were asked.
const startTimeout = 5 * time.Second

// begin waits until every server has a page, of which the latest is the first that counts, and a name of its own.
func (r *recording) begin(ctx context.Context) error {
	var pages int
	var without, others []string
	begun := time.Now()
	r.until(ctx, forever, func() bool {
		pages, without, others = r.reader.Answered()
		asked, _ := r.reader.ReadSince(begun)
		return asked && time.Since(begun) > startTimeout+r.interval ||
			r.collector.Ready() && pages+len(others) > 0 && len(without) == 0 && r.collector.Settled()
	})
	without = slices.Concat(without, others)
	refused := r.collector.Refused()
	r.reader.Read()
	r.recorder.Begin()
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%w before every server had a page: nothing is recorded", context.Cause(ctx))
	case len(refused) > 0:
		return exitError{fmt.Errorf("servers of one name would be counted as one, so nothing is recorded: %s; give each "+
			"a replica_id of its own", strings.Join(refused, "; ")), exitUsage}
	case pages == 0:
		return exitError{fmt.Errorf("no server has a page that can be read, so nothing is recorded: %s; try: "+
			"trtllm_exporter doctor", cmp.Or(strings.Join(without, "; "), "there are no targets")), exitNoPage}
	}
	for _, name := range without {
		printFolded(r.out.stderr, "Recording without "+name)
	}
	printFolded(r.out.stderr, fmt.Sprintf("Recording %s, every %s. Ctrl-C ends it, with the account so far.",
		count(pages, "server"), r.interval))
	return nil
}

// forever is the limit of what a command or a signal ends.
const forever time.Duration = 1 << 62

// stretch waits until the command or the time ends. It returns the command's error.
func (r *recording) stretch(ctx context.Context) error {
	if len(r.command) == 0 {
		r.until(ctx, cmp.Or(r.length, forever), func() bool {
			r.reader.Read()
			return false
		})
		return nil
	}
	process, done, err := r.startCommand(ctx)
	if err != nil {
		return notRun(err)
	}
	ended := func() bool {
		r.reader.Read()
		select {
		case err = <-done:
			return true
		default:
			return false
		}
	}
	r.until(ctx, forever, ended)
	if ctx.Err() != nil {
		if left := r.passSignals(ctx, process, ended); left != nil {
			return left
		}
	}
	return codeOf(r.command[0], err)
}

// startCommand starts the command, which gets the signals that end ctx, and ends itself. Done gets its error.
func (r *recording) startCommand(ctx context.Context) (process *os.Process, done <-chan error, err error) {
	cmd := exec.CommandContext(context.WithoutCancel(ctx), r.command[0], r.command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, r.out.stdout, r.out.stderr
	if r.json {
		cmd.Stdout = r.out.stderr
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	return cmd.Process, ended, nil
}

// passSignals passes on the signal that ended ctx, and waits for the command. A second one no longer waits: many
// programs end at once only then, and others not at all.
func (r *recording) passSignals(ctx context.Context, p *os.Process, ended func() bool) error {
	again, stop := untilAnotherSignal(ctx)
	defer stop()
	passOn(ctx, p)
	r.until(again, forever, ended)
	if again.Err() == nil || ended() {
		return nil
	}
	passOn(again, p)
	code := exitFailure
	if s, ok := errors.AsType[signaled](context.Cause(again)); ok {
		if number, ok := s.Signal.(syscall.Signal); ok {
			code = 128 + int(number)
		}
	}
	return exitError{fmt.Errorf("%s still runs after the second signal; this is the account so far", r.command[0]), code}
}

// passOn sends the signal that ended ctx to a process. That of a Ctrl-C comes from the terminal to both.
func passOn(ctx context.Context, p *os.Process) {
	s, ok := errors.AsType[signaled](context.Cause(ctx))
	if ok && s.Signal == os.Interrupt && inForeground() {
		return
	}
	_ = p.Signal(cmp.Or[os.Signal](s.Signal, os.Interrupt)) // It may have ended.
}

// codeOf returns the exit code of a command that failed, as a shell reports it.
func codeOf(name string, err error) error {
	failed, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return err
	}
	code := failed.ExitCode()
	if status, ok := failed.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		code = 128 + int(status.Signal())
	}
	return exitError{fmt.Errorf("%s ended with %w", name, err), code}
}

// settling is how many more pages are read until one shows no work: servers count a request late.
const settling = 5

// end reads the pages after the end, and returns the account. Servers that work on have other clients: the
// account then ends with the first of these pages.
func (r *recording) end(ctx context.Context) *account.Account {
	once := len(r.command) == 0 || ctx.Err() != nil
	ctx = context.WithoutCancel(ctx)
	idle := r.round(ctx)
	first := r.recorder.Account()
	if once || idle {
		return first
	}
	for range settling - 1 {
		if r.round(ctx) {
			return r.recorder.Account()
		}
	}
	return first
}

// round waits for another page of each server, and reports whether none shows work.
func (r *recording) round(ctx context.Context) (idle bool) {
	since := time.Now()
	r.until(ctx, 3*r.interval+time.Second, func() (all bool) {
		r.reader.Read()
		all, idle = r.reader.ReadSince(since)
		return all
	})
	return idle
}

// until asks done again and again until it returns true, or the time or ctx ends.
func (r *recording) until(ctx context.Context, limit time.Duration, done func() bool) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		if done() || !wait(ctx, max(r.interval/10, 10*time.Millisecond)) {
			return
		}
	}
}
