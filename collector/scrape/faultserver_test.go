package scrape_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
)

// page is a small Triton page.
const page = "# HELP nv_inference_count Number of inferences performed\n" +
	"# TYPE nv_inference_count counter\n" +
	"nv_inference_count{model=\"ensemble\",version=\"1\"} 7\n"

// answer returns a complete HTTP/1.1 response; headers end with CRLF each.
func answer(status, headers, body string) string {
	return fmt.Sprintf("HTTP/1.1 %s\r\n%sContent-Length: %d\r\n\r\n%s", status, headers, len(body), body)
}

// faultServer is a server whose script violates the protocol.
type faultServer struct {
	url   string
	conns atomic.Int64
	mu    sync.Mutex
	seen  []*http.Request
}

// requests returns the requests so far.
func (s *faultServer) requests() []*http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*http.Request(nil), s.seen...)
}

// peer is the server's side of one connection.
type peer struct {
	net.Conn
	reader *bufio.Reader
	server *faultServer
	number int64
	// closed is closed when the test ends.
	closed context.Context //nolint:containedctx // The life of a connection in a test.
}

// request reads one request; nil when there is none.
func (p *peer) request() *http.Request {
	req, err := http.ReadRequest(p.reader)
	if err != nil {
		return nil
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	p.server.mu.Lock()
	p.server.seen = append(p.server.seen, req)
	p.server.mu.Unlock()
	return req
}

func (p *peer) say(text string) bool {
	_, err := p.Write([]byte(text))
	return err == nil
}

// wait stays silent until the client leaves or the test ends.
func (p *peer) wait() {
	io.Copy(io.Discard, p.reader)
}

// reset ends the connection with RST.
func (p *peer) reset() {
	if conn, ok := p.Conn.(*net.TCPConn); ok {
		conn.SetLinger(0)
	}
	p.Close()
}

// serve starts a server whose connections are handed to the script, over TLS
// when tlsConfig is not nil.
func serve(t *testing.T, tlsConfig *tls.Config, script func(*peer)) *faultServer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return serveOn(t, listener, tlsConfig, script)
}

func serveOn(t *testing.T, listener net.Listener, tlsConfig *tls.Config, script func(*peer)) *faultServer {
	t.Helper()
	server := &faultServer{url: "http://" + listener.Addr().String() + "/metrics"}
	if tlsConfig != nil {
		server.url = "https://" + listener.Addr().String() + "/metrics"
	}
	closed, end := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			number := server.conns.Add(1)
			running.Go(func() {
				defer conn.Close()
				defer context.AfterFunc(closed, func() { conn.Close() })()
				stream := conn
				if tlsConfig != nil {
					stream = tls.Server(conn, tlsConfig)
				}
				script(&peer{
					Conn:   stream,
					reader: bufio.NewReader(stream),
					server: server,
					number: number,
					closed: closed,
				})
			})
		}
	})
	t.Cleanup(func() {
		end()
		listener.Close()
		running.Wait()
	})
	return server
}

// replies answers every request with the same bytes over one connection.
func replies(text string) func(*peer) {
	return func(p *peer) {
		for p.request() != nil && p.say(text) {
		}
	}
}

// once answers one request with the bytes, then closes.
func once(text string) func(*peer) {
	return func(p *peer) {
		if p.request() != nil {
			p.say(text)
		}
	}
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func newClient(t *testing.T, change ...func(*scrape.Config)) *scrape.Client {
	t.Helper()
	cfg := scrape.DefaultConfig
	for _, f := range change {
		f(&cfg)
	}
	client, err := scrape.New(cfg, quiet())
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return client
}

// scrapeWithin scrapes with a timeout.
func scrapeWithin(t *testing.T, client *scrape.Client, url string, timeout time.Duration) (scrape.Page, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	return client.Scrape(ctx, url, nil)
}

func requireFailure(t *testing.T, err error, reason scrape.Reason, class, text string) {
	t.Helper()
	var failure *scrape.Error
	require.ErrorAs(t, err, &failure)
	require.Equal(t, reason, failure.Reason, "%v", err)
	require.Equal(t, class, failure.Class, "%v", err)
	require.ErrorContains(t, err, text)
	require.NotContains(t, err.Error(), "\n")
	require.Contains(t, scrape.Reasons(), failure.Reason)
	require.Error(t, errors.Unwrap(err))
}
