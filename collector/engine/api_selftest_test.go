package engine_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// tested is a server that answers a self-test after some time. It cannot be reached if away is true.
type tested struct {
	response

	after time.Duration
	away  bool
}

// DoBrief implements engine.BriefClient.
func (s tested) DoBrief(
	ctx context.Context,
	method, address string,
	body []byte,
	limit int64,
) (int, http.Header, []byte, error) {
	if address != "http://h:8000/health_generate" {
		return 0, nil, nil, errors.New("not asked: " + address)
	}
	if !s.away {
		httptrace.ContextClientTrace(ctx).GotConn(httptrace.GotConnInfo{})
	}
	select {
	case <-time.After(s.after):
		return s.Do(ctx, method, address, body, limit)
	case <-ctx.Done():
		return 0, nil, nil, fmt.Errorf("scrape: %w", ctx.Err())
	}
}

// TestSelfTest has the answers of SGLang 0.5.23, which were seen, and of trtllm-serve by its source.
func TestSelfTest(t *testing.T) {
	ok, down := response{status: 200}, response{status: 503}
	for _, c := range []struct {
		says   string
		kind   engine.Name
		server tested
		want   engine.SelfTestResult
		detail string
	}{
		{
			"an SGLang, idle, busy or full", engine.SGLang,
			tested{ok, time.Second, false},
			engine.SelfTestAnswered, "/health_generate answers 200",
		},
		{
			"an SGLang whose scheduler hangs", engine.SGLang,
			tested{down, 20 * time.Second, false},
			engine.SelfTestFailed,
			"/health_generate answers that the engine was silent for 20s",
		},
		{
			"the same, with SGLANG_HEALTH_CHECK_TIMEOUT=5", engine.SGLang,
			tested{down, 5 * time.Second, false},
			engine.SelfTestFailed,
			"/health_generate answers that the engine was silent for 5s",
		},
		{
			"the same, with SGLANG_HEALTH_CHECK_TIMEOUT=60", engine.SGLang,
			tested{down, time.Minute, false},
			engine.SelfTestSilent, "/health_generate does not answer within 30s",
		},
		{
			"an SGLang that starts or exits", engine.SGLang,
			tested{down, time.Millisecond, false},
			engine.SelfTestAway,
			"/health_generate answers that the server starts or exits",
		},
		{
			"a trtllm-serve that works", engine.TRTLLMServe,
			tested{response{status: 200, body: "Generation health check OK"}, time.Second, false},
			engine.SelfTestAnswered, "/health_generate answers 200",
		},
		{
			"a trtllm-serve that hangs", engine.TRTLLMServe,
			tested{ok, time.Hour, false},
			engine.SelfTestSilent, "/health_generate does not answer within 30s",
		},
		{
			"a trtllm-serve whose model has no chat template", engine.TRTLLMServe,
			tested{response{status: 500, body: "Generation health check failed"}, 0, false},
			engine.SelfTestRejected,
			"/health_generate answers that the server's own request failed (Generation health check failed)",
		},
		{
			"a trtllm-serve that loads its engine", engine.TRTLLMServe,
			tested{down, 0, false},
			engine.SelfTestAway,
			"/health_generate answers that the server starts or exits",
		},
		{
			"a release without it", engine.TRTLLMServe,
			tested{response{status: 404}, 0, false},
			engine.SelfTestUnknown, "/health_generate answers Not Found",
		},
		{
			"a proxy that lost its server", engine.SGLang,
			tested{response{status: 502}, 0, false},
			engine.SelfTestUnknown, "/health_generate answers Bad Gateway",
		},
		{
			"a proxy that did not wait", engine.SGLang,
			tested{response{status: 504}, 10 * time.Second, false},
			engine.SelfTestUnknown, "/health_generate answers Gateway Timeout",
		},
		{
			"a proxy that asks for a login", engine.SGLang,
			tested{response{status: 200, body: "<html>"}, 0, false},
			engine.SelfTestUnknown,
			"/health_generate answers a web page, as of a proxy that asks for a login",
		},
		{
			"a server that requires a key", engine.SGLang,
			tested{response{status: 401}, 0, false},
			engine.SelfTestUnknown, "/health_generate answers Unauthorized",
		},
		{
			"nothing listens", engine.SGLang,
			tested{response{err: syscall.ECONNREFUSED}, 0, true},
			engine.SelfTestUnknown,
			"/health_generate was not asked: connection refused",
		},
		{
			"the network drops what is sent, or connections are short here",
			engine.SGLang,
			tested{ok, time.Hour, true},
			engine.SelfTestUnknown,
			"/health_generate was not asked: scrape: context deadline exceeded",
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			var l engine.Locator
			p := l.Locate(c.server, &target.Target{MetricsURL: "http://h:8000/metrics"}, engineOf(t, c.kind), false)
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			got, has := p.SelfTest(ctx)
			require.True(t, has, c.says)
			require.Equal(t, c.want, got.Result, "%s: %s", c.says, got.Detail)
			require.Equal(t, c.detail, got.Detail, c.says)
			require.Equal(t, min(c.server.after, 30*time.Second), got.Took, c.says)
		})
	}
}

func TestOnlySomeKindsTestThemselves(t *testing.T) {
	for _, e := range engine.All() {
		require.Equal(t, e.Name == engine.SGLang || e.Name == engine.TRTLLMServe, e.SelfTest.Path != "", e.Name)
	}
}

func TestWhoIsAskedToTestItself(t *testing.T) {
	page := readPage(t, engine.SGLang, []byte("sglang:num_running_reqs{model_name=\"m\"} 1\n"))
	sglang := engine.Facts{Confirmed: true, Listed: true, Models: named("m")}
	ready := engine.Health{API: engine.APIReady, Status: 200}
	for _, c := range []struct {
		says   string
		facts  engine.Facts
		health engine.Health
		want   bool
	}{
		{"a server that says that it is ready", sglang, ready, true},
		{"one whose API does not answer", sglang, engine.Health{API: engine.APIFailed}, true},
		{"one that says that it is not ready", sglang, engine.Health{API: engine.APINotReady, Status: 503}, true},
		{
			"a paused one, which would remember that it failed",
			sglang,
			engine.Health{API: engine.APIReady, Status: 200, Paused: true},
			false,
		},
		{"one that exits", sglang, engine.Health{API: engine.APINotReady, Status: 503, Draining: true}, false},
		{
			"one that loads its engine", sglang,
			engine.Health{API: engine.APINotReady, Status: 503, Starting: true},
			false,
		},
		{
			"a follower, which lists no models",
			engine.Facts{Problems: []engine.Problem{{Status: 404}}},
			engine.Health{API: engine.APINotReady, Status: 404, FromServer: true, NoEndpoint: true},
			false,
		},
		{"a server of another kind", engine.Facts{Listed: true, Models: named("m")}, ready, false},
		{
			"a server that requires a key for its models",
			engine.Facts{Problems: []engine.Problem{{Restricted: true}}},
			engine.Health{API: engine.APIFailed, Status: 401},
			false,
		},
	} {
		var l engine.Locator
		var a engine.Answers
		require.False(t, a.MayTest(true), "nothing was answered yet")
		a.AddFacts(c.facts, time.Minute)
		a.AddHealth(c.health)
		a.Reconcile(
			l.Locate(nil, &target.Target{MetricsURL: "http://h:8000/metrics"}, engineOf(t, engine.SGLang), false),
			page,
		)
		require.Equal(t, c.want, a.MayTest(false), c.says)
		restricted := slices.ContainsFunc(c.facts.Problems, func(p engine.Problem) bool { return p.Restricted })
		require.Equal(t, c.want || restricted, a.MayTest(true), "%s, beside its page", c.says)
	}
}
