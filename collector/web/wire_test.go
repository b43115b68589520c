package web_test

import (
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/web"
	"github.com/trtllm-exporter/trtllm_exporter/tools/fixture"
)

// wire is a listener of connections in memory.
type wire struct{ *fixture.Listener }

// page requests /metrics over a connection of its own.
func (l wire) page(t *testing.T) string {
	t.Helper()
	transport := &http.Transport{DialContext: l.DialContext, DisableCompression: true, DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Get("http://exporter/metrics")
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	require.Equal(t, http.StatusOK, response.StatusCode)
	return read(t, response.Body)
}

// connect opens a connection and sends text.
func (l wire) connect(t *testing.T, text string) net.Conn {
	t.Helper()
	conn, err := l.DialContext(t.Context(), "", "")
	require.NoError(t, err)
	_, err = io.WriteString(conn, text)
	require.NoError(t, err)
	return conn
}

// overWire runs a server on a wire.
func overWire(t *testing.T, opts web.Options) wire {
	t.Helper()
	s, err := web.New(t.Context(), opts)
	require.NoError(t, err)
	l := wire{fixture.Listen()}
	s.Listen(l)
	run(t, s)
	return l
}
