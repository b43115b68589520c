package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// peer is a program that merges the pages of a fleet into one page with identity labels.
type peer struct {
	name string
	// path is the path of its page.
	path string
	// minTargets and maxTargets limit the numbers of targets that it is measured with by
	// default.
	minTargets, maxTargets int
	version                string
	// command returns the command to run it.
	command func(ctx context.Context, j *job) (*exec.Cmd, error)
}

// job is the task of a peer: the fleet, a folder for its files, and its listen address.
type job struct {
	fleet        *fleet
	dir, address string
	interval     time.Duration
}

// programs holds the paths of programs.
type programs struct{ exporter, prometheus, otelcol string }

const (
	// unlimited means no limit for the number of targets.
	unlimited = 1 << 20
	// federate requests all series of servers.
	federate = "/federate?match[]=%7B__name__%3D~%22nv_.%2B%22%7D"
	receiver = "github.com/open-telemetry/opentelemetry-collector-contrib/receiver/prometheusreceiver"
)

// peers returns the programs to compare, the exporter first. The collector needs 8 GB with
// 5000 targets.
func peers(p programs) []peer {
	self, _ := os.Executable()
	return []peer{
		{
			name:       "exporter",
			path:       "/metrics",
			maxTargets: unlimited,
			version:    built(p.exporter, "github.com/trtllm-exporter/trtllm_exporter"),
			command:    p.runExporter,
		},
		{
			name:       "ordinary Go",
			path:       "/metrics",
			maxTargets: unlimited,
			version:    built(self, "github.com/prometheus/client_golang", "github.com/prometheus/common"),
			command:    runLibrary,
		},
		{
			name:       "Prometheus, /federate",
			path:       federate,
			maxTargets: unlimited,
			version:    built(p.prometheus, "github.com/prometheus/prometheus"),
			command:    p.runPrometheus,
		},
		{
			name:       "OTel Collector, /metrics",
			path:       "/metrics",
			minTargets: 100,
			maxTargets: 1000,
			version:    built(p.otelcol, receiver),
			command:    p.runCollector,
		},
	}
}

func (p *programs) runExporter(ctx context.Context, j *job) (*exec.Cmd, error) {
	name, err := j.write("exporter.yml", exporterConfig(j))
	return exec.CommandContext( //nolint:gosec // the program that is measured.
		ctx,
		p.exporter,
		"--config.file="+name,
		"--web.listen-address="+j.address,
		"--log.level=error",
	), err
}

func runLibrary(ctx context.Context, j *job) (*exec.Cmd, error) {
	self, err := os.Executable()
	cmd := exec.CommandContext(
		ctx,
		self,
		"-library",
		"-address",
		j.address,
		"-interval",
		j.interval.String(),
	)
	cmd.Stdin = strings.NewReader(strings.Join(j.fleet.addresses, "\n"))
	return cmd, err
}

func (p *programs) runPrometheus(ctx context.Context, j *job) (*exec.Cmd, error) {
	name, err := j.write("prometheus.yml", prometheusConfig(j, ""))
	return exec.CommandContext(
		ctx,
		p.prometheus,
		"--config.file="+name,
		"--storage.tsdb.path="+filepath.Join(j.dir, "data"),
		"--web.listen-address="+j.address,
		"--log.level=error",
	), err
}

// runCollector runs the collector if it could be built.
func (p *programs) runCollector(ctx context.Context, j *job) (*exec.Cmd, error) {
	if _, err := os.Stat(p.otelcol); err != nil {
		return nil, errNoCollector
	}
	name, err := j.write("otelcol.yml", collectorConfig(j))
	//nolint:gosec // the program that is measured.
	return exec.CommandContext(ctx, p.otelcol, "--config=file:"+name), err
}

// errNoCollector does not name the file, because it may appear in a document.
var errNoCollector = errors.New("no collector: make could not build tools/otelcol")

// write writes a configuration file.
func (j *job) write(name, text string) (string, error) {
	file := filepath.Join(j.dir, name)
	return file, os.WriteFile(file, []byte(text), 0o600)
}
