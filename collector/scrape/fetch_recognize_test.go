package scrape

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

func TestDetectAgainAfterFailure(t *testing.T) {
	serve := map[string]string{"/prometheus/metrics": servePage}
	failed := func(r Reason) error { return &Error{Reason: r, Err: errors.New("x")} }
	for _, c := range []struct {
		name    string
		answers map[string]string
		page    string
		failed  error
		change  func(f *Fetcher)
		// asks is set if its kind is requested, moved if it is another one, certain if it is
		// known afterwards.
		asks, moved, certain bool
	}{
		{name: "a page of its kind", page: tritonPage, certain: true},
		{
			name:    "another server",
			answers: serve,
			failed:  failed(ReasonHTTPStatus),
			asks:    true,
			moved:   true,
			certain: true,
		},
		{
			name:    "another server with JSON at the path",
			answers: serve,
			failed:  failed(ReasonContentType),
			asks:    true,
			moved:   true,
			certain: true,
		},
		{
			name:    "another server that redirects",
			answers: serve,
			failed:  failed(ReasonRedirect),
			asks:    true,
			moved:   true,
			certain: true,
		},
		{
			name:    "another server with an empty answer",
			answers: serve,
			failed:  failed(ReasonEmpty),
			asks:    true,
			moved:   true,
			certain: true,
		},
		{
			name:    "another server with a page without marks",
			answers: serve,
			page:    "x 1\n",
			asks:    true,
			moved:   true,
			certain: true,
		},
		{name: "another server with a page", answers: serve, page: servePage, asks: true, moved: true, certain: true},
		{
			name:    "the same server, with an ambiguous page",
			answers: map[string]string{"/metrics": tritonPage},
			page:    "x 1\n",
			asks:    true,
			certain: true,
		},
		{name: "an unknown server", failed: failed(ReasonHTTPStatus), asks: true},
		{name: "no answer", answers: serve, failed: failed(ReasonConnect)},
		{name: "no answer in time", answers: serve, failed: failed(ReasonTimeout)},
		{name: "a closed connection", answers: serve, failed: failed(ReasonReset)},
		{
			name:    "without an earlier failure",
			answers: serve,
			page:    servePage,
			change:  func(f *Fetcher) { f.Server.Uncertain = false },
			certain: true,
		},
		{
			name:    "a configured kind",
			answers: serve,
			page:    servePage,
			change:  func(f *Fetcher) { f.Target.Engine = "triton" },
			certain: true,
		},
		{
			name:    "a configured kind without page",
			answers: serve,
			failed:  failed(ReasonHTTPStatus),
			change:  func(f *Fetcher) { f.Target.Engine = "triton" },
		},
		{
			name:    "an unknown server with a page is kept",
			answers: serve,
			page:    servePage,
			change: func(f *Fetcher) {
				f.Server = NewServer(engine.BuiltIn(), target.Auto)
				f.Server.Uncertain = true
			},
		},
		{
			name:    "a known server in place of an unknown one",
			answers: serve,
			failed:  failed(ReasonHTTPStatus),
			change: func(f *Fetcher) {
				f.Server = NewServer(engine.BuiltIn(), target.Auto)
				f.Server.Uncertain = true
			},
			asks:    true,
			moved:   true,
			certain: true,
		},
		{
			name:    "a configured path",
			answers: serve,
			page:    servePage,
			change:  func(f *Fetcher) { f.Target.MetricsURL = "http://a:1/metrics" },
			certain: true,
		},
		{
			name:    "requested recently",
			answers: serve,
			page:    servePage,
			change:  func(f *Fetcher) { f.Server.detected = time.Now() },
		},
		{
			name:    "requested long ago",
			answers: serve,
			page:    servePage,
			change:  func(f *Fetcher) { f.Server.detected = time.Now().Add(-f.Patience) },
			asks:    true,
			moved:   true,
			certain: true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &server{answers: c.answers}
			f := fetcher(s, target.Auto, "http://a:1")
			f.Server = found(t, engine.Triton, "http://a:1/metrics")
			f.Server.Uncertain = true
			if c.change != nil {
				c.change(f)
			}
			before := f.Server
			require.Equal(t, c.moved, f.moved(t.Context(), []byte(c.page), c.failed))
			require.Equal(t, c.asks, len(s.requested) > 0)
			require.Equal(t, c.certain, !f.Server.Uncertain)
			if c.asks {
				defer func() {
					s.requested, f.Server.Uncertain = nil, true
					f.moved(t.Context(), nil, failed(ReasonHTTPStatus))
					require.Empty(t, s.requested, "no second request within a short time")
				}()
			}
			if c.moved {
				require.Equal(t, engine.TRTLLMServe, f.Server.Engine.Name)
				require.Equal(t, "http://a:1/prometheus/metrics", f.Server.URL)
				require.Equal(t, before.Epoch+1, f.Server.Epoch)
				return
			}
			require.Equal(t, before.Engine, f.Server.Engine)
			require.Equal(t, before.URL, f.Server.URL)
			require.Equal(t, before.Epoch, f.Server.Epoch)
		})
	}
}

func TestDetectByPage(t *testing.T) {
	api := map[string]string{"/v1/models": models}
	serveAPI := map[string]string{
		"/v1/models": `{"data":[{"id":"m","owned_by":"tensorrt_llm"}]}`, "/version": `{"version":"1.1.0"}`,
	}
	missing := &Error{Reason: ReasonHTTPStatus, Class: "404", Err: errors.New("404")}
	refused := &Error{Reason: ReasonConnect, Err: errors.New("refused")}
	for _, c := range []struct {
		name       string
		configured string
		known      engine.Name
		up         bool
		answers    map[string]string
		page       string
		failed     error
		kind       engine.Name
		mismatch   string
	}{
		{
			name:    "an unknown server is recognized by its API",
			known:   engine.Unknown,
			answers: serveAPI,
			page:    "x 1\n",
			kind:    engine.TRTLLMServe,
		},
		{
			name:    "also without page",
			known:   engine.Unknown,
			answers: serveAPI,
			failed:  missing,
			kind:    engine.TRTLLMServe,
		},
		{
			name:    "servers without answers are not requested",
			known:   engine.Unknown,
			answers: serveAPI,
			failed:  refused,
			kind:    engine.Unknown,
		},
		{
			name:    "a version alone is not enough",
			known:   engine.Unknown,
			answers: map[string]string{"/version": `{"version":"1"}`},
			page:    "x 1\n",
			kind:    engine.Unknown,
		},
		{name: "an unknown server is recognized", known: engine.Unknown, page: tritonPage, kind: engine.Triton},
		{
			name:    "also by its API, if two kinds share a page",
			known:   engine.Unknown,
			answers: api,
			page:    tritonPage,
			kind:    engine.TritonOpenAI,
		},
		{name: "a page without marks", known: engine.Unknown, page: "x 1\n", kind: engine.Unknown},
		{name: "after a fault, another server", known: engine.Triton, page: servePage, kind: engine.TRTLLMServe},
		{name: "after a fault, the same server", known: engine.Triton, page: tritonPage, kind: engine.Triton},
		{
			name:  "a kind with such a page is kept",
			known: engine.TritonOpenAI,
			page:  tritonPage,
			kind:  engine.TritonOpenAI,
		},
		{name: "no detection while it is up", known: engine.Triton, up: true, page: servePage, kind: engine.Triton},
		{
			name:  "detection while it is up and unknown",
			known: engine.Unknown,
			up:    true,
			page:  servePage,
			kind:  engine.TRTLLMServe,
		},
		{
			name:       "what is configured stays, and is held against the page",
			configured: "trtllm-serve",
			page:       nimPage,
			kind:       engine.TRTLLMServe,
			mismatch:   "the page looks like that of nim, engine says trtllm-serve",
		},
		{
			name:       "what is configured is an engine that others have inside",
			configured: "vllm",
			page:       nimPage,
			kind:       engine.VLLM,
			mismatch:   "the page looks like that of nim, engine says vllm",
		},
		{name: "after a fault, a server made of it", known: engine.VLLM, page: nimPage, kind: engine.NIM},
		{name: "what is configured is right", configured: "nim", page: nimPage, kind: engine.NIM},
		{
			name:       "what is configured may have such a page",
			configured: "triton-openai",
			page:       tritonPage,
			kind:       engine.TritonOpenAI,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := fetcher(&server{answers: c.answers}, target.Auto, "http://a:1/metrics")
			if c.configured != "" {
				f.Target.Engine, f.Server = c.configured, NewServer(engine.BuiltIn(), c.configured)
			} else {
				f.Server = found(t, c.known, "http://a:1/metrics")
			}
			f.Up = c.up
			before := f.Server
			f.recognize(t.Context(), []byte(c.page), c.failed)
			require.Equal(t, c.kind, f.Server.Engine.Name)
			require.Equal(
				t, before.Engine.Name != c.kind, f.Server.Epoch == before.Epoch+1, "another kind is another epoch",
			)
			require.Equal(t, c.mismatch, f.Server.Mismatch())
			if c.mismatch != "" {
				require.Equal(t, engine.NIM, f.Server.PageKind())
				right := map[engine.Name]string{engine.TRTLLMServe: servePage, engine.VLLM: vllmPage}[c.kind]
				f.recognize(t.Context(), []byte(right), nil)
				require.Empty(t, f.Server.Mismatch(), "the right page")
			}
			require.Equal(t, c.kind, f.Server.PageKind())
		})
	}
}

// TestKindIsProvisionalUntilAPIAnswers uses two kinds with the same page, which only the API
// distinguishes.
func TestKindIsProvisionalUntilAPIAnswers(t *testing.T) {
	for name, address := range map[string]string{
		"the path of the page is configured": "http://a:1/metrics", "the page is located": "http://a:1",
	} {
		t.Run(name, bubble(func(t *testing.T) {
			s := &server{answers: map[string]string{"/metrics": tritonPage, "/v1/models": models}, silent: "/v1/models"}
			f := fetcher(s, target.Auto, address)
			fetch := func(kind engine.Name, settled bool) {
				t.Helper()
				p := f.Fetch(t.Context(), nil)
				require.NoError(t, p.Err)
				p.Release()
				now := p.Server
				f = next(f, &now, true)
				require.Equal(t, kind, f.Server.Engine.Name)
				require.Equal(t, settled, f.Settled())
			}
			fetch(engine.Triton, false)
			s.requested = nil
			fetch(engine.Triton, false)
			require.Empty(t, s.requested, "it is not requested with every page")
			time.Sleep(f.Patience)
			fetch(engine.Triton, false)
			s.silent = ""
			time.Sleep(f.Patience)
			fetch(engine.TritonOpenAI, true)
			require.Equal(t, 2, f.Server.Epoch, "another kind")
		}))
	}
}

// TestWrongKindWithoutPage uses targets of a configured kind that show no page at the path of that kind.
func TestWrongKindWithoutPage(t *testing.T) {
	for _, c := range []struct {
		name, configured, address string
		answers                   map[string]string
		mismatch                  string
	}{
		{
			"another kind has its page elsewhere", "trtllm-serve", "http://a:1",
			map[string]string{"/metrics": vllmPage},
			"the page looks like that of vllm, engine says trtllm-serve",
		},
		{
			"no page at any other path", "trtllm-serve", "http://a:1",
			map[string]string{"/metrics": tritonPage, "/prometheus/metrics": "{}"},
			"the page looks like that of triton, engine says trtllm-serve",
		},
		{
			"an empty page at any other path", "trtllm-serve", "http://a:1",
			map[string]string{"/metrics": tritonPage, "/prometheus/metrics": ""},
			"the page looks like that of triton, engine says trtllm-serve",
		},
		{"what may be inside", "nim", "http://a:1", map[string]string{"/metrics": vllmPage}, ""},
		{"a Triton, which may be inside", "nim", "http://a:1", map[string]string{"/metrics": tritonPage}, ""},
		{"the path is configured too", "trtllm-serve", "http://a:1/own", map[string]string{"/metrics": vllmPage}, ""},
		{"nothing is known", "trtllm-serve", "http://a:1", nil, ""},
	} {
		t.Run(c.name, bubble(func(t *testing.T) {
			f := fetcher(&server{answers: c.answers}, c.configured, c.address)
			p := f.Fetch(t.Context(), nil)
			p.Release()
			require.Equal(t, c.mismatch, f.Server.Mismatch())
			require.Equal(t, c.configured, string(f.Server.Engine.Name), "the operator's kind stays")
		}))
	}
}

// TestStatisticsThatAreReturnedOnceAreNotReadToFindAPage has a trtllm-serve without a page, whose API is too slow to
// show in time what it is: its iteration statistics belong to whoever reads them.
func TestStatisticsThatAreReturnedOnceAreNotReadToFindAPage(t *testing.T) {
	bubble(func(t *testing.T) {
		s := &server{answers: api(lists("tensorrt_llm"), serving("/metrics", `[{"iter":1}]`)), silent: "/version"}
		fetcher(s, "trtllm-serve", "http://a:1").Fetch(t.Context(), nil).Release()
		require.Contains(t, s.requested, "/v1/models", "it is asked who it is")
		require.NotContains(t, s.requested, "/metrics")
		require.NotContains(t, s.scraped, "/metrics")
	})(t)
}
