package probes

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// TestBalancerRemovesFailingServer sends requests through Envoy to three servers, one of
// which fails and recovers.
func TestBalancerRemovesFailingServer(t *testing.T) {
	for _, file := range []string{"central.yaml", "sidecars.yaml"} {
		for _, c := range faults() {
			t.Run(file+": "+c.name, func(t *testing.T) {
				t.Parallel()
				p, e := balanced(t, file, simulate.Engine{})
				l := p.send(t, p.envoy(), 6, 20)
				during(t, 12*time.Second, "all servers are in", e.allIn(t, true))
				e.requireRequests(t, 1, true, 3*time.Second)
				_, failed, _ := l.counts()
				require.Zero(t, failed)

				c.begin(p.replicas[1])
				after := e.waitFor(t, 1, true, c.limit+5*time.Second)
				time.Sleep(time.Second) // Earlier requests may still be answered.
				_, before, waiting := l.counts()
				t.Logf("%s, %s: out after %.1f s; until then %d requests "+
					"failed, %d wait", file, c.name, after.Seconds(), before, waiting)
				e.requireRequests(t, 1, false, 10*time.Second)
				_, failed, _ = l.counts()
				require.Equal(t, before, failed, "a request failed while the server was out")

				c.end(p.replicas[1])
				after = e.waitFor(t, 1, false, 75*time.Second)
				t.Logf("%s, %s: recovered, in after %.1f s", file, c.name, after.Seconds())
				e.requireRequests(t, 1, true, 5*time.Second)
				_, failed, _ = l.counts()
				require.Equal(t, before, failed, "a request failed after the server returned")
			})
		}
	}
}

// TestBalancerTriesRemovedServer requires what docs/probes.md describes: without questions, a
// server without requests is tried once per window, because nothing else shows whether it still fails.
func TestBalancerTriesRemovedServer(t *testing.T) {
	t.Parallel()
	p := startPool(t, 3, simulate.Engine{})
	p.central(t)
	e := startEnvoy(t, p, "central.yaml")
	l := p.send(t, p.envoy(), 6, 2)
	time.Sleep(12 * time.Second)
	idle := func() bool {
		now := p.replicas[1].Truth()
		return now.Arrived == now.Finished+now.Failed
	}
	for start := time.Now(); !idle(); time.Sleep(3 * time.Millisecond) {
		require.Less(t, time.Since(start), time.Minute, "the server always has requests")
	}
	p.replicas[1].FailRequests(true)
	e.waitFor(t, 1, true, 30*time.Second)
	_, before, _ := l.counts()

	again := e.waitFor(t, 1, false, 90*time.Second)
	back := e.waitFor(t, 1, true, 30*time.Second)
	_, after, _ := l.counts()
	t.Logf("a server that still fails is tried after %.0f s, for %.0f s and %d "+
		"failed requests", again.Seconds(), back.Seconds(), after-before)
}

// TestBalancerWithQuestionsSparesClients requires that no client's request tries a failing server
// that the exporter may ask, and that the server returns soon after it recovered.
func TestBalancerWithQuestionsSparesClients(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		keys string
		// back is how long the server may stay out after it recovered.
		back time.Duration
	}{
		{confirms, 75 * time.Second},
		{"canary: { enabled: true, interval: 10s }", 45 * time.Second},
	} {
		t.Run(c.keys, func(t *testing.T) {
			t.Parallel()
			sparesClients(t, c.keys, c.back)
		})
	}
}

func sparesClients(t *testing.T, keys string, limit time.Duration) {
	t.Helper()
	p := startPool(t, 3, simulate.Engine{})
	p.central(t, keys)
	e := startEnvoy(t, p, "central.yaml")
	l := p.send(t, p.envoy(), 6, 20)
	time.Sleep(12 * time.Second)
	p.replicas[1].FailRequests(true)
	after := e.waitFor(t, 1, true, 30*time.Second)
	time.Sleep(time.Second)
	_, before, _ := l.counts()

	during(t, 90*time.Second, "it stays out", func() bool { return e.servers(t)[1].out })
	p.replicas[1].FailRequests(false)
	back := e.waitFor(t, 1, false, limit)
	e.requireRequests(t, 1, true, 5*time.Second)
	_, failed, _ := l.counts()
	require.Equal(t, before, failed, "a client's request tried the server")
	t.Logf(keys+": out after %.0f s, in %.0f s after it recovered", after.Seconds(), back.Seconds())
}

// TestBalancerWithoutExporter requires that no request is refused while the exporter is
// away.
func TestBalancerWithoutExporter(t *testing.T) {
	t.Parallel()
	p := startPool(t, 3, simulate.Engine{})
	exporter := p.central(t)
	e := startEnvoy(t, p, "central.yaml")
	l := p.send(t, p.envoy(), 6, 20)
	time.Sleep(6 * time.Second)

	exporter.kill()
	within(t, 40*time.Second, "all servers are in without the exporter", e.allIn(t, false))
	e.requireRequests(t, 1, true, 5*time.Second)
	_, failed, _ := l.counts()
	require.Zero(t, failed)

	p.central(t)
	within(t, 20*time.Second, "all servers are in with the exporter", e.allIn(t, true))
}

// TestBalancerKeepsLoadedServers increases the load through Envoy until a queue grows, and
// requires that all servers stay in.
func TestBalancerKeepsLoadedServers(t *testing.T) {
	t.Parallel()
	p, e := balanced(t, "central.yaml", simulate.Engine{MaxActive: 4, KVBlocks: 400, TokensPerBlock: 64})
	during(t, 15*time.Second, "idle: all servers are in", e.allIn(t, true))
	for _, rate := range []float64{1, 6, 20} {
		l := p.send(t, p.envoy(), rate, 150)
		during(t, 20*time.Second, "under load: all servers are in", e.allIn(t, true))
		ok, failed, open := l.counts()
		t.Logf("%.0f more requests/s: %d answered, %d failed, %d wait", rate, ok, failed, open)
		require.Zero(t, failed)
	}
}

// TestBalancerOverGRPC replaces the health check of the example by one over gRPC, for which
// Envoy requires an HTTP/2 cluster, like Triton's gRPC port.
func TestBalancerOverGRPC(t *testing.T) {
	for _, c := range []struct{ file, http, grpc string }{
		{
			"central.yaml",
			"http_health_check: { path: /-/replicas/llama-70b-prod/ready }",
			"grpc_health_check: { service_name: replicas/llama-70b-prod/ready }",
		},
		{
			"sidecars.yaml", "http_health_check: { path: /-/replica/ready }",
			"grpc_health_check: { service_name: replica/ready }",
		},
	} {
		t.Run(c.file, func(t *testing.T) {
			t.Parallel()
			require.Contains(t, read(t, "docs", "probes.md"), "`"+c.grpc+"`")
			p, e := balanced(
				t,
				c.file,
				simulate.Engine{},
				c.http,
				c.grpc,
				"port_value: 9802",
				"port_value: 9803",
				"type: STRICT_DNS",
				`type: STRICT_DNS
      typed_extension_protocol_options:
        envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
          "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
          explicit_http_config: { http2_protocol_options: {} }`,
			)
			during(t, 12*time.Second, "all servers are in", e.allIn(t, true))
			p.replicas[1].Stop()
			t.Logf("%s over gRPC: out after %.1f s", c.file, e.waitFor(t, 1, true, 35*time.Second).Seconds())
			require.False(t, e.servers(t)[0].out, "the other replica stays")
			p.replicas[1].Restart(0)
			t.Logf("%s over gRPC: in after %.1f s", c.file, e.waitFor(t, 1, false, 35*time.Second).Seconds())
		})
	}
}
