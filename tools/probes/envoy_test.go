package probes

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

type envoy struct {
	*process
	pool *pool
}

// balanced starts three servers, the exporters that a file of deploy/envoy needs, and Envoy with
// the file.
func balanced(t *testing.T, file string, engine simulate.Engine, replace ...string) (*pool, *envoy) {
	t.Helper()
	p := startPool(t, 3, engine)
	if file == "central.yaml" {
		p.central(t, confirms)
	} else {
		p.sidecars(t)
	}
	return p, startEnvoy(t, p, file, replace...)
}

// startEnvoy starts Envoy with a file of deploy/envoy, in which host names and other pairs
// of texts are replaced.
func startEnvoy(t *testing.T, p *pool, file string, replace ...string) *envoy {
	t.Helper()
	pairs := append([]string{"0.0.0.0", p.envoy(), "127.0.0.1", p.envoy(), "10.0.0.9", p.exporter()}, replace...)
	for i := range p.replicas {
		pairs = append(pairs, fmt.Sprintf("gpu-%d", i), p.server(i))
	}
	given := read(t, "deploy", "envoy", file)
	for i := 0; i < len(pairs); i += 2 {
		if i > 4 { // A file may have no central exporter.
			require.Contains(t, given, pairs[i], file)
		}
	}
	config := filepath.Join(t.TempDir(), file)
	require.NoError(t, os.WriteFile(config, []byte(strings.NewReplacer(pairs...).Replace(given)), 0o600))
	e := &envoy{
		startProcess(
			t,
			"envoy",
			os.Getenv("ENVOY"),
			"-c",
			config,
			"--concurrency",
			"1",
			"--disable-hot-restart",
			"--log-level",
			"warn",
		),
		p,
	}
	within(t, time.Minute, "Envoy is ready", func() bool {
		require.False(t, e.ended(), "Envoy ended")
		return statusOf(t.Context(), e.admin("/ready")) == http.StatusOK
	})
	return e
}

func (e *envoy) admin(path string) string {
	return fmt.Sprintf("http://%s:%d%s", e.pool.envoy(), adminPort, path)
}

// upstream is the state of a server in Envoy.
type upstream struct {
	out      bool
	requests int
}

// servers returns the servers of the only cluster, in the order of the replicas.
func (e *envoy) servers(t *testing.T) []upstream {
	t.Helper()
	response, err := http.Get(e.admin("/clusters?format=json"))
	require.NoError(t, err)
	defer response.Body.Close()
	var answer struct {
		Clusters []struct {
			Hosts []struct {
				Address struct {
					Socket struct {
						Address string `json:"address"`
					} `json:"socket_address"`
				} `json:"address"`
				Stats  []struct{ Name, Value string } `json:"stats"`
				Health struct {
					Failed bool `json:"failed_active_health_check"`
				} `json:"health_status"`
			} `json:"host_statuses"`
		} `json:"cluster_statuses"`
	}
	require.NoError(t, json.NewDecoder(response.Body).Decode(&answer))
	require.Len(t, answer.Clusters, 1)
	all := make([]upstream, len(e.pool.replicas))
	for _, host := range answer.Clusters[0].Hosts {
		for i := range all {
			if host.Address.Socket.Address != e.pool.server(i) {
				continue
			}
			all[i].out = host.Health.Failed
			for _, s := range host.Stats {
				if s.Name == "rq_total" {
					all[i].requests, _ = strconv.Atoi(s.Value)
				}
			}
		}
	}
	return all
}

// allIn returns a check whether all servers are in, or with false whether all are out.
func (e *envoy) allIn(t *testing.T, in bool) func() bool {
	t.Helper()
	return func() bool {
		return !slices.ContainsFunc(e.servers(t), func(u upstream) bool { return u.out == in })
	}
}

// waitFor waits until Envoy removes a server, or readmits it.
func (e *envoy) waitFor(t *testing.T, i int, out bool, limit time.Duration) time.Duration {
	t.Helper()
	return within(t, limit, fmt.Sprintf("server %d out: %v", i, out), func() bool { return e.servers(t)[i].out == out })
}

// requireRequests requires that a server gets requests for a while, or none while the
// others get some.
func (e *envoy) requireRequests(t *testing.T, i int, some bool, length time.Duration) {
	t.Helper()
	before := e.servers(t)
	time.Sleep(length)
	for j, now := range e.servers(t) {
		got := now.requests - before[j].requests
		if j == i && !some {
			require.Zero(t, got, "requests to server %d", j)
		} else {
			require.Positive(t, got, "requests to server %d", j)
		}
	}
}
