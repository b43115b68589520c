//go:build linux

package lane

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// page is a small Triton page.
const page = "# TYPE nv_inference_count counter\nnv_inference_count{model=\"ensemble\",version=\"1\"} 7\n"

// answer returns a whole HTTP/1.1 response; headers end with CRLF each.
func answer(status, headers, body string) string {
	return fmt.Sprintf("HTTP/1.1 %s\r\n%sContent-Length: %d\r\n\r\n%s", status, headers, len(body), body)
}

// free are unlimited connections.
type free struct{}

// TryAcquire and the others implement Connections.
func (free) TryAcquire() bool  { return true }
func (free) Release()          {}
func (free) Contended() bool   { return false }
func (free) Add(IdleCloser)    {}
func (free) Remove(IdleCloser) {}

// over returns a lane with a connection.
func over(fd int) *Lane {
	return &Lane{opts: Options{
		Request: []byte("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n"), KeepAlive: true, MaxHeader: 4 << 10, MaxBody: 256 << 10, Connections: free{},
	}, fd: fd}
}

// recorded is a connection that answers with fixed bytes after the request.
type recorded struct {
	net.Conn

	asked sync.Once
	ready chan struct{}
	text  *strings.Reader
}

// Write implements net.Conn.
func (r *recorded) Write(p []byte) (int, error) {
	r.asked.Do(func() { close(r.ready) })
	return len(p), nil
}

// Read implements net.Conn.
func (r *recorded) Read(p []byte) (int, error) {
	<-r.ready
	return r.text.Read(p)
}

// Close and the others implement net.Conn.
func (r *recorded) Close() error                   { r.asked.Do(func() { close(r.ready) }); return nil }
func (*recorded) SetDeadline(time.Time) error      { return nil }
func (*recorded) SetReadDeadline(time.Time) error  { return nil }
func (*recorded) SetWriteDeadline(time.Time) error { return nil }

// asNetHTTP reads the bytes of an answer with net/http.
func asNetHTTP(t *testing.T, text string) (body, contentType string, err error) {
	t.Helper()
	transport := &http.Transport{
		DisableCompression: true, DisableKeepAlives: true,
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			return &recorded{ready: make(chan struct{}), text: strings.NewReader(text)}, nil
		},
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://a/metrics", http.NoBody)
	require.NoError(t, err)
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return "", "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", "", http.ErrNotSupported
	}
	all, err := io.ReadAll(resp.Body)
	return string(all), resp.Header.Get("Content-Type"), err
}

// waitReadable waits until something can be read.
func waitReadable(fd int) {
	for {
		if n, _ := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1); n == 1 {
			return
		}
	}
}

// FuzzLane compares the lane with net/http: what the lane accepts, net/http reads in the
// same way, to the last byte; an answer with anything after it, truncated or framed in
// another way is never accepted. Cut is where the answer is split in two parts.
func FuzzLane(f *testing.F) {
	for _, text := range []string{
		answer("200 OK", "Content-Type: text/plain\r\n", page),
		answer("200 OK", "Connection: close\r\n", page), answer("200 OK", "Connection: keep-alive\r\n", ""),
		answer("200 OK", "", page) + "a 1\n", answer("200 OK", "Content-Length: 3\r\n", page),
		"HTTP/1.1 100 Continue\r\n\r\n" + answer("200 OK", "", page),
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
		answer("200 OK", "Transfer-Encoding: chunked\r\n", "0\r\n\r\n"),
		"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + page, "HTTP/1.1 200 OK\r\n\r\n" + page,
		"HTTP/1.1 200\r\nContent-Length:\t2 \r\n\r\na\n", "HTTP/1.1 2000 OK\r\nContent-Length: 2\r\n\r\na\n",
		answer("204 No Content", "", ""), answer("200 OK", "A: b\r\n c\r\n", page), answer("200 OK", "Content-Type: a\r\nContent-Type: b\r\n", page),
	} {
		f.Add(text, 20)
	}
	f.Fuzz(func(t *testing.T, text string, cut int) {
		if len(text) > 64<<10 {
			return
		}
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
		require.NoError(t, err)
		l := over(fds[0])
		defer l.Close()
		b := Batch{Timeout: time.Minute}
		var got Answer
		accepted := false
		require.True(t, b.Add(l, func(a Answer, ok bool) {
			got, accepted = a, ok
			got.Body = append([]byte(nil), a.Body...)
		}))
		cut = max(0, min(cut, len(text)))
		peer := fds[1]
		say := func(part string) {
			if part != "" {
				_, _ = unix.Write(peer, []byte(part)) // The lane may have hung up.
			}
		}
		var saying sync.WaitGroup
		saying.Go(func() {
			waitReadable(peer)
			say(text[:cut])
			say(text[cut:])
			_ = unix.Shutdown(peer, unix.SHUT_WR)
		})
		b.Run()
		saying.Wait()
		_ = unix.Close(peer)
		if !accepted {
			require.Negative(t, l.fd, "what was not accepted is closed")
			return
		}
		body, contentType, err := asNetHTTP(t, text)
		require.NoError(t, err)
		require.Equal(t, contentType, got.ContentType)
		require.Equal(t, body, string(got.Body))
	})
}
