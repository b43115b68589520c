// Command trtllm_exporter serves the metrics of many Triton and TensorRT-LLM
// servers on one /metrics. The package owns flags, subcommands, signals and the
// exit code; it puts the rooms together and must not know how they work.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/common/promslog"
	promslogflag "github.com/prometheus/common/promslog/flag"
	"github.com/prometheus/common/version"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
)

const program = "trtllm_exporter"

// Exit codes.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// usageError is a command line that cannot be meant.
type usageError struct{ error }

// Unwrap gives the reason.
func (e usageError) Unwrap() error { return e.error }

// run does what the arguments say and returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	app, actions, out := commandLine(stdout, stderr)
	ended := false
	app.Terminate(func(int) { ended = true })
	chosen, err := app.Parse(args)
	if ended {
		return exitOK
	}
	if err != nil {
		err = usageError{fmt.Errorf("%w%s, try --help", err, meant(app, err))}
	} else {
		err = actions[chosen]()
	}
	if err == nil {
		return exitOK
	}
	if format := out.log.Format; format != nil && format.String() == "json" {
		promslog.New(&out.log).Error("Command failed", "err", strings.TrimRight(err.Error(), "\n"))
	} else {
		complain(stderr, err)
	}
	if found, ok := errors.AsType[findings](err); ok {
		return found.code
	}
	if _, usage := errors.AsType[usageError](err); usage {
		return exitUsage
	}
	return exitFailure
}

// slip is the word that kingpin does not know.
var slip = regexp.MustCompile(`^(?:unknown long flag '|unexpected )([^']+)`)

// meant says of which flag or command a word that is not known is likely a slip; empty
// for none.
func meant(app *kingpin.Application, err error) string {
	found := slip.FindStringSubmatch(err.Error())
	if found == nil {
		return ""
	}
	var words []string
	model := app.Model()
	for _, c := range model.Commands {
		words = append(words, c.Name)
		for _, f := range slices.Concat(model.Flags, c.Flags) {
			words = append(words, "--"+f.Name)
		}
	}
	if near := config.Nearest(found[1], words); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}

// complain writes an error, folded where a terminal reads it.
func complain(w io.Writer, err error) {
	p := &textTable{width: widthOf(w)}
	for i, line := range strings.Split(strings.TrimRight(err.Error(), "\n"), "\n") {
		if i == 0 {
			line = program + ": " + line
		}
		p.hanging(line)
	}
	_, _ = io.WriteString(w, p.String())
}

// output is where commands write.
type output struct {
	stdout, stderr io.Writer
	log            promslog.Config
}

// commandLine declares flags and subcommands; the actions are by subcommand.
func commandLine(stdout, stderr io.Writer) (*kingpin.Application, map[string]func() error, *output) {
	app := kingpin.New(program, "Metrics of LLM servers (TensorRT-LLM, Triton, NIM, Dynamo, vLLM, SGLang), many replicas on one /metrics for Prometheus.")
	app.UsageWriter(stdout).ErrorWriter(stderr)
	app.HelpFlag.Short('h')
	app.Version(version.Print(program)).VersionFlag.Help("Show the version.")
	out := &output{stdout: stdout, stderr: stderr}
	promslogflag.AddFlags(app, &out.log)
	out.log.Writer = stderr

	actions := make(map[string]func() error)
	for _, declare := range []func(*kingpin.Application, *output) (string, func() error){
		declareServe, declareCheckConfig, declareScrape, declareDoctor, declareTop, declareDemo, declareRules, declareDashboards, declareHealthcheck,
	} {
		name, action := declare(app, out)
		actions[name] = action
	}
	return app, actions, out
}
