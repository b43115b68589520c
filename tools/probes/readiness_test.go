package probes

import (
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// fault makes a server unfit for requests.
type fault struct {
	name       string
	begin, end func(*simulate.Replica)
	// limit is how long the verdict may take with the default intervals: a scrape every 5s, a
	// stall after 30s, and 10s for the answer to a question.
	limit time.Duration
	// restart is set if liveness detects it too.
	restart bool
}

func faults() []fault {
	return []fault{
		{"every request fails", func(r *simulate.Replica) { r.FailRequests(true) }, repair, 25 * time.Second, true},
		{"the executor is frozen", freezeBusy, func(r *simulate.Replica) { r.Stall(false) }, 65 * time.Second, true},
		{
			"the model is unloaded",
			func(r *simulate.Replica) { r.Unload("tensorrt_llm") },
			func(r *simulate.Replica) { r.Load("tensorrt_llm") },
			25 * time.Second, false,
		},
		{
			"the server has exited",
			func(r *simulate.Replica) { r.Stop() },
			func(r *simulate.Replica) { r.Restart(0) },
			30 * time.Second, false,
		},
	}
}

func repair(r *simulate.Replica) {
	r.FailRequests(false)
	r.Restart(0)
}

// freezeBusy freezes the executor while its page shows requests.
func freezeBusy(r *simulate.Replica) {
	working := regexp.MustCompile(`request_type="active",version="1"\} [1-9]`)
	for start := time.Now(); !working.Match(r.Page()) && time.Since(start) < 20*time.Second; {
		time.Sleep(time.Millisecond)
	}
	r.Stall(true)
}

// TestKubeletRemovesFailingServer probes with every example like a kubelet, while a server
// fails and recovers.
func TestKubeletRemovesFailingServer(t *testing.T) {
	for _, c := range faults() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := startPool(t, 1, simulate.Engine{})
			p.sidecars(t)
			p.send(t, p.server(0), 3, 20)
			var readiness []*prober
			all := examples(t)
			for _, e := range all {
				readiness = append(readiness, startProber(t, e.container.ReadinessProbe, e.container, p.server(0)))
			}
			live := startProber(t, documented(t).LivenessProbe, documented(t), p.server(0))
			time.Sleep(12 * time.Second)
			for _, a := range readiness {
				a.requireNoFailure(t)
			}

			start := time.Now()
			c.begin(p.replicas[0])
			for i, a := range readiness {
				first, last := a.waitFailing(t, start, c.limit+40*time.Second)
				t.Logf("%s: the first probe fails after %.0f s, the server is out "+
					"after %.0f s: %s", c.name, first.Seconds(), last.Seconds(), all[i].name)
				require.Less(t, first, c.limit, all[i].name)
			}
			passes, missed := live.state()
			require.True(t, passes, "restarted within minutes")
			require.Equal(t, c.restart, missed > 0, "liveness")

			c.end(p.replicas[0])
			start = time.Now()
			for i, a := range readiness {
				a.waitPassing(t, 40*time.Second)
				t.Logf(
					"%s: recovered, the server is in after %.0f s: %s",
					c.name,
					time.Since(start).Seconds(),
					all[i].name,
				)
			}
			within(t, 40*time.Second, "the liveness passes", func() bool {
				_, missed := live.state()
				return missed == 0
			})
		})
	}
}

// TestKubeletKeepsServer probes a server that has no fault.
func TestKubeletKeepsServer(t *testing.T) {
	const length = 45 * time.Second
	small := simulate.Engine{MaxActive: 4, KVBlocks: 400, TokensPerBlock: 64}
	for _, c := range []struct {
		name   string
		engine simulate.Engine
		// missed is set if the exporter itself is away for a moment.
		missed bool
		during func(t *testing.T, p *pool, exporter *process)
	}{
		{"idle", simulate.Engine{}, false, func(*testing.T, *pool, *process) { time.Sleep(length) }},
		{"at its capacity", simulate.Engine{}, false, func(t *testing.T, p *pool, _ *process) {
			p.send(t, p.server(0), 8, 60)
			time.Sleep(length)
		}},
		{"with a growing queue", small, false, func(t *testing.T, p *pool, _ *process) {
			l := p.send(t, p.server(0), 8, 200)
			time.Sleep(length)
			_, _, open := l.counts()
			require.Greater(t, open, 20, "requests wait")
		}},
		{
			"with long prefills",
			simulate.Engine{PerContextToken: 300 * time.Millisecond},
			false, func(t *testing.T, p *pool, _ *process) {
				p.send(t, p.server(0), 0.2, 5)
				time.Sleep(length)
			},
		},
		{
			"while its exporter is stopped for a moment",
			simulate.Engine{},
			true, func(t *testing.T, p *pool, e *process) {
				p.send(t, p.server(0), 3, 20)
				require.NoError(t, e.cmd.Process.Signal(syscall.SIGSTOP))
				time.Sleep(20 * time.Second)
				require.NoError(t, e.cmd.Process.Signal(syscall.SIGCONT))
				time.Sleep(length - 20*time.Second)
			},
		},
		{"while its exporter restarts", simulate.Engine{}, true, func(t *testing.T, p *pool, e *process) {
			p.send(t, p.server(0), 3, 20)
			e.kill()
			time.Sleep(8 * time.Second)
			p.sidecars(t)
			time.Sleep(length - 8*time.Second)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := startPool(t, 1, c.engine)
			exporter := p.sidecars(t)[0]
			var all []*prober
			for _, e := range examples(t) {
				all = append(all, startProber(t, e.container.ReadinessProbe, e.container, p.server(0)))
			}
			all = append(all, startProber(t, documented(t).LivenessProbe, documented(t), p.server(0)))

			c.during(t, p, exporter)

			for _, a := range all {
				passes, _ := a.state()
				require.True(t, passes, "the probe of the replica passes")
				if !c.missed {
					a.requireNoFailure(t)
				}
			}
		})
	}
}
