package scrape_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/tools/fixture"
)

// hang is the timeout of cases that time out, ample that of all others: no machine is that busy.
const (
	hang  = 1500 * time.Millisecond
	ample = 5 * time.Minute
)

func TestTransportFaultReasons(t *testing.T) {
	t.Parallel()
	half := "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + strings.Repeat("a 1\n", 125)
	cases := []struct {
		name   string
		script func(*peer)
		reason scrape.Reason
		class  string
		text   string
	}{
		{"T07 reset in the body", func(p *peer) {
			p.request()
			p.say(half)
			time.Sleep(50 * time.Millisecond)
			p.reset()
		}, scrape.ReasonReset, "", "reset by peer"},
		{"T08 end before the headers", func(p *peer) { p.request() }, scrape.ReasonReset, "", "EOF"},
		{
			"T08 end inside the headers",
			once("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"),
			scrape.ReasonReset, "", "EOF",
		},
		{
			"T22 status 500 with a large page",
			once(answer("500 Internal Server Error", "Content-Type: text/html\r\n", strings.Repeat("<p>oh\n", 1<<18))),
			scrape.ReasonHTTPStatus, "500", `body "<p>oh\n<p>oh`,
		},
		{
			"T23 status 204", once("HTTP/1.1 204 No Content\r\n\r\n"), scrape.ReasonHTTPStatus, "204",
			"a page has status 200",
		},
		{
			"T23 status 206", once(answer("206 Partial Content", "", page)), scrape.ReasonHTTPStatus, "206",
			"a page has status 200",
		},
		{
			"T23 status 304", once("HTTP/1.1 304 Not Modified\r\n\r\n"), scrape.ReasonHTTPStatus, "304",
			"a page has status 200",
		},
		{
			"status 401", once(answer("401 Unauthorized", "", "")), scrape.ReasonHTTPStatus, "401",
			"check basic_auth, authorization or oauth2",
		},
		{
			"status 404 of a web server, whose advice is not behind its markup",
			once(answer("404 Not Found", "", "<html>\r\n<head><title>404 Not Found</title></head>\r\n<body>nginx")),
			scrape.ReasonHTTPStatus, "404", `body titled "404 Not Found"; check metrics_path`,
		},
		{"status 404", once(answer("404 Not Found", "", "no")), scrape.ReasonHTTPStatus, "404", "check metrics_path"},
		{
			"status 503 compressed",
			once(answer("503 Service Unavailable", "Content-Encoding: gzip\r\n", "\x1f\x8b")),
			scrape.ReasonHTTPStatus, "503", "body (compressed)",
		},
		{
			"T24 SSH banner",
			func(p *peer) { p.say("SSH-2.0-OpenSSH_9.6\r\n"); p.wait() },
			scrape.ReasonProtocol, "",
			"check port and scheme: the server speaks HTTPS, or no HTTP",
		},
		{
			"a banner like TLS",
			func(p *peer) { p.say("GOAWAY tls: expired\r\n"); p.wait() },
			scrape.ReasonProtocol, "",
			"check port and scheme: the server speaks HTTPS, or no HTTP",
		},
		{
			"the alert of a TLS server", once("\x15\x03\x01\x00\x02\x02\x16"), scrape.ReasonProtocol, "",
			"the server speaks HTTPS, or no HTTP at all",
		},
		{
			"invalid headers", once("HTTP/1.1 200 OK\r\n: x\r\n\r\n"), scrape.ReasonProtocol, "",
			"check that an HTTP server listens",
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			client := newClient(t)
			server := serve(t, nil, c.script)
			got, err := scrapeWithin(t, client, server.url, ample)
			requireFailure(t, err, c.reason, c.class, c.text)
			require.Empty(t, got.Body)
			require.Less(t, len(err.Error()), 700)
		})
	}
}

// TestHangingServersEndWithDeadline runs by a fake clock, over connections in memory.
func TestHangingServersEndWithDeadline(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		script func(*peer)
		reason scrape.Reason
		class  string
		text   string
	}{
		{
			"T01 accepts and sends nothing", (*peer).wait, scrape.ReasonTimeout, "",
			"before the response headers arrived",
		},
		{"T02 headers, then nothing", func(p *peer) {
			p.request()
			p.say("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n")
			p.wait()
		}, scrape.ReasonTimeout, "", "before the body was complete"},
		{"T03 a byte now and then", trickle, scrape.ReasonTimeout, "", "raise scrape_timeout"},
		{"T22 status 500 with a body that hangs", func(p *peer) {
			p.request()
			p.say("HTTP/1.1 500 Internal Server Error\r\nContent-Length: 10\r\n\r\noh")
			p.wait()
		}, scrape.ReasonHTTPStatus, "500", `body "oh"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				got, err := scrapeWithin(t, inMemory(t, c.script), "http://10.0.0.1:8002/metrics", hang)
				requireFailure(t, err, c.reason, c.class, c.text)
				require.Equal(t, hang, time.Since(start))
				require.Empty(t, got.Body)
			})
		})
	}
}

// inMemory returns a client whose connections, within a bubble of synctest, lead to the script.
func inMemory(t *testing.T, script func(*peer)) *scrape.Client {
	t.Helper()
	return dialing(t, func(control) func(context.Context, string, string) (net.Conn, error) {
		return func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			go func() {
				defer far.Close()
				script(&peer{Conn: far, reader: bufio.NewReader(far), server: &faultServer{}, closed: t.Context()})
			}()
			return near, nil
		}
	})
}

// trickle sends one byte at a time forever.
func trickle(p *peer) {
	p.request()
	p.say("HTTP/1.1 200 OK\r\n\r\n")
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for p.say("a") {
		select {
		case <-tick.C:
		case <-p.closed.Done():
			return
		}
	}
}

func TestSlowAnswerWithinTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := inMemory(t, func(p *peer) { // T04.
			p.request()
			time.Sleep(hang - time.Millisecond)
			p.say(answer("200 OK", "", page))
		})
		got, err := scrapeWithin(t, client, "http://10.0.0.1:8002/metrics", hang)
		require.NoError(t, err)
		require.Equal(t, page, string(got.Body))
	})
}

func TestRefusedConnectionFailsAtOnce(t *testing.T) {
	t.Parallel()
	_, err := scrapeWithin(t, newClient(t), "http://"+fixture.FreeAddress(t, "127.0.0.1")+"/metrics", ample) // T05.
	requireFailure(t, err, scrape.ReasonConnect, "", "connection refused; check that the server runs")
}

func TestCanceledScrape(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	server := serve(t, nil, func(p *peer) {
		p.request()
		cancel()
		p.wait()
	})
	_, err := newClient(t).Scrape(ctx, server.url, nil)
	requireFailure(t, err, scrape.ReasonCanceled, "", "the scrape was canceled")
	require.ErrorIs(t, err, context.Canceled)
}

func TestDroppedPacketsEndWithDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ended := false
		client := dialing(t, func(control) func(context.Context, string, string) (net.Conn, error) {
			return func(ctx context.Context, _, _ string) (net.Conn, error) { // T06.
				<-ctx.Done()
				ended = true
				return nil, ctx.Err()
			}
		})
		start := time.Now()
		_, err := scrapeWithin(t, client, "http://192.0.2.1:8002/metrics", hang)
		requireFailure(t, err, scrape.ReasonTimeout, "", "raise scrape_timeout")
		require.Equal(t, hang, time.Since(start))
		synctest.Wait()
		require.True(t, ended, "the dial outlives its scrape")
	})
}

func TestNoDescriptorsIsResourceError(t *testing.T) {
	t.Parallel()
	client := dialing(t, func(control) func(context.Context, string, string) (net.Conn, error) {
		return func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.EMFILE}
		}
	})
	_, err := scrapeWithin(t, client, "http://192.0.2.1:8002/metrics", ample)
	requireFailure(t, err, scrape.ReasonResource, "", "raise the limit of open files (ulimit -n)")
}

func TestIdleConnectionClosedAtReuseIsRetried(t *testing.T) {
	t.Parallel()
	server := serve(t, nil, func(p *peer) { // T26.
		p.request()
		p.say(answer("200 OK", "", page))
		if p.number > 1 {
			p.request()
			return
		}
		if p.request() != nil {
			p.reset()
		}
	})
	client := newClient(t)
	for range 2 {
		got, err := scrapeWithin(t, client, server.url, ample)
		require.NoError(t, err)
		require.Equal(t, page, string(got.Body))
	}
	require.EqualValues(t, 2, server.conns.Load())
	require.Len(t, server.requests(), 3)
}

func TestConnectionsAreKeptExceptBriefOnes(t *testing.T) {
	t.Parallel()
	server := serve(t, nil, replies(answer("200 OK", "", page)))
	client := newClient(t)
	for range 20 {
		_, err := scrapeWithin(t, client, server.url, ample)
		require.NoError(t, err)
	}
	require.EqualValues(t, 1, server.conns.Load())
	client.CloseIdle()
	for n := range int64(2) {
		for range 3 {
			status, _, body, err := client.DoBrief(t.Context(), http.MethodPost, server.url, []byte("{}"), 0)
			require.NoError(t, err)
			require.Equal(t, 200, status)
			require.Equal(t, page, string(body))
		}
		require.GreaterOrEqual(t, server.conns.Load(), 2+n)
		require.Eventually(t, func() bool { return scrape.Used(client) == 0 }, ample, time.Millisecond)
	}
}

// A server may send frames for ever that belong to no answer. It is cut off long before the deadline.
func TestHTTP2FramesWithoutEnd(t *testing.T) {
	t.Parallel()
	headers := func(t *testing.T, status string) []byte {
		t.Helper()
		var block bytes.Buffer
		require.NoError(t, hpack.NewEncoder(&block).WriteField(hpack.HeaderField{Name: ":status", Value: status}))
		return block.Bytes()
	}
	for _, c := range []struct {
		name string
		// answers is true if the headers of an answer come first.
		answers bool
		send    func(t *testing.T, f *http2.Framer) error
	}{
		{"unknown frames", false, func(_ *testing.T, f *http2.Framer) error {
			return f.WriteRawFrame(0xfe, 0, 0, make([]byte, 1<<10))
		}},
		{"unknown frames within an answer", true, func(_ *testing.T, f *http2.Framer) error {
			return f.WriteRawFrame(0xfe, 0, 1, nil)
		}},
		{"empty data", true, func(_ *testing.T, f *http2.Framer) error { return f.WriteData(1, false, nil) }},
		{"padding", true, func(_ *testing.T, f *http2.Framer) error {
			return f.WriteDataPadded(1, false, nil, make([]byte, 255))
		}},
		{"window updates", false, func(_ *testing.T, f *http2.Framer) error { return f.WriteWindowUpdate(0, 1) }},
		{"pings", false, func(_ *testing.T, f *http2.Framer) error { return f.WritePing(true, [8]byte{}) }},
		{"settings", false, func(_ *testing.T, f *http2.Framer) error { return f.WriteSettings() }},
		{"interim answers", false, func(t *testing.T, f *http2.Framer) error {
			t.Helper()
			return f.WriteHeaders(http2.HeadersFrameParam{
				StreamID:      1,
				BlockFragment: headers(t, "103"),
				EndHeaders:    true,
			})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			authority := newAuthority(t)
			serverTLS := authority.server(t, nil)
			serverTLS.NextProtos = []string{"h2"}
			var frames atomic.Int64
			server := serve(t, serverTLS, func(p *peer) {
				framer := startHTTP2(p)
				if c.answers {
					_ = framer.WriteHeaders(http2.HeadersFrameParam{
						StreamID:      1,
						BlockFragment: headers(t, "200"),
						EndHeaders:    true,
					})
				}
				for c.send(t, framer) == nil {
					frames.Add(1)
				}
			})
			client := newClient(t, authority.trust, func(c *scrape.Config) { c.EnableHTTP2 = true })
			_, err := scrapeWithin(t, client, server.url, ample)
			require.Error(t, err)
			require.NotEqual(t, scrape.ReasonTimeout, scrape.ReasonOf(err), err)
			require.Less(t, frames.Load(), int64(1<<18))
		})
	}
}

// A body in small parts is no overhead.
func TestHTTP2BodyInSmallParts(t *testing.T) {
	authority := newAuthority(t)
	serverTLS := authority.server(t, nil)
	text := strings.Repeat("a_long_name_of_a_counter 1\n", 40<<10)
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for part := range slices.Chunk([]byte(text), 64) {
			_, _ = w.Write(part)
			w.(http.Flusher).Flush()
		}
	})
	server := httptest.NewUnstartedServer(handler)
	server.TLS, server.EnableHTTP2 = serverTLS, true
	server.StartTLS()
	t.Cleanup(server.Close)
	client := newClient(t, authority.trust, func(c *scrape.Config) { c.EnableHTTP2 = true })
	page, err := scrapeWithin(t, client, server.URL, ample)
	require.NoError(t, err)
	require.Len(t, page.Body, len(text))
}

// startHTTP2 reads up to the headers of a request.
func startHTTP2(p *peer) *http2.Framer {
	_, _ = io.ReadFull(p.reader, make([]byte, len(http2.ClientPreface)))
	framer := http2.NewFramer(p, p.reader)
	_ = framer.WriteSettings()
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			return framer
		}
		if _, ok := frame.(*http2.HeadersFrame); ok {
			return framer
		}
	}
}

func TestHTTP2GoAwayIsReset(t *testing.T) {
	t.Parallel()
	authority := newAuthority(t)
	config := authority.server(t, nil)
	config.NextProtos = []string{"h2"}
	server := serve(t, config, func(p *peer) { // T25.
		_ = startHTTP2(p).WriteGoAway(1, http2.ErrCodeInternal, []byte("restart"))
	})
	client := newClient(t, authority.trust, func(c *scrape.Config) { c.EnableHTTP2 = true })
	_, err := scrapeWithin(t, client, server.url, ample)
	requireFailure(t, err, scrape.ReasonReset, "", "it may be restarting")
}
