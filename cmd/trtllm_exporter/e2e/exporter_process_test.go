//go:build (e2e_triton || e2e_dynamo || e2e_kube || e2e_vllm) && linux

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// scrapeInterval is how often the exporter under test reads its target.
const scrapeInterval = 500 * time.Millisecond

// exporter is a running trtllm_exporter.
type exporter struct {
	*process
	port int
}

// exporterBinary returns the program under test: the one that the environment
// names, else one built now.
func exporterBinary(t *testing.T) string {
	t.Helper()
	if named := os.Getenv("TRTLLM_EXPORTER_BIN"); named != "" {
		path, err := filepath.Abs(named)
		require.NoError(t, err)
		return path
	}
	binary := filepath.Join(t.TempDir(), "trtllm_exporter")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "github.com/trtllm-exporter/trtllm_exporter/cmd/trtllm_exporter").CombinedOutput()
	require.NoError(t, err, "build the exporter: %s", out)
	return binary
}

// startExporter starts the exporter with one target and waits until it serves
// pages, not until the target is up.
func startExporter(t *testing.T, binary, target string) *exporter {
	t.Helper()
	return startServing(t, binary, "--target", target, "--scrape.interval", scrapeInterval.String())
}

// startConfigured starts the exporter with a configuration and waits until it
// serves pages.
func startConfigured(t *testing.T, binary, config string) *exporter {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.yml")
	require.NoError(t, os.WriteFile(file, []byte(config), 0o600))
	return startServing(t, binary, "--config.file", file)
}

// startServing starts the exporter with flags and waits until it serves pages.
func startServing(t *testing.T, binary string, flags ...string) *exporter {
	t.Helper()
	e := &exporter{port: freePorts(t, 1)}
	flags = append(flags, "--web.listen-address", fmt.Sprintf("127.0.0.1:%d", e.port), "--log.level", "debug")
	e.process = startProcess(t, "exporter", nil, binary, flags...)
	within(t, 20*time.Second, "the exporter serves", func() bool {
		require.False(t, e.ended(), "the exporter ended by itself")
		status, _, err := get(t.Context(), e.url("/-/ready"))
		return err == nil && status == http.StatusOK
	})
	return e
}

// url returns an address of the exporter.
func (e *exporter) url(path string) string { return fmt.Sprintf("http://127.0.0.1:%d%s", e.port, path) }

// body reads one of the exporter's addresses.
func (e *exporter) body(t *testing.T, path string) []byte {
	t.Helper()
	status, body, err := get(t.Context(), e.url(path))
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status, "%s: %s", path, body)
	return body
}

// page reads the exporter's metrics.
func (e *exporter) page(t *testing.T) page {
	t.Helper()
	return parsePage(t, e.body(t, "/metrics"))
}

// waitUp waits until the only target is up, or down.
func (e *exporter) waitUp(t *testing.T, up bool) {
	t.Helper()
	want := map[bool]string{true: "1", false: "0"}[up]
	within(t, 15*time.Second, "trtllm_exporter_target_up is "+want, func() bool {
		found := e.page(t).named("trtllm_exporter_target_up")
		return len(found) == 1 && found[0].text == want
	})
}

// replicaReport is what /targets says of a replica.
type replicaReport struct {
	Replica   string    `json:"replica_id"`
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

// reports returns the targets of /targets.
func (e *exporter) reports(t *testing.T) []replicaReport {
	t.Helper()
	var answer struct {
		Targets []replicaReport `json:"targets"`
	}
	require.NoError(t, json.Unmarshal(e.body(t, "/targets?format=json"), &answer))
	return answer.Targets
}

// report returns the only target of /targets.
func (e *exporter) report(t *testing.T) replicaReport {
	t.Helper()
	all := e.reports(t)
	require.Len(t, all, 1)
	return all[0]
}

// history returns all states of the replica in their order, from the log.
func (e *exporter) history(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(e.output)
	require.NoError(t, err)
	var states []string
	for _, found := range regexp.MustCompile(`msg="Replica changed state".* state=(\w+)`).FindAllSubmatch(text, -1) {
		states = append(states, string(found[1]))
	}
	return states
}

// postJSON sends a body of JSON, or none, over a connection of its own.
func postJSON(ctx context.Context, url, body string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	return (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
}

// get reads an address within five seconds.
func get(ctx context.Context, url string) (status int, body []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, nil, err
	}
	// A client of its own for each read: no connection outlives a restart.
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	body, err = io.ReadAll(response.Body)
	return response.StatusCode, body, err
}
