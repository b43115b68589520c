package probes

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// TestBalancerRemovesFailingServer has clients send requests through Envoy to
// three servers, of which one gets into trouble and out of it again.
func TestBalancerRemovesFailingServer(t *testing.T) {
	for _, file := range []string{"central.yaml", "sidecars.yaml"} {
		for _, c := range troubles() {
			t.Run(file+": "+c.name, func(t *testing.T) {
				t.Parallel()
				p, e := balanced(t, file, simulate.Engine{})
				l := p.send(t, p.envoy(), 6, 20)
				during(t, 12*time.Second, "all servers are in", e.allIn(t, true))
				e.takes(t, 1, true, 3*time.Second)
				_, failed, _ := l.counts()
				require.Zero(t, failed)

				c.begin(p.replicas[1])
				after := e.turns(t, 1, true, c.takes+5*time.Second)
				time.Sleep(time.Second) // What was sent before may still be answered.
				_, meanwhile, waiting := l.counts()
				t.Logf("%s, %s: out after %.1f s; until then %d requests failed, and %d wait", file, c.name, after.Seconds(), meanwhile, waiting)
				e.takes(t, 1, false, 10*time.Second)
				_, failed, _ = l.counts()
				require.Equal(t, meanwhile, failed, "no request fails any more")

				c.end(p.replicas[1])
				after = e.turns(t, 1, false, 75*time.Second)
				t.Logf("%s, %s: well again, in after %.1f s", file, c.name, after.Seconds())
				e.takes(t, 1, true, 5*time.Second)
				_, failed, _ = l.counts()
				require.Equal(t, meanwhile, failed, "nor when it is in again")
			})
		}
	}
}

// TestBalancerTriesRemovedServer requires what docs/probes.md says of a
// server that gets no requests: once a window it is tried, for nothing else shows
// whether it fails still.
func TestBalancerTriesRemovedServer(t *testing.T) {
	t.Parallel()
	p, e := balanced(t, "central.yaml", simulate.Engine{})
	l := p.send(t, p.envoy(), 6, 2)
	time.Sleep(12 * time.Second)
	idle := func() bool {
		now := p.replicas[1].Truth()
		return now.Arrived == now.Finished+now.Failed
	}
	for began := time.Now(); !idle(); time.Sleep(3 * time.Millisecond) {
		require.Less(t, time.Since(began), time.Minute, "the server always has requests")
	}
	p.replicas[1].FailRequests(true)
	e.turns(t, 1, true, 30*time.Second)
	_, before, _ := l.counts()

	again := e.turns(t, 1, false, 90*time.Second)
	back := e.turns(t, 1, true, 30*time.Second)
	_, after, _ := l.counts()
	t.Logf("a server that still fails is tried after %.0f s, for %.0f s and %d failed requests", again.Seconds(), back.Seconds(), after-before)
}

// TestBalancerWithCanarySparesClients requires that with a canary no client tries a server
// that still fails, and that it is back soon when it does not.
func TestBalancerWithCanarySparesClients(t *testing.T) {
	t.Parallel()
	p := startPool(t, 3, simulate.Engine{})
	p.central(t, "canary: { enabled: true, interval: 10s }")
	e := startEnvoy(t, p, "central.yaml")
	l := p.send(t, p.envoy(), 6, 20)
	time.Sleep(12 * time.Second)
	p.replicas[1].FailRequests(true)
	after := e.turns(t, 1, true, 30*time.Second)
	time.Sleep(time.Second)
	_, before, _ := l.counts()

	during(t, 90*time.Second, "it stays out", func() bool { return e.servers(t)[1].out })
	p.replicas[1].FailRequests(false)
	back := e.turns(t, 1, false, 45*time.Second)
	e.takes(t, 1, true, 5*time.Second)
	_, failed, _ := l.counts()
	require.Equal(t, before, failed, "no client's request was spent on trying")
	t.Logf("with a canary every 10 s: out after %.0f s, and in %.0f s after it is well again", after.Seconds(), back.Seconds())
}

// TestBalancerWithoutExporter requires that nobody is refused because
// the one that judges is away.
func TestBalancerWithoutExporter(t *testing.T) {
	t.Parallel()
	p := startPool(t, 3, simulate.Engine{})
	exporter := p.central(t)
	e := startEnvoy(t, p, "central.yaml")
	l := p.send(t, p.envoy(), 6, 20)
	time.Sleep(6 * time.Second)

	exporter.kill()
	within(t, 40*time.Second, "no answer of the exporter is missed for long", e.allIn(t, false))
	e.takes(t, 1, true, 5*time.Second)
	_, failed, _ := l.counts()
	require.Zero(t, failed)

	p.central(t)
	within(t, 20*time.Second, "it is believed again", e.allIn(t, true))
}

// TestBalancerKeepsLoadedServers runs load up to a queue that grows through Envoy, and
// wants all servers in at every look.
func TestBalancerKeepsLoadedServers(t *testing.T) {
	t.Parallel()
	p, e := balanced(t, "central.yaml", simulate.Engine{MaxActive: 4, KVBlocks: 400, TokensPerBlock: 64})
	during(t, 15*time.Second, "idle: all servers are in", e.allIn(t, true))
	for _, rate := range []float64{1, 6, 20} {
		l := p.send(t, p.envoy(), rate, 150)
		during(t, 20*time.Second, "under load: all servers are in", e.allIn(t, true))
		ok, failed, open := l.counts()
		t.Logf("%.0f requests/s more: %d answered, %d failed, %d wait", rate, ok, failed, open)
		require.Zero(t, failed)
	}
}

// TestBalancerOverGRPC replaces the health check of the example by the one over
// gRPC, for which Envoy wants a cluster of HTTP/2, as that of Triton's gRPC port is.
func TestBalancerOverGRPC(t *testing.T) {
	for _, c := range []struct{ file, http, grpc string }{
		{"central.yaml", "http_health_check: { path: /-/replicas/llama-70b-prod/ready }", "grpc_health_check: { service_name: replicas/llama-70b-prod/ready }"},
		{"sidecars.yaml", "http_health_check: { path: /-/replica/ready }", "grpc_health_check: { service_name: replica/ready }"},
	} {
		t.Run(c.file, func(t *testing.T) {
			t.Parallel()
			require.Contains(t, read(t, "docs", "probes.md"), "`"+c.grpc+"`")
			p, e := balanced(t, c.file, simulate.Engine{}, c.http, c.grpc, "port_value: 9802", "port_value: 9803", "type: STRICT_DNS", `type: STRICT_DNS
      typed_extension_protocol_options:
        envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
          "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
          explicit_http_config: { http2_protocol_options: {} }`)
			during(t, 12*time.Second, "all servers are in", e.allIn(t, true))
			p.replicas[1].Stop()
			t.Logf("%s over gRPC: out after %.1f s", c.file, e.turns(t, 1, true, 35*time.Second).Seconds())
			require.False(t, e.servers(t)[0].out)
			p.replicas[1].Restart(0)
			t.Logf("%s over gRPC: in after %.1f s", c.file, e.turns(t, 1, false, 35*time.Second).Seconds())
		})
	}
}
