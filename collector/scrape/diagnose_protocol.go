package scrape

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/url"
	"time"
)

type protocol int

const (
	protocolUnknown protocol = iota
	protocolHTTP
	// protocolTLS speaks TLS but the request was plain HTTP.
	protocolTLS
	// protocolHTTP2 is HTTP/2 without TLS, which is gRPC.
	protocolHTTP2
	// protocolSilent accepts connections but sends nothing.
	protocolSilent
	// protocolForeign is neither HTTP nor TLS.
	protocolForeign
)

// speaks detects the protocol of a port if the failure of the scrape does not show it.
func (p *prober) speaks(ctx context.Context, u *url.URL, failure *Error) protocol {
	if !p.direct || u.Scheme != "http" || !failure.mayBeAnotherProtocol() {
		return protocolUnknown
	}
	reply := p.exchange(ctx, u.Host, "GET / HTTP/1.1\r\nHost: "+u.Host+"\r\nConnection: close\r\n\r\n")
	switch {
	case reply == nil:
		return protocolUnknown
	case p.handshakes(ctx, u.Host), bytes.HasPrefix(reply, []byte("\x15\x03")): // Or a TLS alert.
		return protocolTLS
	case isSettings(p.exchange(ctx, u.Host, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00")):
		return protocolHTTP2
	case bytes.HasPrefix(reply, []byte("HTTP/1.")):
		return protocolHTTP
	case len(reply) > 0:
		return protocolForeign
	}
	return protocolSilent
}

// isSettings reports whether b begins with the SETTINGS frame of an HTTP/2 server.
func isSettings(b []byte) bool {
	return len(b) >= 9 && b[0] == 0 && b[1] == 0 && b[3] == 4 && b[5]|b[6]|b[7]|b[8] == 0
}

// exchange sends text and returns the beginning of the answer, nil if it cannot connect.
func (p *prober) exchange(ctx context.Context, host, text string) []byte {
	conn, ok := p.dial(ctx, host)
	if !ok {
		return nil
	}
	defer func() { _ = conn.Close() }()
	_, _ = io.WriteString(conn, text) // If it fails, so does reading.
	buf := make([]byte, 512)
	n, _ := io.ReadAtLeast(conn, buf, 9)
	return buf[:n]
}

// handshakes reports whether a port speaks TLS. It accepts any certificate, since it sends no
// data.
func (p *prober) handshakes(ctx context.Context, host string) bool {
	conn, ok := p.dial(ctx, host)
	if !ok {
		return false
	}
	defer func() { _ = conn.Close() }()
	client := tls.Client(conn, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // See above.
	return client.HandshakeContext(ctx) == nil
}

func (p *prober) dial(ctx context.Context, host string) (net.Conn, bool) {
	timeout := min(probeDialTimeout, p.timeout)
	dialer := net.Dialer{Timeout: timeout}
	conn, err := dialer.DialContext(ctx, "tcp", host)
	if err != nil {
		return nil, false
	}
	_ = conn.SetDeadline(time.Now().Add(timeout))
	return conn, true
}
