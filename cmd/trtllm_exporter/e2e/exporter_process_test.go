//go:build (e2e_triton || e2e_dynamo || e2e_kube || e2e_vllm) && linux

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/tools/fixture"
)

// scrapeInterval is the scrape interval of the exporter under test.
const scrapeInterval = 500 * time.Millisecond

type exporter struct {
	*process
	port int
}

// exporterBinary returns the program of the environment variable, or builds one.
func exporterBinary(t *testing.T) string {
	t.Helper()
	if named := os.Getenv("TRTLLM_EXPORTER_BIN"); named != "" {
		path, err := filepath.Abs(named)
		require.NoError(t, err)
		return path
	}
	binary := filepath.Join(t.TempDir(), "trtllm_exporter")
	const main = "github.com/trtllm-exporter/trtllm_exporter/cmd/trtllm_exporter"
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, main).CombinedOutput()
	require.NoError(t, err, "build the exporter: %s", out)
	return binary
}

// startExporter starts the exporter with one target and waits until it is up.
func startExporter(t *testing.T, target string) *exporter {
	t.Helper()
	e := startServing(t, "--target", target, "--scrape.interval", scrapeInterval.String())
	e.waitUp(t, true)
	return e
}

// pool returns the configuration of a pool of static replicas; keys are additional lines.
func pool(id string, replicas map[string]string, keys ...string) string {
	var targets []string
	for _, name := range slices.Sorted(maps.Keys(replicas)) {
		targets = append(targets, fmt.Sprintf("{ targets: [%q], labels: { replica_id: %s } }", replicas[name], name))
	}
	lines := append([]string{"pool_id: " + id, "static_configs: [ " + strings.Join(targets, ", ") + " ]"}, keys...)
	return "\n  - " + strings.Join(lines, "\n    ")
}

// configured returns a configuration; keys holds more keys of its block global.
func configured(interval time.Duration, keys string, pools ...string) string {
	if keys != "" {
		keys = ", " + keys
	}
	return fmt.Sprintf("global: { scrape_interval: %[1]s, scrape_timeout: %[1]s%[2]s }\npools:%[3]s\n",
		interval, keys, strings.Join(pools, ""))
}

// startPool starts the exporter with replica r0 of pool p; keys are additional lines of the pool.
func startPool(t *testing.T, interval time.Duration, global, address string, keys ...string) *exporter {
	t.Helper()
	return startConfigured(t, configured(interval, global, pool("p", map[string]string{"r0": address}, keys...)))
}

func startConfigured(t *testing.T, config string) *exporter {
	t.Helper()
	return startServing(t, "--config.file", configFile(t, config))
}

func configFile(t *testing.T, config string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.yml")
	require.NoError(t, os.WriteFile(file, []byte(config), 0o600))
	return file
}

func startServing(t *testing.T, flags ...string) *exporter {
	t.Helper()
	e := launchExporter(t, nil, append([]string{exporterBinary(t), "--log.level", "debug"}, flags...)...)
	within(t, patience, "the exporter serves", func() bool {
		require.False(t, e.ended(), "the exporter ended by itself")
		return responds(t.Context(), e.url("/-/ready"))
	})
	return e
}

// launchExporter starts the exporter on a free port without waiting for it.
func launchExporter(t *testing.T, env []string, command ...string) *exporter {
	t.Helper()
	e := &exporter{port: fixture.FreePorts(t, "127.0.0.1", 1)}
	command = append(command, "--web.listen-address", fmt.Sprintf("127.0.0.1:%d", e.port))
	e.process = startProcess(t, "exporter", env, command[0], command[1:]...)
	return e
}

func (e *exporter) url(path string) string { return fmt.Sprintf("http://127.0.0.1:%d%s", e.port, path) }

func (e *exporter) body(t *testing.T, path string) []byte {
	t.Helper()
	status, body, err := get(t.Context(), e.url(path))
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status, "%s: %s", path, body)
	return body
}

func (e *exporter) page(t *testing.T) page {
	t.Helper()
	return parsePage(t, e.body(t, "/metrics"))
}

// patience is the longest wait for what must happen, on a busy machine.
const patience = 3 * time.Minute

// shows waits until one page has all these values, and returns it.
func (e *exporter) shows(t *testing.T, wanted ...value) (p page) {
	t.Helper()
	await(t, patience, func() string {
		p = e.page(t)
		return p.wrong(wanted...)
	})
	return p
}

// renewed returns a page on which every target has been scraped again, and how often each one was.
func (e *exporter) renewed(t *testing.T) (p page) {
	t.Helper()
	const scrapes = "trtllm_exporter_target_scrapes_total"
	var wanted []value
	for _, s := range e.page(t).named(scrapes) {
		pairs := []string{"pool_id", s.labels.Get("pool_id"), "replica_id", s.labels.Get("replica_id")}
		// The scrape that ends next may have begun already.
		wanted = append(wanted, above(s.value+1, scrapes, pairs...))
	}
	require.NotEmpty(t, wanted, "targets")
	return e.shows(t, wanted...)
}

func (e *exporter) waitUp(t *testing.T, up bool) {
	t.Helper()
	e.shows(t, has(map[bool]float64{true: 1}[up], "trtllm_exporter_target_up"))
}

type replicaReport struct {
	Pool      string    `json:"pool_id"`
	Replica   string    `json:"replica_id"`
	URL       string    `json:"metrics_url"`
	Scrapes   uint64    `json:"scrapes"`
	Health    string    `json:"health"`
	Failure   string    `json:"last_failure_reason"`
	State     string    `json:"state"`
	Reason    string    `json:"state_reason"`
	Since     time.Time `json:"state_since"`
	Suspected bool      `json:"suspected"`
	Engine    string    `json:"detected_engine"`
	Version   string    `json:"engine_version"`
	Evidence  string    `json:"engine_evidence"`
	Caps      []struct {
		Name   string `json:"name"`
		OK     bool   `json:"ok"`
		Reason string `json:"reason"`
	} `json:"capabilities"`
	Canary struct {
		Result string `json:"result"`
		Reason string `json:"reason"`
	} `json:"canary"`
}

func (e *exporter) reports(t *testing.T) []replicaReport {
	t.Helper()
	var answer struct {
		Targets []replicaReport `json:"targets"`
	}
	require.NoError(t, json.Unmarshal(e.body(t, "/targets?format=json"), &answer))
	return answer.Targets
}

func (e *exporter) report(t *testing.T) replicaReport {
	t.Helper()
	all := e.reports(t)
	require.Len(t, all, 1)
	return all[0]
}

func (e *exporter) replica(t *testing.T, name string) replicaReport {
	t.Helper()
	all := e.reports(t)
	i := slices.IndexFunc(all, func(r replicaReport) bool { return r.Replica == name })
	require.GreaterOrEqual(t, i, 0, "no target %s", name)
	return all[i]
}

// history returns all states of a replica in order, from the log.
func (e *exporter) history(t *testing.T, replica string) []string {
	t.Helper()
	text, err := os.ReadFile(e.output)
	require.NoError(t, err)
	changes := regexp.MustCompile(`msg="Replica changed state".* replica_id=` + replica + ` state=(\w+)`)
	var states []string
	for _, found := range changes.FindAllSubmatch(text, -1) {
		states = append(states, string(found[1]))
	}
	return states
}

func postJSON(ctx context.Context, url, body string) (*http.Response, error) {
	return send(ctx, http.MethodPost, url, "application/json", body)
}

// get requests an address, which may hang.
func get(ctx context.Context, url string) (status int, body []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	response, err := send(ctx, http.MethodGet, url, "", "")
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	body, err = io.ReadAll(response.Body)
	return response.StatusCode, body, err
}

func responds(ctx context.Context, url string) bool {
	status, _, err := get(ctx, url)
	return err == nil && status == http.StatusOK
}

// send makes a request on its own connection, because servers restart.
func send(ctx context.Context, method, url, contentType, body string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	return (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
}
