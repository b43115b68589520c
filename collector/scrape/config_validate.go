package scrape

import (
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	promconfig "github.com/prometheus/common/config"
	"golang.org/x/net/http/httpguts"
)

// minHeaders is the smallest limit with which the response headers of servers fit.
const minHeaders = kibibyte

// Validate returns all errors, each beginning with its key. It reads no files.
func (c *Config) Validate() error {
	_, dialErr := c.Dial.guard()
	var limitErr error
	if c.Limits.Headers < minHeaders {
		limitErr = fmt.Errorf(
			"limits.headers: %s is too small; use %s or more, the default is %s", c.Limits.Headers, minHeaders,
			DefaultLimits.Headers,
		)
	}
	return errors.Join(
		c.validateClient(), c.validateOAuth2(), c.validateHeaders(), c.validateToken(),
		validateTLS("tls_config", &c.TLS), validateProxy("proxy_url", c.Proxy.ProxyURL),
		dialErr, limitErr,
	)
}

// validateClient lets Prometheus' package validate one block after the other, since it stops at the
// first error, and then whether the blocks that are there go together.
func (c *Config) validateClient() error {
	var together promconfig.HTTPClientConfig
	if c.BasicAuth != nil {
		together.BasicAuth = &promconfig.BasicAuth{}
	}
	if c.Authorization != nil {
		together.Authorization = &promconfig.Authorization{}
	}
	if c.OAuth2 != nil {
		together.OAuth2 = &promconfig.OAuth2{ClientID: "any", TokenURL: "any"}
	}
	var errs []error
	for _, block := range []promconfig.HTTPClientConfig{
		{BasicAuth: c.BasicAuth},
		{Authorization: c.Authorization},
		{OAuth2: c.OAuth2},
		{ProxyConfig: c.Proxy},
		{HTTPHeaders: c.Headers},
		together,
	} {
		if err := block.Validate(); err != nil {
			errs = append(errs, fmt.Errorf("http client: %w", err))
		}
	}
	return errors.Join(errs...)
}

// validateOAuth2 accepts only the grant type that needs no signing key.
func (c *Config) validateOAuth2() error {
	if c.OAuth2 == nil {
		return nil
	}
	var errs []error
	if grant := c.OAuth2.GrantType; grant != "" && grant != grantClientCredentials {
		errs = append(errs, fmt.Errorf("oauth2.grant_type: %q is not supported; use %s", grant, grantClientCredentials))
	}
	if err := c.OAuth2.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("oauth2: %w", err))
	}
	u, err := url.Parse(c.OAuth2.TokenURL)
	if c.OAuth2.TokenURL != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		errs = append(errs, errors.New("oauth2.token_url: is not a URL; write it like https://login.example.com/token"))
	}
	errs = append(errs,
		validateTLS("oauth2.tls_config", &c.OAuth2.TLSConfig),
		validateProxy("oauth2.proxy_url", c.OAuth2.ProxyURL))
	return errors.Join(errs...)
}

// validateHeaders rejects headers that the scrape sets itself, and invalid ones, with which
// net/http would fail every scrape.
func (c *Config) validateHeaders() error {
	if c.Headers == nil {
		return nil
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(c.Headers.Headers)) {
		header := c.Headers.Headers[name]
		values := slices.Clone(header.Values)
		for _, secret := range header.Secrets {
			values = append(values, string(secret))
		}
		switch key := http.CanonicalHeaderKey(name); {
		case key == "Accept":
			errs = append(errs, fmt.Errorf("http_headers.%s: is set by the exporter; remove it", name))
		case !httpguts.ValidHeaderFieldName(name):
			if end := strings.IndexByte(name, ':'); end >= 0 { // What follows is the value, which may be secret.
				name = name[:end+1]
			}
			errs = append(errs, fmt.Errorf("http_headers: %q is not a valid header name; write it like X-Tenant", name))
		case !httpguts.ValidHeaderFieldValue(strings.Join(values, "")):
			errs = append(errs, fmt.Errorf("http_headers.%s: %s", name, adviceOneLine))
		}
	}
	return errors.Join(errs...)
}

// validateToken rejects a token that cannot be sent in a header, for example because of the
// line break at the end of a YAML block.
func (c *Config) validateToken() error {
	switch {
	case c.Authorization == nil:
		return nil
	case !httpguts.ValidHeaderFieldValue(c.Authorization.Type + string(c.Authorization.Credentials)):
		return errors.New("authorization.credentials: " + adviceOneLine)
	case strings.ContainsAny(c.Authorization.Type, " \t"):
		return errors.New("authorization.type: has a blank; write one word there, like Bearer, and the token in credentials")
	}
	return nil
}

const adviceOneLine = "a value has a line break or another control character; write it on one line"

func validateTLS(key string, c *promconfig.TLSConfig) error {
	if err := c.Validate(); err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	var errs []error
	if c.MinVersion != 0 && c.MinVersion < tls.VersionTLS12 {
		errs = append(errs, fmt.Errorf("%s.min_version: %s is not safe; use TLS12 or TLS13", key, &c.MinVersion))
	}
	if c.MaxVersion != 0 && c.MaxVersion < tls.VersionTLS12 {
		errs = append(errs, fmt.Errorf("%s.max_version: %s is not safe; use TLS12 or TLS13", key, &c.MaxVersion))
	}
	if c.MinVersion != 0 && c.MaxVersion != 0 && c.MaxVersion < c.MinVersion {
		errs = append(
			errs,
			fmt.Errorf(
				"%s.max_version: %s is below min_version %s; raise it or leave it out", key, &c.MaxVersion,
				&c.MinVersion,
			),
		)
	}
	return errors.Join(errs...)
}

// validateProxy rejects proxies that net/http does not support.
func validateProxy(key string, u promconfig.URL) error {
	if u.URL == nil || u.String() == "" {
		return nil
	}
	switch u.Scheme {
	case "http", "https", "socks5", "socks5h":
	default:
		return fmt.Errorf("%s: scheme %q is not supported; use http, https or socks5", key, u.Scheme)
	}
	if u.Host == "" {
		return fmt.Errorf("%s: has no host; write it like http://proxy.example.com:3128", key)
	}
	return nil
}
