package probes

import (
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// trouble is what makes a server one that requests should not go to.
type trouble struct {
	name       string
	begin, end func(*simulate.Replica)
	// takes is how long the verdict may take with the intervals as they are
	// shipped: a scrape every 5 s, and a stall after 30 s.
	takes time.Duration
	// restart is set if liveness detects it too.
	restart bool
	// needs is false for what is seen without requests.
	needs bool
}

func troubles() []trouble {
	return []trouble{
		{"every request fails", func(r *simulate.Replica) { r.FailRequests(true) }, restarted, 25 * time.Second, true, true},
		{"its executor is frozen", frozenAtWork, func(r *simulate.Replica) { r.Stall(false) }, 55 * time.Second, true, true},
		{"its model is unloaded", func(r *simulate.Replica) { r.Unload("tensorrt_llm") }, func(r *simulate.Replica) { r.Load("tensorrt_llm") }, 25 * time.Second, false, false},
		{"it has ended", func(r *simulate.Replica) { r.Stop() }, func(r *simulate.Replica) { r.Restart(0) }, 30 * time.Second, false, false},
	}
}

func restarted(r *simulate.Replica) {
	r.FailRequests(false)
	r.Restart(0)
}

// frozenAtWork freezes the executor while its page shows requests. Of one that
// freezes with none the page shows nothing: that is for the canary.
func frozenAtWork(r *simulate.Replica) {
	working := regexp.MustCompile(`request_type="active",version="1"\} [1-9]`)
	for began := time.Now(); !working.Match(r.Page()) && time.Since(began) < 20*time.Second; {
		time.Sleep(time.Millisecond)
	}
	r.Stall(true)
}

// TestKubeletRemovesFailingServer asks the probes of every example as a kubelet
// does, of a server that gets into trouble and out of it again.
func TestKubeletRemovesFailingServer(t *testing.T) {
	for _, c := range troubles() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := startPool(t, 1, simulate.Engine{})
			p.sidecars(t)
			p.send(t, p.server(0), 3, 20)
			var readiness []*asked
			all := examples(t)
			for _, e := range all {
				readiness = append(readiness, ask(t, e.container.ReadinessProbe, e.container, p.server(0)))
			}
			live := ask(t, documented(t).LivenessProbe, documented(t), p.server(0))
			time.Sleep(12 * time.Second)
			for _, a := range readiness {
				a.neverFailed(t)
			}

			began := time.Now()
			c.begin(p.replicas[0])
			for i, a := range readiness {
				first, last := a.fails(t, began, c.takes+40*time.Second)
				t.Logf("%s: the first probe fails after %.0f s, the server is out after %.0f s: %s", c.name, first.Seconds(), last.Seconds(), all[i].name)
				require.Less(t, first, c.takes, all[i].name)
			}
			passes, missed := live.state()
			require.True(t, passes, "nothing is restarted before minutes have gone by")
			require.Equal(t, c.restart, missed > 0, "liveness")

			c.end(p.replicas[0])
			began = time.Now()
			for i, a := range readiness {
				a.recovers(t, 40*time.Second)
				t.Logf("%s: well again, the server is in after %.0f s: %s", c.name, time.Since(began).Seconds(), all[i].name)
			}
			within(t, 40*time.Second, "the liveness passes", func() bool {
				_, missed := live.state()
				return missed == 0
			})
		})
	}
}

// TestKubeletKeepsServer asks the same probes of a server that has to be left
// alone.
func TestKubeletKeepsServer(t *testing.T) {
	const length = 45 * time.Second
	small := simulate.Engine{MaxActive: 4, KVBlocks: 400, TokensPerBlock: 64}
	for _, c := range []struct {
		name   string
		engine simulate.Engine
		// missed is true where the exporter itself is away for a moment.
		missed bool
		during func(t *testing.T, p *pool, exporter *process)
	}{
		{"idle", simulate.Engine{}, false, func(*testing.T, *pool, *process) { time.Sleep(length) }},
		{"with as many requests as it can do", simulate.Engine{}, false, func(t *testing.T, p *pool, _ *process) {
			p.send(t, p.server(0), 8, 60)
			time.Sleep(length)
		}},
		{"with a queue that grows", small, false, func(t *testing.T, p *pool, _ *process) {
			l := p.send(t, p.server(0), 8, 200)
			time.Sleep(length)
			_, _, open := l.counts()
			require.Greater(t, open, 20, "requests wait")
		}},
		{"with prefills that take seconds", simulate.Engine{PerContextToken: 300 * time.Millisecond}, false, func(t *testing.T, p *pool, _ *process) {
			p.send(t, p.server(0), 0.2, 5)
			time.Sleep(length)
		}},
		{"whose exporter is stopped and goes on", simulate.Engine{}, true, func(t *testing.T, p *pool, e *process) {
			p.send(t, p.server(0), 3, 20)
			require.NoError(t, e.cmd.Process.Signal(syscall.SIGSTOP))
			time.Sleep(20 * time.Second)
			require.NoError(t, e.cmd.Process.Signal(syscall.SIGCONT))
			time.Sleep(length - 20*time.Second)
		}},
		{"whose exporter starts again", simulate.Engine{}, true, func(t *testing.T, p *pool, e *process) {
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
			var all []*asked
			for _, e := range examples(t) {
				all = append(all, ask(t, e.container.ReadinessProbe, e.container, p.server(0)))
			}
			all = append(all, ask(t, documented(t).LivenessProbe, documented(t), p.server(0)))

			c.during(t, p, exporter)

			for _, a := range all {
				passes, _ := a.state()
				require.True(t, passes)
				if !c.missed {
					a.neverFailed(t)
				}
			}
		})
	}
}
