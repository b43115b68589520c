package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

type process struct {
	t       *testing.T
	address string
	// config is the path of its configuration.
	config string
	scheme string
	client *http.Client
	cmd    *exec.Cmd
	log    bytes.Buffer
}

// started runs the program until the test ends, through a shell command that ends in exec "$0"
// "$@" if there is one.
func started(t *testing.T, address, before, config string, args ...string) *process {
	t.Helper()
	p := &process{
		t:       t,
		address: address,
		config:  fileOf(t, config),
		scheme:  "http",
		client:  &http.Client{Timeout: waitsAtMost},
	}
	if before == "" {
		before = `exec "$0" "$@"`
	}
	line := append([]string{
		"-c", before, programFile(t), "--config.file", p.config, "--web.listen-address", address,
	}, args...)
	p.cmd = exec.CommandContext(context.WithoutCancel(t.Context()), "sh", line...)
	p.cmd.Stderr = &p.log
	require.NoError(t, p.cmd.Start())
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	})
	return p
}

// healthy waits until the program answers.
func (p *process) healthy() {
	p.t.Helper()
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		if _, code, err := p.get("/-/healthy"); err == nil && code == http.StatusOK {
			return
		}
		require.Less(p.t, time.Since(began), waitsAtMost, "%s", &p.log)
	}
}

func (p *process) get(path string) (body string, code int, err error) {
	request, err := http.NewRequestWithContext(
		p.t.Context(),
		http.MethodGet,
		p.scheme+"://"+p.address+path,
		http.NoBody,
	)
	if err != nil {
		return "", 0, err
	}
	response, err := p.client.Do(request)
	if err != nil {
		return "", 0, err
	}
	text, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	return string(text), response.StatusCode, err
}

// metrics returns the page, which must be available whatever targets do.
func (p *process) metrics() string {
	p.t.Helper()
	body, code, err := p.get("/metrics")
	require.NoError(p.t, err)
	require.Equal(p.t, http.StatusOK, code)
	return body
}

// shows waits until the page meets a condition, and returns it.
func (p *process) shows(what string, holds func(page string) bool) string {
	p.t.Helper()
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		page := p.metrics()
		if holds(page) {
			return page
		}
		require.Less(p.t, time.Since(began), waitsAtMost, "%s\n%s", what, &p.log)
	}
}

// upTargets returns the number of targets that are up.
func upTargets(page string) int {
	return len(regexp.MustCompile(`(?m)^trtllm_exporter_target_up\{.*\} 1$`).FindAllString(page, -1))
}

// tritonPool returns a configuration with pool p of servers r0, r1 and so on, which have no API.
func tritonPool(global string, addresses ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "global: { %s }\npools:\n  - pool_id: p\n    engine: triton\n    metrics_path: /metrics\n    "+
		"api_port: 1\n    static_configs:\n", global)
	for i, address := range addresses {
		fmt.Fprintf(&b, "      - { targets: [%q], labels: { replica_id: r%[2]d, __param_replica: r%[2]d } }\n", address, i)
	}
	return b.String()
}

// number returns the value of the only series with a name.
func number(t *testing.T, page, name string) float64 {
	t.Helper()
	m := regexp.MustCompile(`(?m)^`+name+`(?:\{.*\})? (.*)$`).FindAllStringSubmatch(page, -1)
	require.Len(t, m, 1, name)
	v, err := strconv.ParseFloat(m[0][1], 64)
	require.NoError(t, err)
	return v
}

// perSecond is the rate of the counter of [counting]; rateWithin is the allowed error while
// the process is stopped and continues, or clocks change.
const perSecond, rateWithin = 100, 25

// counting starts a server with one counter that grows by perSecond.
func counting(t *testing.T, takes time.Duration) (address string, now func() float64) {
	t.Helper()
	began := time.Now()
	now = func() float64 { return 1e6 + perSecond*time.Since(began).Seconds() }
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/metrics" {
			http.NotFound(w, r)
			return
		}
		time.Sleep(takes)
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprintf(w, "# TYPE nv_inference_request_success counter\n"+
			"nv_inference_request_success{model=\"m\",version=\"1\"} %.0f\n", now())
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String(), now
}
