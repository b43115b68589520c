//go:build linux

package lane

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// page is a small Triton page.
const page = "# TYPE nv_inference_count counter\nnv_inference_count{model=\"ensemble\",version=\"1\"} 7\n"

// answer returns a complete HTTP/1.1 response; headers end with CRLF each.
func answer(status, headers, body string) string {
	return fmt.Sprintf("HTTP/1.1 %s\r\n%sContent-Length: %d\r\n\r\n%s", status, headers, len(body), body)
}

// free are unlimited connections.
type free struct{}

// TryAcquire and the others implement Connections.
func (free) TryAcquire(int64) bool { return true }
func (free) Release(int64)         {}
func (free) Add(IdleCloser)        {}
func (free) Remove(IdleCloser)     {}

// over returns a lane with a connection.
func over(fd int) *Lane {
	return &Lane{opts: Options{
		Request: []byte(
			"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n",
		), KeepAlive: true, MaxHeader: 4 << 10, MaxBody: 256 << 10, Connections: free{},
	}, fd: fd}
}

// asNetHTTP reads the bytes of an answer with net/http.
func asNetHTTP(text string) (body, contentType string, err error) {
	resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(text)), nil)
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

// cutPause is how long an answer stops, while the lane looks at its first part.
const cutPause = 15 * time.Millisecond

// waitReadable waits until something can be read.
func waitReadable(fd int) {
	for {
		if n, _ := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1); n == 1 {
			return
		}
	}
}

// FuzzLane compares the lane with net/http: both read a response that the lane accepts in the
// same way, to the last byte, and the lane never accepts a response that is truncated, framed
// differently or followed by other data. Cut is where the response is split.
func FuzzLane(f *testing.F) {
	for _, text := range []string{
		answer("200 OK", "Content-Type: text/plain\r\n", page), answer("200 OK", "Connection: close\r\n", page),
		answer("200 OK", "", page) + "a 1\n", "HTTP/1.1 200\r\nContent-Length:\t2 \r\n\r\na\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
		"HTTP/1.1 100 Continue\r\n\r\n" + answer("200 OK", "A: b\r\n c\r\n", page),
	} {
		f.Add(text, 20)
	}
	f.Fuzz(func(t *testing.T, text string, cut int) {
		if len(text) > 64<<10 {
			return
		}
		// By the clock of the bubble a batch sleeps no longer than until the answer is there.
		synctest.Test(t, func(t *testing.T) { requireAsNetHTTP(t, text, max(0, min(cut, len(text)))) })
	})
}

// requireAsNetHTTP lets a lane and net/http read an answer, of which the lane gets two parts.
func requireAsNetHTTP(t *testing.T, text string, cut int) {
	t.Helper()
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
	}), "the batch takes the lane")
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
		time.Sleep(cutPause)
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
	body, contentType, err := asNetHTTP(text)
	require.NoError(t, err)
	require.Equal(t, contentType, got.ContentType)
	require.Equal(t, body, string(got.Body))
}
