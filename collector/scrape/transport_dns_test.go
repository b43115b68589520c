package scrape_test

import (
	"context"
	"encoding/binary"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
)

type (
	control = func(context.Context, string, string, syscall.RawConn) error
	dial    = func(context.Context, string, string) (net.Conn, error)
)

func dialing(
	t *testing.T, dialer func(control) func(context.Context, string, string) (net.Conn, error),
) *scrape.Client {
	t.Helper()
	client, err := scrape.NewWithDial(scrape.DefaultConfig, quiet(), dialer)
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return client
}

// resolving returns a client that uses the name server at address.
func resolving(t *testing.T, ask dial) *scrape.Client {
	t.Helper()
	return dialing(t, func(c control) func(context.Context, string, string) (net.Conn, error) {
		dialer := net.Dialer{ControlContext: c, Resolver: &net.Resolver{PreferGo: true, Dial: ask}}
		return dialer.DialContext
	})
}

// nameServer answers each query for an IPv4 address with its current address, or without one that
// the name does not exist.
func nameServer(t *testing.T, held *atomic.Pointer[string]) dial {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	t.Cleanup(func() {
		conn.Close()
		<-done
	})
	go func() {
		defer close(done)
		query := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(query)
			if err != nil {
				return
			}
			conn.WriteTo(reply(query[:n], held.Load()), from)
		}
	}()
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	}
}

// reply answers a DNS query that has one question (RFC 1035, section 4.1).
func reply(query []byte, address *string) []byte {
	end := 12
	for query[end] != 0 {
		end += int(query[end]) + 1
	}
	kind := binary.BigEndian.Uint16(query[end+1:])
	out := append([]byte(nil), query[:end+5]...)
	out[2], out[3] = 0x81, 0x80
	copy(out[6:12], make([]byte, 6))
	switch {
	case address == nil:
		out[3] |= 3
	case kind == 1:
		out[7] = 1
		out = append(out, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
		out = append(out, net.ParseIP(*address).To4()...)
	}
	return out
}

func TestUnknownHostIsDNSError(t *testing.T) {
	client := resolving(t, nameServer(t, new(atomic.Pointer[string]))) // T09.
	_, err := scrapeWithin(t, client, "http://triton.invalid.:8002/metrics", ample)
	requireFailure(t, err, scrape.ReasonDNS, "", "no such host; check the host name of the target")
}

func TestSilentResolverEndsWithDeadline(t *testing.T) {
	t.Parallel()
	client := resolving(t, func(ctx context.Context, _, _ string) (net.Conn, error) { // T10.
		<-ctx.Done()
		return nil, ctx.Err()
	})
	_, err := scrapeWithin(t, client, "http://triton.invalid.:8002/metrics", hang)
	requireFailure(t, err, scrape.ReasonTimeout, "", "raise scrape_timeout")
}

func TestMovedHostIsFollowed(t *testing.T) {
	first, err := net.Listen("tcp", "127.0.0.2:0")
	require.NoError(t, err)
	_, port, err := net.SplitHostPort(first.Addr().String())
	require.NoError(t, err)
	second, err := net.Listen("tcp", "127.0.0.3:"+port)
	require.NoError(t, err)
	serveOn(t, first, nil, once(answer("200 OK", "", "old 1\n")))
	serveOn(t, second, nil, once(answer("200 OK", "", "new 1\n")))

	old, next := "127.0.0.2", "127.0.0.3"
	held := new(atomic.Pointer[string])
	held.Store(&old)
	client := resolving(t, nameServer(t, held))
	url := "http://triton.test.:" + port + "/metrics"
	got, err := scrapeWithin(t, client, url, ample)
	require.NoError(t, err)
	require.Equal(t, "old 1\n", string(got.Body))
	held.Store(&next) // T11.
	got, err = scrapeWithin(t, client, url, ample)
	require.NoError(t, err)
	require.Equal(t, "new 1\n", string(got.Body))
}

func TestHostResolvingToDeniedAddressGetsNoRequest(t *testing.T) {
	metadata := "169.254.169.254"
	held := new(atomic.Pointer[string])
	held.Store(&metadata)
	client := resolving(t, nameServer(t, held))
	_, err := scrapeWithin(t, client, "http://"+strings.Repeat("a", 9)+".test.:80/metrics", ample)
	requireFailure(
		t, err, scrape.ReasonConnect, scrape.ClassDenied,
		"169.254.169.254 is in dial.deny 169.254.0.0/16; add it to dial.allow",
	)
}
