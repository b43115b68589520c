package main

import (
	"context"
	"errors"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// peer is a way to bring the pages of a fleet with its identity to one page.
type peer struct {
	name string
	// path is where its page is, pick where the families are that a picker reads; empty
	// where there is none.
	path, pick string
	// fewest and most are the numbers of targets with which it is measured when nobody
	// says which are to be.
	fewest, most int
	// version is what says its version.
	version func(ctx context.Context) string
	// command is what runs it.
	command func(ctx context.Context, j *job) (*exec.Cmd, error)
}

// job is what a peer has to do: over which fleet, with its files in which folder,
// listening where.
type job struct {
	fleet        *fleet
	dir, address string
	interval     time.Duration
}

// programs are the paths of what is run.
type programs struct{ exporter, prometheus, otelcol string }

const (
	// all is more targets than anybody asks for.
	all = 1 << 20
	// federate asks for all series of servers.
	federate = "/federate?match[]=%7B__name__%3D~%22nv_.%2B%22%7D"
	receiver = "github.com/open-telemetry/opentelemetry-collector-contrib/receiver/prometheusreceiver"
)

// peers are those that are compared; the first is the exporter. The collector needs
// 8 GB with 5000 targets.
func peers(of programs) []peer {
	names := "/metrics?" + url.Values{"name[]": picked}.Encode()
	matches := "/federate?" + url.Values{"match[]": picked}.Encode()
	return []peer{
		{name: "exporter", path: "/metrics", pick: names, most: all, version: says(of.exporter), command: of.runExporter},
		{name: "ordinary Go", path: "/metrics", pick: names, most: all, version: libraries, command: runLibrary},
		{name: "Prometheus, /federate", path: federate, pick: matches, most: all, version: built(of.prometheus, "github.com/prometheus/prometheus"), command: of.runPrometheus},
		{name: "OTel Collector, /metrics", path: "/metrics", fewest: 100, most: 1000, version: built(of.otelcol, receiver), command: of.runCollector},
	}
}

func (of *programs) runExporter(ctx context.Context, j *job) (*exec.Cmd, error) {
	name, err := j.write("exporter.yml", exporterConfig(j))
	return exec.CommandContext(ctx, of.exporter, "--config.file="+name, "--web.listen-address="+j.address, "--log.level=error"), err //nolint:gosec // the program that is measured.
}

func runLibrary(ctx context.Context, j *job) (*exec.Cmd, error) {
	self, err := os.Executable()
	cmd := exec.CommandContext(ctx, self, "-library", "-address", j.address, "-interval", j.interval.String()) //nolint:gosec // this program.
	cmd.Stdin = strings.NewReader(strings.Join(j.fleet.addresses, "\n"))
	return cmd, err
}

func (of *programs) runPrometheus(ctx context.Context, j *job) (*exec.Cmd, error) {
	name, err := j.write("prometheus.yml", prometheusConfig(j, ""))
	return exec.CommandContext(ctx, of.prometheus, "--config.file="+name, "--storage.tsdb.path="+filepath.Join(j.dir, "data"), "--web.listen-address="+j.address, "--log.level=error"), err //nolint:gosec // the program that is measured.
}

// runCollector runs the collector, if there is one.
func (of *programs) runCollector(ctx context.Context, j *job) (*exec.Cmd, error) {
	if _, err := os.Stat(of.otelcol); err != nil {
		return nil, errNoCollector
	}
	name, err := j.write("otelcol.yml", collectorConfig(j))
	return exec.CommandContext(ctx, of.otelcol, "--config=file:"+name), err //nolint:gosec // the program that is measured.
}

// errNoCollector does not name the file: a document may show it.
var errNoCollector = errors.New("there is no collector, make could not build tools/otelcol")

// write writes a configuration.
func (j *job) write(name, text string) (string, error) {
	file := filepath.Join(j.dir, name)
	return file, os.WriteFile(file, []byte(text), 0o600)
}
