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
)

const (
	// idleTimeout keeps connections over every sane scrape interval.
	idleTimeout = 5 * time.Minute
	// briefIdleTimeout keeps connections from one question of a round to the
	// next, and under every sane interval between rounds.
	briefIdleTimeout = 50 * time.Millisecond
	// handshakeTimeout ends handshakes whose scrape is gone already; net/http
	// does not end them with the request.
	handshakeTimeout = 10 * time.Second
	// dialTimeout ends dials that no scrape bounds.
	dialTimeout = 30 * time.Second
	// http2PingTimeout finds HTTP/2 connections that died silently.
	http2PingTimeout = time.Minute
)

// transport is a round tripper whose idle connections can be closed.
type transport interface {
	http.RoundTripper
	CloseIdleConnections()
}

// scope is the context of a request, which also reports what its own dial
// met. Net/http detaches dials from the cancellation of their requests, but
// keeps the values (net/http/transport.go, queueForDial), so that the dial can
// find it.
type scope struct {
	context.Context //nolint:containedctx // It is a context.

	// use is the request's use of a connection, nil where that is not counted.
	use *use
	// certificateAsked is set when the server asked for a client certificate.
	certificateAsked atomic.Bool
	// sent are the headers that left, nil before.
	sent http.Header
}

// scopeKey finds the scope of a request inside the context of its dial.
type scopeKey struct{}

// Value gives the scope itself under its key.
func (s *scope) Value(key any) any {
	if key == (scopeKey{}) {
		return s
	}
	return s.Context.Value(key)
}

// withScope gives a request a scope of its own.
func withScope(ctx context.Context) context.Context { return &scope{Context: ctx} }

// scopeOf finds the scope of a request; nil when the request is not ours.
func scopeOf(ctx context.Context) *scope {
	found, _ := ctx.Value(scopeKey{}).(*scope)
	return found
}

// scoped is the dial that ends with its request. Without it a host that drops
// packets would collect one hanging dial per scrape.
func scoped(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, dialTimeout)
		defer cancel()
		if scope := scopeOf(ctx); scope != nil {
			stop := context.AfterFunc(scope, cancel) //nolint:contextcheck // It is the context that this one was detached from.
			defer stop()
		}
		return dial(ctx, network, address)
	}
}

// newTransport builds the transport below the credentials. It does not use
// Prometheus' NewRoundTripperFromConfig, which can bound no response headers
// and counts dials in the default registry. Idle is how long connections are
// kept without use.
func newTransport(c *Config, tlsConfig *promconfig.TLSConfig, proxy *promconfig.ProxyConfig, dial dialFunc, idle time.Duration) (transport, error) {
	build := func(tlsClient *tls.Config) (http.RoundTripper, error) {
		protocols := new(http.Protocols)
		protocols.SetHTTP1(true)
		protocols.SetHTTP2(c.EnableHTTP2)
		return &http.Transport{
			Proxy:                  proxy.Proxy(),
			ProxyConnectHeader:     proxy.GetProxyConnectHeader(),
			DialContext:            scoped(dial),
			TLSClientConfig:        tlsClient,
			TLSHandshakeTimeout:    handshakeTimeout,
			DisableCompression:     true,
			MaxIdleConnsPerHost:    1000,
			IdleConnTimeout:        idle,
			MaxResponseHeaderBytes: int64(c.Limits.Headers),
			Protocols:              protocols,
			HTTP2:                  &http.HTTP2Config{SendPingTimeout: http2PingTimeout},
		}, nil
	}
	client, err := handshake(tlsConfig)
	if err != nil {
		return nil, fmt.Errorf("tls_config: %w", err)
	}
	var rt http.RoundTripper
	if files := tlsFiles(tlsConfig); files != (promconfig.TLSRoundTripperSettings{}) {
		rt, err = promconfig.NewTLSRoundTripper(client, files, build)
	} else {
		rt, err = build(client)
	}
	if err != nil {
		return nil, fmt.Errorf("tls_config: %w", err)
	}
	closer, ok := rt.(transport)
	if !ok {
		return nil, fmt.Errorf("tls_config: connections of %T cannot be closed", rt)
	}
	return closer, nil
}

// handshake is the TLS configuration of a client that notes whether a server
// asked for its certificate, as most servers do not say that they miss it.
func handshake(c *promconfig.TLSConfig) (*tls.Config, error) {
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
			scope.certificateAsked.Store(true)
		}
		if configured == nil {
			return new(tls.Certificate), nil
		}
		return configured(info)
	}
	return client, nil
}

// tlsFiles names what has to be read again when it changes; empty when all is
// written in the configuration.
func tlsFiles(c *promconfig.TLSConfig) promconfig.TLSRoundTripperSettings {
	if c.CAFile == "" && c.CertFile == "" && c.KeyFile == "" {
		return promconfig.TLSRoundTripperSettings{}
	}
	return promconfig.TLSRoundTripperSettings{
		CA:   secret(promconfig.Secret(c.CA), c.CAFile),
		Cert: secret(promconfig.Secret(c.Cert), c.CertFile),
		Key:  secret(c.Key, c.KeyFile),
	}
}

// secret reads a text of the configuration or a file; nil when both are empty.
func secret(text promconfig.Secret, file string) promconfig.SecretReader {
	switch {
	case text != "":
		return promconfig.NewInlineSecret(string(text))
	case file != "":
		return promconfig.NewFileSecret(file)
	}
	return nil
}

// credentials puts the configured credentials and headers on top of rt.
func credentials(c *Config, rt http.RoundTripper, token *tokenSource) http.RoundTripper {
	switch {
	case c.Authorization != nil:
		reader := secret(c.Authorization.Credentials, c.Authorization.CredentialsFile)
		rt = promconfig.NewAuthorizationCredentialsRoundTripper(c.Authorization.Type, reader, rt)
	case c.BasicAuth != nil:
		user := secret(promconfig.Secret(c.BasicAuth.Username), c.BasicAuth.UsernameFile)
		rt = promconfig.NewBasicAuthRoundTripper(user, secret(c.BasicAuth.Password, c.BasicAuth.PasswordFile), rt)
	case token != nil:
		rt = &tokenTransport{source: token, next: rt}
	}
	if c.Headers != nil {
		rt = promconfig.NewHeadersRoundTripper(c.Headers, rt)
	}
	return rt
}
