package main

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"
)

// peer is a way to bring the pages of a fleet with its identity to one page.
type peer struct {
	name string
	// path is where its page is, pick where the families are that a picker reads.
	path, pick string
	// version is what says its version in its first line; nil for this program.
	version func(ctx context.Context) string
	// command is what runs it, given the fleet, a folder and its address.
	command func(ctx context.Context, f *fleet, dir, address string, interval time.Duration) (*exec.Cmd, error)
}

// peers are those that are compared; the first is the exporter.
func peers(exporter, prometheus string) []peer {
	names := "/metrics?" + url.Values{"name[]": picked}.Encode()
	matches := "/federate?" + url.Values{"match[]": picked}.Encode()
	return []peer{
		{"exporter", "/metrics", names, says(exporter), func(ctx context.Context, f *fleet, dir, address string, interval time.Duration) (*exec.Cmd, error) {
			name, err := write(dir, "exporter.yml", exporterConfig(f, interval))
			return exec.CommandContext(ctx, exporter, "--config.file="+name, "--web.listen-address="+address, "--log.level=error"), err //nolint:gosec // the program that is measured.
		}},
		{"ordinary Go", "/metrics", names, libraries, func(ctx context.Context, f *fleet, _, address string, interval time.Duration) (*exec.Cmd, error) {
			self, err := os.Executable()
			cmd := exec.CommandContext(ctx, self, "-library", "-address", address, "-interval", interval.String()) //nolint:gosec // this program.
			cmd.Stdin = strings.NewReader(strings.Join(f.addresses, "\n"))
			return cmd, err
		}},
		{"Prometheus, /federate", "/federate?match[]=%7B__name__%3D~%22nv_.%2B%22%7D", matches, built(prometheus, "github.com/prometheus/prometheus"), func(ctx context.Context, f *fleet, dir, address string, interval time.Duration) (*exec.Cmd, error) {
			name, err := write(dir, "prometheus.yml", prometheusConfig(f, interval))
			return exec.CommandContext(ctx, prometheus, "--config.file="+name, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address, "--log.level=error"), err //nolint:gosec // the program that is measured.
		}},
	}
}

// says gives the version that a program states in its first line.
func says(program string) func(context.Context) string {
	return func(ctx context.Context) string {
		text, err := exec.CommandContext(ctx, program, "--version").CombinedOutput() //nolint:gosec // the program that is measured.
		if err != nil {
			return ""
		}
		first, _, _ := strings.Cut(string(text), "\n")
		first, _, _ = strings.Cut(first, " (")
		return first
	}
}

// built gives the version of the module that a program was built from.
func built(program, module string) func(context.Context) string {
	return func(context.Context) string {
		info, err := buildinfo.ReadFile(program)
		if err != nil {
			return ""
		}
		for _, m := range append(info.Deps, &info.Main) {
			if m.Path == module {
				return m.Version
			}
		}
		return ""
	}
}

// libraries are the versions of what the ordinary way is written with.
func libraries(context.Context) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	var all []string
	for _, m := range info.Deps {
		if name := path.Base(m.Path); strings.HasPrefix(m.Path, "github.com/prometheus/") && (name == "client_golang" || name == "common") {
			all = append(all, name+" "+m.Version)
		}
	}
	return strings.Join(all, ", ")
}

// write writes a configuration.
func write(dir, name, text string) (string, error) {
	file := filepath.Join(dir, name)
	return file, os.WriteFile(file, []byte(text), 0o600)
}

// replica is the replica_id of a target.
func replica(i int) string { return fmt.Sprintf("replica-%04d", i) }

func exporterConfig(f *fleet, interval time.Duration) string {
	var b strings.Builder
	fmt.Fprintf(&b, "global: {scrape_interval: %s, scrape_timeout: %s}\npools:\n  - pool_id: bench\n    engine: triton\n    static_configs:\n", millis(interval), millis(interval*9/10))
	for i, address := range f.addresses {
		fmt.Fprintf(&b, "      - targets: [%q]\n        labels: {__api_address__: %q, replica_id: %s}\n", address, address, replica(i))
	}
	return b.String()
}

func prometheusConfig(f *fleet, interval time.Duration) string {
	var b strings.Builder
	fmt.Fprintf(&b, "scrape_configs:\n  - job_name: triton\n    scrape_interval: %s\n    scrape_timeout: %s\n", millis(interval), millis(interval*9/10))
	b.WriteString("    metric_relabel_configs:\n      - {source_labels: [model], regex: '(.+)', target_label: model_id}\n    static_configs:\n")
	for i, address := range f.addresses {
		fmt.Fprintf(&b, "      - targets: [%q]\n        labels: {engine: triton, engine_version: 2.51.0, trtllm_version: 0.14.0, pool_id: bench, replica_id: %s}\n", address, replica(i))
	}
	return b.String()
}

// millis is a duration as all configurations read it.
func millis(d time.Duration) string { return fmt.Sprintf("%dms", d.Milliseconds()) }
