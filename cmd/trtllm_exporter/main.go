// Command trtllm_exporter serves the metrics of many LLM servers on one /metrics. The package
// owns flags, subcommands, signals and exit codes: it wires the packages of the collector
// together, but must not know how they work. Begin reading at declareServe.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/common/promslog"
	promslogflag "github.com/prometheus/common/promslog/flag"
	"github.com/prometheus/common/version"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/secret"
)

const program = "trtllm_exporter"

const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
	// exitNoPage is the exit code of doctor and record if a server has no metrics page.
	exitNoPage = 2
)

func main() {
	// The Kubernetes client reports through the sources of targets, and logs nothing else until a
	// command has a log.
	redirectKubernetesLog(slog.New(slog.DiscardHandler))
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// discardStandardLog discards what net/http logs: beginnings of what servers send unasked, which may end within a
// secret.
func discardStandardLog() { slog.SetDefault(slog.New(slog.DiscardHandler)) }

// exitError is an error with an exit code of its own.
type exitError struct {
	error

	code int
}

func (e exitError) Unwrap() error { return e.error }

func run(args []string, stdout, stderr io.Writer) int {
	app, actions, out := commandLine(stdout, stderr)
	log := newLogQueue(out.secrets.Writer(stderr))
	defer log.close()
	out.log.Writer, out.dropped = log, &log.dropped
	out.secrets.AddConfig(args)
	terminated := false
	app.Terminate(func(int) { terminated = true })
	chosen, err := app.Parse(args)
	if terminated {
		err = out.help.err
	} else if err != nil {
		err = exitError{fmt.Errorf("%w%s (see --help)", err, suggestion(app.Model(), args, err)), exitUsage}
	} else if err = engine.Check(); err == nil {
		discardStandardLog()
		err = actions[chosen]()
	}
	if err == nil {
		return exitOK
	}
	if format := out.log.Format; format != nil && format.String() == "json" {
		promslog.New(&out.log).Error("Command failed", "err", strings.TrimRight(err.Error(), "\n"))
	} else {
		printFoldedTo(log, widthOf(stderr), program+": "+strings.TrimRight(err.Error(), "\n"))
	}
	if exit, ok := errors.AsType[exitError](err); ok {
		return exit.code
	}
	return exitFailure
}

// printJSON writes a document for scripts, in which addresses can be read.
func printJSON(w io.Writer, document any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(document)
}

// helpWriter writes help. It remembers why it could not, since kingpin panics then.
type helpWriter struct {
	io.Writer

	err error
}

func (w *helpWriter) Write(text []byte) (int, error) {
	if _, err := w.Writer.Write(text); w.err == nil {
		w.err = err
	}
	return len(text), nil
}

type output struct {
	stdout, stderr io.Writer
	help           helpWriter
	log            promslog.Config
	// secrets are hidden in all that is logged or printed about servers.
	secrets *secret.Store
	// dropped counts the lines of the log that nobody read in time.
	dropped *atomic.Uint64
}

// commandLine declares the flags and returns the action of each subcommand.
func commandLine(stdout, stderr io.Writer) (*kingpin.Application, map[string]func() error, *output) {
	kinds := strings.Join(engine.BuiltIn().Names(), ", ")
	app := kingpin.New(program, fmt.Sprintf("Metrics of LLM servers (%s), many replicas on one /metrics "+
		"for Prometheus.", kinds))
	app.HelpFlag.Short('h')
	app.Version(version.Print(program)).VersionFlag.Help("Show the version.")
	out := &output{stdout: stdout, stderr: stderr, help: helpWriter{Writer: stdout}, secrets: new(secret.Store)}
	app.UsageWriter(&out.help).ErrorWriter(stderr)
	promslogflag.AddFlags(app, &out.log)

	actions := make(map[string]func() error)
	for _, declare := range []func(*kingpin.Application, *output) (string, func() error){
		declareServe,
		declareCheckConfig,
		declareScrape, declareDoctor, declareRecord, declareTop,
		declareDemo, declareRules, declareDashboards, declareHealthcheck,
	} {
		name, action := declare(app, out)
		actions[name] = action
	}
	return app, actions, out
}
