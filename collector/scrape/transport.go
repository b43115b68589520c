package scrape

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	promconfig "github.com/prometheus/common/config"

	"github.com/trtllm-exporter/trtllm_exporter/collector/secret"
)

const (
	// idleTimeout is longer than any reasonable scrape interval.
	idleTimeout = 5 * time.Minute
	// bufferSize is less than Go's default of 4 KiB, which an idle connection holds twice.
	bufferSize = 1 << 10
	// briefIdleTimeout is long enough for the next request of a round and shorter than any
	// reasonable interval between rounds.
	briefIdleTimeout = 50 * time.Millisecond
	// notIdle closes connections after a request.
	notIdle = 0
	// handshakeTimeout bounds handshakes, which net/http continues after their scrape ended,
	// and dialTimeout dials without the deadline of a scrape.
	handshakeTimeout = 10 * time.Second
	dialTimeout      = 30 * time.Second
	// http2PingTimeout detects HTTP/2 connections that died silently.
	http2PingTimeout = time.Minute
	// http2Buffer is how much of a body may wait to be read.
	http2Buffer = maxOverhead / 4
)

// scope is the context of a request, and also collects what happens to it. net/http detaches
// dials from the cancellation of their requests but keeps the values (net/http/transport.go,
// queueForDial), so that a dial can find the scope.
type scope struct {
	context.Context //nolint:containedctx // It is a context.

	// lease is the request's lease of a connection, nil if connections are not counted.
	lease *lease
	// certificateRequested is set when the server requested a client certificate.
	certificateRequested atomic.Bool
	// secrets knows what must not be shown of the response.
	secrets *secret.Store
}

// scopeKey is the key of the scope in the context of a dial.
type scopeKey struct{}

func (s *scope) Value(key any) any {
	if key == (scopeKey{}) {
		return s
	}
	return s.Context.Value(key)
}

func scopeOf(ctx context.Context) *scope {
	s, _ := ctx.Value(scopeKey{}).(*scope)
	return s
}

// scoped returns a dial function that is canceled with its request. Without it, a host that
// drops packets would collect one hanging dial per scrape.
func scoped(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, dialTimeout)
		defer cancel()
		if scope := scopeOf(ctx); scope != nil {
			//nolint:contextcheck // It is the context that this one was detached from.
			stop := context.AfterFunc(scope, cancel)
			defer stop()
		}
		return dial(ctx, network, address)
	}
}

// transport refuses an answer that switches to another protocol, which nobody asked for: its body is the
// connection itself, which the end of a request does not close.
type transport struct{ *http.Transport }

func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.Transport.RoundTrip(req)
	if err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
		return resp, err
	}
	closeBody(resp)
	return nil, failf(ReasonProtocol, "", "the server switches to another protocol, which nobody asked for; check "+
		"what listens on this port")
}

// newTransport returns the transport without credentials. It reads the files of the TLS
// configuration again when they change. Prometheus' NewRoundTripperFromConfig cannot limit
// response headers and counts dials in the default registry.
func newTransport(
	c *Config, tlsConfig *promconfig.TLSConfig, proxy *promconfig.ProxyConfig, dial dialFunc, idle time.Duration,
) (http.RoundTripper, error) {
	build := func(tlsClient *tls.Config) (http.RoundTripper, error) {
		protocols := new(http.Protocols)
		protocols.SetHTTP1(true)
		protocols.SetHTTP2(c.EnableHTTP2)
		return transport{&http.Transport{
			Proxy:                  proxy.Proxy(),
			ProxyConnectHeader:     proxy.GetProxyConnectHeader(),
			DialContext:            scoped(dial),
			TLSClientConfig:        tlsClient,
			TLSHandshakeTimeout:    handshakeTimeout,
			DisableCompression:     true,
			DisableKeepAlives:      idle == notIdle,
			MaxIdleConnsPerHost:    1000,
			ReadBufferSize:         bufferSize,
			WriteBufferSize:        bufferSize,
			IdleConnTimeout:        idle,
			MaxResponseHeaderBytes: int64(c.Limits.Headers),
			Protocols:              protocols,
			HTTP2: &http.HTTP2Config{
				SendPingTimeout:           http2PingTimeout,
				MaxReceiveBufferPerStream: http2Buffer,
			},
		}}, nil
	}
	client, err := newTLSConfig(tlsConfig)
	if err != nil {
		return nil, fmt.Errorf("tls_config: %w", err)
	}
	rt, err := promconfig.NewTLSRoundTripper(client, promconfig.TLSRoundTripperSettings{
		CA:   secretReader(promconfig.Secret(tlsConfig.CA), tlsConfig.CAFile),
		Cert: secretReader(promconfig.Secret(tlsConfig.Cert), tlsConfig.CertFile),
		Key:  secretReader(tlsConfig.Key, tlsConfig.KeyFile),
	}, build)
	if err != nil {
		return nil, fmt.Errorf("tls_config: %w", err)
	}
	return rt, nil
}

// newTLSConfig returns a TLS configuration that records whether a server requested a client
// certificate, since most servers do not report that they miss it.
func newTLSConfig(c *promconfig.TLSConfig) (*tls.Config, error) {
	client, err := promconfig.NewTLSConfig(c)
	if err != nil {
		return nil, err
	}
	if client.MinVersion == 0 {
		client.MinVersion = tls.VersionTLS12
	}
	configured := client.GetClientCertificate
	client.GetClientCertificate = func(info *tls.CertificateRequestInfo) (*tls.Certificate, error) {
		if scope := scopeOf(info.Context()); scope != nil {
			scope.certificateRequested.Store(true)
		}
		if configured == nil {
			return new(tls.Certificate), nil
		}
		return configured(info)
	}
	return client, nil
}

// secretReader returns a reader of the configured text or file, nil if both are empty.
func secretReader(text promconfig.Secret, file string) promconfig.SecretReader {
	switch {
	case text != "":
		return promconfig.NewInlineSecret(string(text))
	case file != "":
		return promconfig.NewFileSecret(file)
	}
	return nil
}

func credentials(c *Config, rt http.RoundTripper, token *tokenSource) http.RoundTripper {
	switch {
	case c.Authorization != nil:
		reader := secretReader(c.Authorization.Credentials, c.Authorization.CredentialsFile)
		rt = promconfig.NewAuthorizationCredentialsRoundTripper(c.Authorization.Type, reader, rt)
	case c.BasicAuth != nil:
		user := secretReader(promconfig.Secret(c.BasicAuth.Username), c.BasicAuth.UsernameFile)
		rt = promconfig.NewBasicAuthRoundTripper(user, secretReader(c.BasicAuth.Password, c.BasicAuth.PasswordFile), rt)
	case token != nil:
		rt = &tokenTransport{source: token, next: rt}
	}
	if c.Headers != nil {
		rt = promconfig.NewHeadersRoundTripper(c.Headers, rt)
	}
	return rt
}
