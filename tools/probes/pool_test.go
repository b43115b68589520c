package probes

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// The ports of the examples. Every pool has its own loopback addresses, so that ports need
// not differ.
const (
	apiPort      = 8000
	pagePort     = 8002
	exporterPort = 9802
	healthPort   = 9803
	adminPort    = 9901
)

// poolID and replicaID return the names in the examples.
const poolID = "llama-70b-prod"

func replicaID(i int) string { return fmt.Sprintf("llama-70b-%d", i) }

type pool struct {
	net      string // The first three numbers of all addresses.
	replicas []*simulate.Replica
	clients  sync.WaitGroup
}

// startPool starts servers without traffic.
func startPool(t *testing.T, replicas int, engine simulate.Engine) *pool {
	t.Helper()
	for range 20 {
		p := &pool{net: fmt.Sprintf("127.%d.%d.", 10+rand.IntN(200), rand.IntN(256))}
		spec := simulate.PoolSpec{Name: poolID}
		for i := range replicas {
			spec.Replicas = append(spec.Replicas, simulate.Spec{
				Name: replicaID(i), Kind: simulate.KindTriton, Speed: 1, Seed: uint64(i + 1), Ports: simulate.Ports{
					Host:        p.server(i),
					APIPort:     apiPort,
					MetricsPort: pagePort,
				},
				Workload: simulate.Workload{Rate: 1e-9, PromptTokens: 50, OutputTokens: 20}, Engine: engine,
			})
		}
		fleet, err := simulate.StartFleet(
			context.WithoutCancel(t.Context()),
			simulate.FleetSpec{Pools: []simulate.PoolSpec{spec}},
		)
		if err != nil {
			t.Log(err) // Another pool may use the same addresses.
			continue
		}
		t.Cleanup(func() {
			fleet.Close()
			p.clients.Wait()
		})
		p.replicas = fleet.Pools()[0].Replicas
		return p
	}
	require.FailNow(t, "no addresses for a pool")
	return nil
}

// The addresses of servers and programs.
func (p *pool) server(i int) string { return fmt.Sprintf("%s%d", p.net, i+1) }
func (p *pool) exporter() string    { return p.net + "100" }
func (p *pool) envoy() string       { return p.net + "101" }

// confirms lets a request of the exporter decide whether a suspected server hangs, as the examples
// recommend.
const confirms = "canary: { confirm: true }"

// central starts one exporter for all replicas; more are additional keys of the pool.
func (p *pool) central(t *testing.T, more ...string) *process {
	t.Helper()
	var targets []string
	for i := range p.replicas {
		targets = append(
			targets,
			fmt.Sprintf("{ targets: ['%s:%d'], labels: { replica_id: %s } }", p.server(i), pagePort, replicaID(i)),
		)
	}
	return startExporter(t, p.exporter(), "--config.file", configFile(t, targets, more))
}

// sidecars starts an exporter for each replica, on its host.
func (p *pool) sidecars(t *testing.T) (all []*process) {
	t.Helper()
	for i := range p.replicas {
		target := fmt.Sprintf("{ targets: ['%s:%d'] }", p.server(i), pagePort)
		file := configFile(t, []string{target}, []string{confirms})
		all = append(all, startExporter(t, p.server(i), "--config.file", file, "--replica-id", replicaID(i)))
	}
	return all
}

// configFile writes the configuration of a pool; more are additional keys.
func configFile(t *testing.T, targets, more []string) string {
	t.Helper()
	var doc strings.Builder
	fmt.Fprintf(&doc, "pools:\n  - pool_id: %s\n    static_configs:\n", poolID)
	for _, target := range targets {
		doc.WriteString("      - " + target + "\n")
	}
	for _, line := range more {
		doc.WriteString("    " + line + "\n")
	}
	file := filepath.Join(t.TempDir(), "trtllm_exporter.yml")
	require.NoError(t, os.WriteFile(file, []byte(doc.String()), 0o600))
	return file
}

// startExporter starts an exporter and waits until it is ready.
func startExporter(t *testing.T, host string, flags ...string) *process {
	t.Helper()
	e := startProcess(t, "exporter", os.Getenv("TRTLLM_EXPORTER_BIN"), append(
		flags,
		"--web.listen-address",
		net.JoinHostPort(host, fmt.Sprint(exporterPort)),
		"--web.grpc-health-address",
		net.JoinHostPort(host, fmt.Sprint(healthPort)),
	)...)
	within(t, time.Minute, "the exporter is ready", func() bool {
		require.False(t, e.ended(), "the exporter ended")
		return statusOf(t.Context(), fmt.Sprintf("http://%s:%d/-/ready", host, exporterPort)) == http.StatusOK
	})
	return e
}

func statusOf(ctx context.Context, url string) int {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0
	}
	response.Body.Close()
	return response.StatusCode
}

type load struct {
	mu               sync.Mutex
	ok, failed, open int
}

func (l *load) counts() (ok, failed, open int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ok, l.failed, l.open
}

// send sends requests to a host at a rate until the test ends. Clients wait for their
// answers without limit; tokens is the length of an answer.
func (p *pool) send(t *testing.T, host string, rate float64, tokens int) *load {
	t.Helper()
	l := &load{}
	ctx := t.Context()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 50}}
	url := fmt.Sprintf("http://%s:%d/v2/models/ensemble/generate_stream", host, apiPort)
	body := fmt.Appendf(nil, `{"text_input":"What is a queue?","max_tokens":%d}`, tokens)
	p.clients.Go(func() {
		tick := time.NewTicker(time.Duration(float64(time.Second) / rate))
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			p.clients.Go(func() { l.one(ctx, client, url, body) })
		}
	})
	return l
}

func (l *load) one(ctx context.Context, client *http.Client, url string, body []byte) {
	l.count(0, 0, 1)
	defer l.count(0, 0, -1)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return
	}
	response, err := client.Do(request)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		l.count(0, 1, 0)
		return
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil || response.StatusCode != http.StatusOK {
		l.count(0, 1, 0)
		return
	}
	l.count(1, 0, 0)
}

func (l *load) count(ok, failed, open int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ok, l.failed, l.open = l.ok+ok, l.failed+failed, l.open+open
}
