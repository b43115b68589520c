package scrape

import (
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"

	promconfig "github.com/prometheus/common/config"
	"golang.org/x/net/http/httpguts"
)

// minHeaders is the least bound of response headers that lets servers answer.
const minHeaders = kibibyte

// Validate says everything that is wrong; each error begins with its key. It
// reads no files.
func (c *Config) Validate() error {
	client := c.client()
	var errs []error
	if err := client.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("http client: %w", err))
	}
	errs = append(errs,
		c.validateReferences(), c.validateOAuth2(), c.validateHeaders(), c.validateToken(),
		validateTLS("tls_config", &c.TLS), validateProxy("proxy_url", c.Proxy.ProxyURL),
		c.Dial.validate(), c.Limits.Validate(),
	)
	return errors.Join(errs...)
}

// Validate says which limit is wrong and what it may be.
func (l *Limits) Validate() error {
	var errs []error
	if l.Body < 0 {
		errs = append(errs, fmt.Errorf("limits.body: %d is below 0; use 0 for no bound, the default is %s", int64(l.Body), DefaultLimits.Body))
	}
	if l.CompressedBody < 0 {
		errs = append(errs, fmt.Errorf("limits.compressed_body: %d is below 0; use 0 for no bound, the default is %s", int64(l.CompressedBody), DefaultLimits.CompressedBody))
	}
	if l.Headers < minHeaders {
		errs = append(errs, fmt.Errorf("limits.headers: %s is too small; use %s or more, the default is %s", l.Headers, minHeaders, DefaultLimits.Headers))
	}
	return errors.Join(errs...)
}

// validateReferences refuses names of secrets in a store, which the exporter
// does not have.
func (c *Config) validateReferences() error {
	refs := map[string]string{
		"tls_config.ca_ref": c.TLS.CARef, "tls_config.cert_ref": c.TLS.CertRef, "tls_config.key_ref": c.TLS.KeyRef,
	}
	if c.BasicAuth != nil {
		refs["basic_auth.username_ref"] = c.BasicAuth.UsernameRef
		refs["basic_auth.password_ref"] = c.BasicAuth.PasswordRef
	}
	if c.Authorization != nil {
		refs["authorization.credentials_ref"] = c.Authorization.CredentialsRef
	}
	if c.OAuth2 != nil {
		refs["oauth2.client_secret_ref"] = c.OAuth2.ClientSecretRef
		refs["oauth2.client_certificate_key_ref"] = c.OAuth2.ClientCertificateKeyRef
		refs["oauth2.tls_config.ca_ref"] = c.OAuth2.TLSConfig.CARef
		refs["oauth2.tls_config.cert_ref"] = c.OAuth2.TLSConfig.CertRef
		refs["oauth2.tls_config.key_ref"] = c.OAuth2.TLSConfig.KeyRef
	}
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(refs)) {
		if refs[key] != "" {
			errs = append(errs, fmt.Errorf("%s: secret stores are not supported; use the key that ends in _file", key))
		}
	}
	return errors.Join(errs...)
}

// validateOAuth2 allows the grant that needs no signing key only.
func (c *Config) validateOAuth2() error {
	if c.OAuth2 == nil {
		return nil
	}
	var errs []error
	if grant := c.OAuth2.GrantType; grant != "" && grant != grantClientCredentials {
		errs = append(errs, fmt.Errorf("oauth2.grant_type: %q is not supported; use %s", grant, grantClientCredentials))
	}
	proxy := &c.OAuth2.ProxyConfig
	u, err := url.Parse(c.OAuth2.TokenURL)
	if c.OAuth2.TokenURL != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		errs = append(errs, errors.New("oauth2.token_url: is not a URL; write it like https://login.example.com/token"))
	}
	errs = append(errs,
		proxy.Validate(),
		validateTLS("oauth2.tls_config", &c.OAuth2.TLSConfig),
		validateProxy("oauth2.proxy_url", c.OAuth2.ProxyURL))
	return errors.Join(errs...)
}

// validateHeaders keeps the headers that the scrape sets itself, and refuses those
// that net/http does not send: every scrape would fail.
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
		case key == "Accept", key == HopHeader:
			errs = append(errs, fmt.Errorf("http_headers.%s: is set by the exporter; remove it", name))
		case !httpguts.ValidHeaderFieldName(name):
			errs = append(errs, fmt.Errorf("http_headers: %q is not the name of a header; write it like X-Tenant", name))
		case slices.ContainsFunc(values, brokenValue):
			errs = append(errs, fmt.Errorf("http_headers.%s: %s", name, onOneLine))
		}
	}
	return errors.Join(errs...)
}

// validateToken refuses a token that cannot be in a header, as one with the line
// break that a block of YAML ends with.
func (c *Config) validateToken() error {
	if c.Authorization == nil || !brokenValue(c.Authorization.Type+string(c.Authorization.Credentials)) {
		return nil
	}
	return errors.New("authorization.credentials: " + onOneLine)
}

// onOneLine is said of a value of a header that has control characters.
const onOneLine = "a value has a line break or another control character; write it on one line"

// brokenValue reports whether a text cannot be the value of a header.
func brokenValue(text string) bool { return !httpguts.ValidHeaderFieldValue(text) }

// validateTLS refuses versions that are broken.
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
		errs = append(errs, fmt.Errorf("%s.max_version: %s is below min_version %s; raise it or leave it out", key, &c.MaxVersion, &c.MinVersion))
	}
	return errors.Join(errs...)
}

// validateProxy refuses proxies that net/http does not speak to.
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
