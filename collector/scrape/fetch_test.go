package scrape

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

func TestPageAddress(t *testing.T) {
	for _, c := range []struct {
		name    string
		kind    string
		address string
		answers map[string]string
		// asks is set if detection requests the server's kind.
		asks  bool
		found engine.Name
		url   string
	}{
		{
			"a path alone", target.Auto, "http://a:1/prometheus/metrics", nil, false, engine.Unknown,
			"http://a:1/prometheus/metrics",
		},
		{
			"a path of several kinds", target.Auto, "http://a:1/metrics?x=y", nil, false, engine.Unknown,
			"http://a:1/metrics?x=y",
		},
		{
			"an unknown server at the usual path", target.Auto, "http://a:1", nil, true, engine.Unknown,
			"http://a:1/metrics",
		},
		{"a configured path is kept", "nim", "http://a:1/x", nil, false, engine.NIM, "http://a:1/x"},
		{"a configured kind has its path", "nim", "http://a:1", nil, false, engine.NIM, "http://a:1/v1/metrics"},
		{"a slash is not a path", "triton", "http://a:1/", nil, false, engine.Triton, "http://a:1/metrics"},
		{
			"a query stays behind the path of the kind", "triton", "http://a:1?x=y%2Fz", nil, false, engine.Triton,
			"http://a:1/metrics?x=y%2Fz",
		},
		{
			"also behind a detected one", target.Auto, "http://a:1/?x=y",
			map[string]string{"/v1/metrics": nimPage},
			true, engine.NIM, "http://a:1/v1/metrics?x=y",
		},
		{
			"also behind an unknown server", target.Auto, "http://u:p@a:1?x=y", nil, true, engine.Unknown,
			"http://u:p@a:1/metrics?x=y",
		},
		{
			"otherwise the kind is detected", target.Auto, "http://a:1",
			map[string]string{"/metrics": tritonPage},
			true, engine.Triton, "http://a:1/metrics",
		},
		{
			"also by its API", target.Auto, "http://a:1/",
			map[string]string{"/metrics": tritonPage, "/v1/models": models},
			true, engine.TritonOpenAI,
			"http://a:1/metrics",
		},
		{
			"and its path", target.Auto, "http://a:1",
			map[string]string{"/v1/metrics": nimPage},
			true, engine.NIM,
			"http://a:1/v1/metrics",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &server{answers: c.answers}
			f := fetcher(s, c.kind, c.address)
			require.NoError(t, f.locate(t.Context()))
			require.Equal(t, c.found, f.Server.Engine.Name)
			require.Equal(t, c.url, f.Server.URL)
			require.Equal(t, c.asks, len(s.requested) > 0)
			require.Empty(t, s.scraped)

			s.requested = nil
			require.NoError(t, f.locate(t.Context()))
			require.Equal(t, c.url, f.Server.URL)
			require.Empty(t, s.requested, "what is known is not asked again")
		})
	}
}

func TestFailuresOfUnrecognizedServers(t *testing.T) {
	refused := &Error{Reason: ReasonConnect, Err: errors.New("nobody listens")}
	for _, c := range []struct {
		name    string
		answers map[string]string
		failed  error
		reason  Reason
		text    string
	}{
		{"the failure of the page is reported", nil, refused, ReasonConnect, "connect: nobody listens"},
		{"no page at all", nil, nil, ReasonHTTPStatus, "http_status (404): 404"},
		{
			"an empty page",
			map[string]string{"/metrics": ""},
			nil, ReasonEmpty,
			"no page of a known server at http://user:xxxxx@a:1: set engine and metrics_path",
		},
		{"the port of an API", map[string]string{"/v2": tritonAPI}, nil, ReasonHTTPStatus, "8002"},
		{
			"what the page failed with and the port of an API",
			map[string]string{"/v2": tritonAPI},
			nil,
			ReasonHTTPStatus, "sets another; 404",
		},
		{
			"the port of an API with a page",
			map[string]string{"/v2": tritonAPI, "/metrics": "x 1\n"},
			nil,
			ReasonEmpty, "8002",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &server{answers: c.answers, failed: c.failed}
			f := fetcher(s, target.Auto, "http://user:secret@a:1")
			p := f.Fetch(t.Context(), nil)
			defer p.Release()
			require.ErrorContains(t, p.Err, c.text)
			require.NotContains(t, p.Err.Error(), "secret")
			require.Equal(t, c.reason, ReasonOf(p.Err))
			require.Equal(t, 1, strings.Count(p.Err.Error(), string(c.reason)), "once: %v", p.Err)
			require.Equal(t, []string{"/metrics"}, s.scraped)
			require.False(t, p.Server.Known(), "no kind is known: %+v", p.Server)
			require.Empty(t, p.Server.URL, "it is looked for again")
		})
	}
}

func TestFetchUnrecognizedServer(t *testing.T) {
	for name, page := range map[string]string{
		"a page of something else": "node_load1 1\n",
		"the exporter's own page":  "x 1\n" + marker,
	} {
		t.Run(name, func(t *testing.T) {
			s := &server{answers: map[string]string{"/metrics": page, "/version": `{"version":"0.32.0"}`}}
			f := fetcher(s, target.Auto, "http://a:1")
			p := f.Fetch(t.Context(), nil)
			defer p.Release()
			require.NoError(t, p.Err)
			require.Equal(t, page, string(p.Page.Body))
			require.False(t, p.Server.Known(), "no kind is known: %+v", p.Server)
			require.Empty(t, p.Server.Evidence)
			require.Equal(t, []string{"/metrics"}, s.scraped)

			before := len(s.requested)
			f = fetcher(s, target.Auto, "http://a:1")
			f.Server = p.Server
			again := f.Fetch(t.Context(), nil)
			defer again.Release()
			require.NoError(t, again.Err)
			require.Len(t, s.requested, before, "it is not looked for at every scrape")
		})
	}
}

func TestFetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{answers: map[string]string{"/metrics": tritonPage}, takes: 100 * time.Millisecond}
		f := fetcher(s, target.Auto, "http://a:1")
		start := f.Start
		p := f.Fetch(t.Context(), nil)
		require.NoError(t, p.Err)
		require.Equal(t, tritonPage, string(p.Page.Body))
		require.Equal(t, engine.Triton, p.Server.Engine.Name)
		require.Equal(t, "the page has names that begin with nv_", p.Server.Evidence)
		require.Equal(t, 1, p.Server.Epoch)
		require.Equal(t, 100*time.Millisecond, p.Duration, "the time of the page, not of finding it")
		require.Greater(t, p.Received.Sub(p.Start), 2*p.Duration)
		require.Equal(t, start, p.Start)
		require.Equal(t, cap(p.Page.Body), cap(p.buffer.memory), "the next page may use the memory")
		p.Release()
		require.Nil(t, p.Page.Body)
		p.Release()
	})
}

func TestFetchTimeout(t *testing.T) {
	for _, c := range []struct {
		name, kind string
		atMost     time.Duration
	}{
		{"during the request for the page", "triton", time.Minute},
		{"after detection, which leaves time for the page", target.Auto, time.Minute / 2 * 3 / 2},
	} {
		t.Run(c.name, bubble(func(t *testing.T) {
			s := &server{answers: map[string]string{"/metrics": tritonPage}, takes: time.Hour}
			p := fetcher(s, c.kind, "http://a:1").Fetch(t.Context(), nil)
			defer p.Release()
			require.Equal(t, ReasonTimeout, ReasonOf(p.Err))
			require.Equal(t, time.Minute, p.Received.Sub(p.Start))
			require.LessOrEqual(t, p.Duration, c.atMost)
			require.GreaterOrEqual(t, p.Duration, time.Minute/2)
		}))
	}
}

// TestFetchPageThatAloneTimesOut has a server whose kind only its page shows. It is scraped twice.
func TestFetchPageThatAloneTimesOut(t *testing.T) {
	for _, c := range []struct {
		name, address string
		takes         time.Duration
		class         string
	}{
		{"others are answered at once", "http://a:1", 0, ClassPage},
		{"the path is given", "http://a:1/metrics", 0, ClassPage},
		{"nothing is answered", "http://a:1", time.Hour, ""},
		{"nothing is answered, and the path is given", "http://a:1/metrics", time.Hour, ""},
	} {
		t.Run(c.name, bubble(func(t *testing.T) {
			s := &server{takes: c.takes, pageTakes: time.Hour, answers: map[string]string{"/metrics": vllmPage}}
			first := fetcher(s, target.Auto, c.address).Fetch(t.Context(), nil)
			defer first.Release()
			require.Equal(t, ReasonTimeout, ReasonOf(first.Err))
			f := fetcher(s, target.Auto, c.address)
			f.Server = first.Server
			f.Server.Uncertain = true
			p := f.Fetch(t.Context(), nil)
			defer p.Release()
			failure, ok := errors.AsType[*Error](p.Err)
			require.True(t, ok, "an error of scraping, not %v", p.Err)
			require.Equal(t, ReasonTimeout, failure.Reason)
			require.Equal(t, c.class, failure.Class)
			require.Equal(t, c.class == "", failure.Unanswered())
		}))
	}
}

func TestFetchAfterKindCorrection(t *testing.T) {
	s := &server{answers: map[string]string{"/prometheus/metrics": servePage}}
	f := fetcher(s, target.Auto, "http://a:1")
	f.Server = found(t, engine.Triton, "http://a:1/metrics")
	f.Server.Uncertain = true
	p := f.Fetch(t.Context(), nil)
	defer p.Release()
	require.NoError(t, p.Err)
	require.Equal(t, []string{"/metrics", "/prometheus/metrics"}, s.scraped)
	require.Equal(t, servePage, string(p.Page.Body))
	require.Equal(t, engine.TRTLLMServe, p.Server.Engine.Name)
	require.Equal(t, 2, p.Server.Epoch, "a second kind of server")
	require.False(t, p.Server.Uncertain, "it is certain: %+v", p.Server)
}

func TestFetchAfterRecovery(t *testing.T) {
	for _, c := range []struct {
		name, kind, address string
	}{
		{"its kind and path are to be found out", target.Auto, "http://a:1"},
		{"its kind is configured", "triton", "http://a:1"},
		{"its path is configured", target.Auto, "http://a:1/metrics"},
		{"both are configured", "triton", "http://a:1/metrics"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &server{answers: map[string]string{"/metrics": tritonPage}}
			f := fetcher(s, c.kind, c.address)
			fetch := func(uncertain, up bool) {
				now := f.Server
				now.Uncertain = now.Uncertain || uncertain
				f = next(f, &now, up)
				p := f.Fetch(t.Context(), nil)
				require.NoError(t, p.Err)
				p.Release()
			}
			fetch(false, false)
			fetch(true, false) // As after a failure.
			now := f.Server
			f = next(f, &now, true)
			require.True(t, f.Settled(), "it is requested over its lane")
		})
	}
}

func TestFetchFollowsMovedPageAfterFault(t *testing.T) {
	failed := func(class string) error {
		return &Error{Reason: ReasonHTTPStatus, Class: class, Err: errors.New(class)}
	}
	for _, c := range []struct {
		name    string
		failed  error
		scraped []string
		url     string
	}{
		{"no page at the former path", nil, []string{"/v1/metrics", "/metrics"}, "http://a:1/metrics"},
		{"it is not ready", failed("503"), []string{"/v1/metrics"}, "http://a:1/v1/metrics"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &server{answers: map[string]string{"/metrics": nimPage}, failed: c.failed}
			f := fetcher(s, target.Auto, "http://a:1")
			f.Server = found(t, engine.NIM, "http://a:1/v1/metrics")
			f.Server.Uncertain = true
			p := f.Fetch(t.Context(), nil)
			defer p.Release()
			require.Equal(t, c.failed, p.Err)
			require.Equal(t, c.scraped, s.scraped)
			require.Equal(t, c.url, p.Server.URL)
			require.Equal(t, engine.NIM, p.Server.Engine.Name)
			require.Equal(t, 1, p.Server.Epoch, "it is the same kind of server")
		})
	}
}

func TestFetchBeforeDetection(t *testing.T) {
	for name, page := range map[string]string{"by its API alone": "x 1\n", "by its page and its API": tritonPage} {
		t.Run(name, bubble(func(t *testing.T) {
			s := &server{answers: map[string]string{"/metrics": page}, takes: time.Second}
			p := fetcher(s, target.Auto, "http://a:1/metrics").Fetch(t.Context(), nil)
			defer p.Release()
			require.NoError(t, p.Err)
			require.NotEmpty(t, s.requested)
			require.Greater(t, time.Since(p.Start), time.Second)
			require.Equal(t, time.Second, p.Received.Sub(p.Start))
		}))
	}
}
