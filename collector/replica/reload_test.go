package replica

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/canary"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// reload returns the successor of a replica after a change of configuration.
func (s *stepped) reload(change func(*target.Target, *Pool)) *stepped {
	s.t.Helper()
	s.cancel()
	s.Close()
	tgt, pool := *s.target, *s.pool
	change(&tgt, &pool)
	r := New(&tgt, &pool, s.slot, s.log)
	r.Inherit(s.History())
	ctx, cancel := context.WithCancel(s.t.Context())
	s.t.Cleanup(func() {
		cancel()
		r.Close()
	})
	return &stepped{Replica: r, server: s.server, t: s.t, store: s.store, ctx: ctx, cancel: cancel}
}

// hungAt is the page from which on something is wrong in the lives of a server, pagesOfLife how many there are.
const hungAt, pagesOfLife = 3, 24

// soonAnswered is so short that no question is on its way when the next page comes.
const soonAnswered = model.Duration(time.Second)

// vllmLife sets the page of a vLLM with three requests in flight, after so many tokens.
func vllmLife(now *answering, tokens int) {
	now.page = fmt.Sprintf("vllm:num_requests_running{model_name=\"m\"} 3\n"+
		"vllm:generation_tokens_total{model_name=\"m\"} %d\n", tokens)
}

func vllmOfLife() answering {
	now := serveAnswers("0.12.0", "hi")
	now.api["/v1/models"] = `{"object":"list","data":[{"id":"m","object":"model","owned_by":"vllm"}]}`
	vllmLife(&now, 1)
	return now
}

// hungServer returns a server that hangs, and may be asked.
func hungServer(t *testing.T) *stepped {
	t.Helper()
	s := step(t, vllmOfLife(), func(tgt *target.Target, p *Pool) {
		tgt.Engine = "vllm"
		p.StallAfter, p.Canary = 20*time.Second, canary.DefaultConfig
		p.Canary.Confirm = true
	})
	s.change(func(now *answering) { now.hung = true })
	return s
}

// serveLife sets the page of a trtllm-serve that answered so many requests, and failed so many.
func serveLife(now *answering, ok, failed int) {
	now.page = fmt.Sprintf("trtllm_request_success_total{model_name=\"llama\",engine_type=\"undefined\"} %d\n"+
		"trtllm_request_error_total{http_code=\"500\",model_name=\"llama\",engine_type=\"undefined\"} %d\n", ok, failed)
}

// life is what happens to a server from page to page; each page is 5 s after the one before.
type life struct {
	name   string
	engine string
	start  func() answering
	asks   func(*canary.Config)
	page   func(now *answering, n int)
}

func serveOfLife() answering { return serveAnswers("1.3.0", "hi") }

// lives are lives of servers of which something is wrong from hungAt on.
var lives = []life{
	{
		name: "it hangs, and nobody asks", engine: "vllm", start: vllmOfLife,
		page: func(now *answering, n int) { vllmLife(now, 10*min(n, hungAt)) },
	},
	{
		name: "it hangs, and is asked", engine: "vllm", start: vllmOfLife,
		asks: func(c *canary.Config) { c.Confirm, c.FirstTokenTimeout = true, soonAnswered },
		page: func(now *answering, n int) {
			vllmLife(now, 10*min(n, hungAt))
			if n >= hungAt {
				now.hung = true
			}
		},
	},
	{
		name: "it hangs, and goes on", engine: "vllm", start: vllmOfLife,
		page: func(now *answering, n int) { vllmLife(now, 10*(min(n, hungAt)+max(n-15, 0))) },
	},
	{
		name: "it hangs, and says that it is not ready", engine: "vllm", start: vllmOfLife,
		page: func(now *answering, n int) {
			vllmLife(now, 10*min(n, hungAt))
			if n >= hungAt+2 {
				delete(now.api, "/health")
				now.status = http.StatusServiceUnavailable
			}
		},
	},
	{
		name: "all requests fail", engine: "trtllm-serve", start: serveOfLife,
		page: func(now *answering, n int) { serveLife(now, 5+min(n, hungAt), 2*max(n-hungAt, 0)) },
	},
	{
		name: "all requests fail, and others succeed later", engine: "trtllm-serve", start: serveOfLife,
		page: func(now *answering, n int) { serveLife(now, 5+min(n, hungAt)+max(n-12, 0), 2*max(n-hungAt, 0)) },
	},
	{
		name: "requests fail until nobody asks any more", engine: "trtllm-serve", start: serveOfLife,
		page: func(now *answering, n int) { serveLife(now, 5+min(n, hungAt), 2*max(min(n, 9)-hungAt, 0)) },
	},
	{
		name: "it hangs while it is idle, which a canary shows", engine: "trtllm-serve",
		start: serveOfLife,
		asks: func(c *canary.Config) {
			c.Enabled, c.Interval = true, model.Duration(20*time.Second)
			c.FirstTokenTimeout = soonAnswered
		},
		page: func(now *answering, n int) { now.hung = n >= hungAt+3 },
	},
	{
		name: "its page is late, and it hangs, which a canary shows", engine: "vllm", start: vllmOfLife,
		asks: func(c *canary.Config) {
			c.Enabled, c.Interval = true, model.Duration(20*time.Second)
			c.FirstTokenTimeout = soonAnswered
		},
		page: func(now *answering, n int) {
			vllmLife(now, 10*n)
			if n >= hungAt {
				now.failed, now.hung = failed(scrape.ReasonTimeout), n > hungAt+2
			}
		},
	},
	{
		name: "it ends", engine: "vllm", start: vllmOfLife,
		page: func(now *answering, n int) {
			vllmLife(now, 10*n)
			if n >= hungAt {
				now.failed, now.refused = failed(scrape.ReasonConnect), true
			}
		},
	},
}

// changes are changes of configuration that say nothing new about the servers of the lives.
var changes = []struct {
	name     string
	detected bool
	change   func(engine string, t *target.Target, p *Pool)
}{
	{"of the labels of a server of a configured kind", false, func(string, *target.Target, *Pool) {}},
	{"of the labels of a server whose kind was detected", true, func(string, *target.Target, *Pool) {}},
	{"that says which kind was detected", true, func(engine string, t *target.Target, _ *Pool) { t.Engine = engine }},
	{"of how often is asked", false, func(_ string, _ *target.Target, p *Pool) { p.Canary.Interval /= 2 }},
}

// TestReloadChangesNoVerdict plays lives of servers with a change of configuration at each of their pages, which
// showed nothing about the server: what is said of it, and answered to probes, is the same as without.
func TestReloadChangesNoVerdict(t *testing.T) {
	for _, c := range changes {
		for i := range lives {
			l := &lives[i]
			t.Run(l.name+", a change "+c.name, func(t *testing.T) {
				reload := func(tgt *target.Target, p *Pool) { c.change(l.engine, tgt, p) }
				var want []string
				synctest.Test(t, func(t *testing.T) { want = l.play(t, c.detected, pagesOfLife, reload) })
				for at := 1; at < pagesOfLife; at++ {
					synctest.Test(t, func(t *testing.T) {
						require.Equal(t, want, l.play(t, c.detected, at, reload), "reloaded before page %d", at)
					})
				}
			})
		}
	}
}

// play plays a life with a change of configuration before a page, and returns the verdicts.
func (l *life) play(t *testing.T, detected bool, reloadAt int, reload func(*target.Target, *Pool)) (all []string) {
	t.Helper()
	start := l.start()
	s := step(t, start, func(tgt *target.Target, p *Pool) {
		tgt.Engine = l.engine
		if detected {
			tgt.Engine = target.Auto
		}
		p.StallAfter, p.Canary = 20*time.Second, canary.DefaultConfig
		if l.asks != nil {
			l.asks(&p.Canary)
		}
	})
	for n := range pagesOfLife {
		s.change(func(now *answering) { l.page(now, n) })
		if n == reloadAt {
			s = s.reload(reload)
		}
		s.due()
		if s.pool.Canary.Enabled && n%4 == 0 {
			s.send()
		}
		now := s.after(5 * time.Second)
		all = append(all, fmt.Sprintf("%d: %s, suspected %t, probes %t %t",
			n, now.State, now.Suspected, now.ProbeReady, now.ProbeLive))
	}
	return all
}

// TestReloadAsksAgain has a change of configuration while a question is on its way: its answer is lost, and nobody waits
// a minute for the next one.
func TestReloadAsksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := hungServer(t)
		var status target.Status
		for s.count(chats) == 0 {
			s.due()
			status = s.after(5 * time.Second)
		}
		require.True(t, status.Suspected, status.StateReason)
		s = s.reload(func(*target.Target, *Pool) {})
		for range 4 {
			s.due()
			status = s.after(5 * time.Second)
		}
		require.Equal(t, "stalled", status.State, status.StateReason)
		require.Equal(t, 2, s.count(chats), "questions")
	})
}
