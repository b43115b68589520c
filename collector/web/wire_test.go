package web_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/web"
)

// wire is a listener whose connections are pipes, so that tests run in the time of their synctest
// bubble.
type wire struct {
	accept chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func newWire() *wire { return &wire{accept: make(chan net.Conn), closed: make(chan struct{})} }

func (l *wire) Accept() (net.Conn, error) {
	select {
	case c := <-l.accept:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *wire) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (*wire) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9802} }

// dial opens a connection.
func (l *wire) dial(context.Context, string, string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case l.accept <- far:
		return near, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// page requests /metrics over a connection of its own.
func (l *wire) page(t *testing.T) string {
	t.Helper()
	transport := &http.Transport{DialContext: l.dial, DisableCompression: true, DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Get("http://exporter/metrics")
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	require.Equal(t, http.StatusOK, response.StatusCode)
	return read(t, response.Body)
}

// connect opens a connection and sends text.
func (l *wire) connect(t *testing.T, text string) net.Conn {
	t.Helper()
	conn, err := l.dial(t.Context(), "", "")
	require.NoError(t, err)
	_, err = io.WriteString(conn, text)
	require.NoError(t, err)
	return conn
}

// overWire runs a server on a wire.
func overWire(t *testing.T, opts web.Options) *wire {
	t.Helper()
	s, err := web.New(t.Context(), opts)
	require.NoError(t, err)
	l := newWire()
	s.Listen(l)
	run(t, s)
	return l
}
