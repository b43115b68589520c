package scrape_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// diagnoseWithin diagnoses an address without credentials.
func diagnoseWithin(t *testing.T, timeout time.Duration, address string, s *target.Status) *scrape.Diagnosis {
	t.Helper()
	return scrape.Diagnose(t.Context(), scrape.DefaultConfig, nil, timeout, &target.Target{MetricsURL: address}, s)
}

// look diagnoses an address where nothing may answer.
func look(t *testing.T, address string, s *target.Status) *scrape.Diagnosis {
	t.Helper()
	return diagnoseWithin(t, hang, address, s)
}

// accepting greets each connection with bytes, after which it has no more to say, and reads everything. Without a
// greeting it stays silent.
func accepting(t *testing.T, first string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				if stream, ok := conn.(*net.TCPConn); ok && first != "" {
					_, _ = io.WriteString(conn, first)
					_ = stream.CloseWrite()
				}
				_, _ = io.Copy(io.Discard, conn)
			}()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	return l.Addr().String()
}

// failed is a failed scrape.
func failed(reason scrape.Reason, class, text string) *target.Status {
	failure := &scrape.Error{Reason: reason, Class: class, Err: errors.New(text)}
	return &target.Status{Scraping: target.Scraping{Health: target.HealthDown, LastFailure: failure}}
}

// notFound is a page that is not there.
func notFound() *target.Status { return failed(scrape.ReasonHTTPStatus, "404", "not found; check") }

func TestProtocolOfPortIsDetected(t *testing.T) {
	t.Parallel()
	for first, want := range map[string]string{
		"\x00\x00\x12\x04\x00\x00\x00\x00\x00" + "\x00\x03\x00\x00\x00\x64": "is a gRPC port",
		"\x15\x03\x01\x00\x02\x02\x16":                                      "speaks TLS, but the request was plain HTTP",
		"220 smtp.example.com ESMTP\r\n":                                    "speaks neither HTTP nor TLS",
		"":                                                                  "accepts connections but does not answer",
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			timeout := ample
			if first == "" {
				timeout = hang
			}
			address := "http://" + accepting(t, first)
			f := diagnoseWithin(t, timeout, address, failed(scrape.ReasonProtocol, "", "odd; check"))
			require.Contains(t, f.What, want, "%q", first)
			require.NotEmpty(t, f.Do)
		})
	}
}

func TestPageAtSamePortIsFound(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &http.Server{
		ReadHeaderTimeout: ample,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/metrics" {
				_, _ = io.WriteString(w, "nv_inference_request_success{model=\"m\",version=\"1\"} 1\n")
				return
			}
			http.NotFound(w, r)
		}),
	}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	page := "http://" + l.Addr().String()
	f := diagnoseWithin(
		t, ample, page+"/typo", notFound(),
	)
	require.Equal(t, page+"/metrics", f.Page)
	require.Equal(t, "use "+page+"/metrics", f.Do)
	require.Equal(t, page+"/typo", f.Where)
	require.Empty(t, f.Ports, "no other port has to be tried")
}

func TestGoodPageHasNoFinding(t *testing.T) {
	up := &target.Status{
		Scraping: target.Scraping{Health: target.HealthUp},
		Server:   target.Server{DetectedEngine: "triton"},
	}
	require.Nil(t, look(t, "http://h:1", up))
	silent := &target.Target{MetricsURL: "http://h:1", Silent: true}
	require.Nil(
		t,
		scrape.Diagnose(
			t.Context(), scrape.DefaultConfig, nil, time.Second, silent, failed(scrape.ReasonConnect, "", "refused"),
		),
	)
}

func TestUnknownHostIsNotProbed(t *testing.T) {
	t.Parallel()
	f := look(t, "http://nowhere.invalid:8002", failed(scrape.ReasonDNS, "", "no such host; check"))
	require.Equal(t, "the name nowhere.invalid does not resolve", f.What)
	require.Empty(t, f.Ports)
}

func TestFallbackAdviceIsFromScrape(t *testing.T) {
	t.Parallel()
	f := look(
		t, "http://"+accepting(t, ""),
		failed(scrape.ReasonResource, "", "too many open files; raise the limit of open files"),
	)
	require.Equal(t, "too many open files", f.What)
	require.Equal(t, "raise the limit of open files", f.Do)
}

// TestURLParametersAreHidden uses __param_ labels, which may hold a secret.
func TestURLParametersAreHidden(t *testing.T) {
	t.Parallel()
	at := "http://" + accepting(t, "") + "/metrics"
	for _, c := range []struct {
		name   string
		status *target.Status
		where  string
	}{
		{"there is no page", notFound(), at},
		{"what answers is not a page", failed(scrape.ReasonParse, "", "odd; check"), at},
		{"a recognized server without page", &target.Status{
			Scraping: target.Scraping{
				Health:      target.HealthDown,
				LastFailure: notFound().LastFailure,
				PageURL:     at + "?key=hunter2",
			},
			Server: target.Server{DetectedEngine: "trtllm-serve"},
		}, at},
		{
			"a page of no known server",
			&target.Status{
				Scraping: target.Scraping{Health: target.HealthUp},
				Server:   target.Server{DetectedEngine: "unknown"},
			},
			at,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := look(t, at+"?key=hunter2", c.status)
			require.Equal(t, c.where, f.Where)
			require.NotContains(t, fmt.Sprint(*f), "hunter2")
		})
	}
}

func TestPageIsFoundWithoutURLParameters(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/metrics" || r.URL.RawQuery != "" {
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, "nv_inference_request_success{model=\"m\",version=\"1\"} 1\n")
	}))
	t.Cleanup(s.Close)
	f := diagnoseWithin(
		t, ample, s.URL+"/metrics?key=hunter2",
		notFound(),
	)
	require.Equal(t, s.URL+"/metrics", f.Page)
	require.NotContains(t, fmt.Sprint(*f), "hunter2")
}
