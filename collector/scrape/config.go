package scrape

import (
	promconfig "github.com/prometheus/common/config"
)

// Config says how the targets of a pool are asked. Its keys are in the block of
// the pool itself; key limits is the pool's, which also bounds series there, so
// an inlined Config leaves Limits to the block that inlines it.
type Config struct {
	// BasicAuth, Authorization and OAuth2 are the credentials; one at most.
	BasicAuth     *promconfig.BasicAuth     `yaml:"basic_auth,omitempty"`
	Authorization *promconfig.Authorization `yaml:"authorization,omitempty"`
	OAuth2        *promconfig.OAuth2        `yaml:"oauth2,omitempty"`
	// TLS names the authority of the servers and our own certificate; the files
	// are read again when they change.
	TLS promconfig.TLSConfig `yaml:"tls_config,omitempty"`
	// Headers are further request headers.
	Headers *promconfig.Headers `yaml:"http_headers,omitempty"`
	// Proxy holds proxy_url, no_proxy, proxy_connect_header and
	// proxy_from_environment; without it no proxy is used.
	Proxy promconfig.ProxyConfig `yaml:",inline"`
	// FollowRedirects follows up to three redirects on the same scheme, host
	// and port.
	FollowRedirects bool `yaml:"follow_redirects"`
	// EnableHTTP2 offers HTTP/2 in the TLS handshake.
	EnableHTTP2 bool `yaml:"enable_http2"`
	// Dial says which addresses may be connected to.
	Dial DialConfig `yaml:"dial"`
	// Limits bound one answer.
	Limits Limits `yaml:"-"`
}

// DialConfig says which addresses may be connected to. It is asked after the
// name is resolved, so a name cannot lead around it.
type DialConfig struct {
	// Deny and Allow are networks such as 10.0.0.0/8, or single addresses;
	// Allow wins.
	Deny  []string `yaml:"deny"`
	Allow []string `yaml:"allow,omitempty"`
}

// Limits bound one answer in bytes.
type Limits struct {
	// Body bounds the page after decompression, CompressedBody what comes over
	// the wire when it is compressed; 0 is no bound.
	Body           Size `yaml:"body"`
	CompressedBody Size `yaml:"compressed_body"`
	// Headers bounds the response headers; it has to be set.
	Headers Size `yaml:"headers"`
}

// DefaultLimits are on unless a pool says otherwise.
var DefaultLimits = Limits{Body: 16 * mebibyte, CompressedBody: 4 * mebibyte, Headers: 64 * kibibyte}

// DefaultDialConfig denies the addresses where clouds answer with credentials:
// link-local, AWS over IPv6, and link-local behind NAT64.
var DefaultDialConfig = DialConfig{
	Deny: []string{"169.254.0.0/16", "fe80::/10", "fd00:ec2::254", "64:ff9b::a9fe:0/112"},
}

// DefaultConfig asks without credentials, follows nothing and limits answers.
var DefaultConfig = Config{Dial: DefaultDialConfig, Limits: DefaultLimits}

// UnmarshalYAML reads the configuration over the defaults, limits included.
func (c *Config) UnmarshalYAML(unmarshal func(any) error) error {
	type plain Config
	doc := struct {
		Plain  plain  `yaml:",inline"`
		Limits Limits `yaml:"limits"`
	}{Plain: plain(DefaultConfig), Limits: DefaultLimits}
	if err := unmarshal(&doc); err != nil {
		return err
	}
	*c = Config(doc.Plain)
	c.Limits = doc.Limits
	return nil
}

// UnmarshalYAML reads the limits over the defaults.
func (l *Limits) UnmarshalYAML(unmarshal func(any) error) error {
	*l = DefaultLimits
	type plain Limits
	return unmarshal((*plain)(l))
}

// UnmarshalYAML reads the rules over the defaults; a list that is given
// replaces its default.
func (d *DialConfig) UnmarshalYAML(unmarshal func(any) error) error {
	*d = DefaultDialConfig
	type plain DialConfig
	return unmarshal((*plain)(d))
}

// client is the part of the configuration that Prometheus' own rules check.
func (c *Config) client() promconfig.HTTPClientConfig {
	return promconfig.HTTPClientConfig{
		BasicAuth: c.BasicAuth, Authorization: c.Authorization, OAuth2: c.OAuth2,
		TLSConfig: c.TLS, ProxyConfig: c.Proxy, HTTPHeaders: c.Headers,
		FollowRedirects: c.FollowRedirects, EnableHTTP2: c.EnableHTTP2,
	}
}

// SetDirectory joins the relative file names of the configuration with dir.
func (c *Config) SetDirectory(dir string) {
	c.BasicAuth.SetDirectory(dir)
	c.Authorization.SetDirectory(dir)
	c.OAuth2.SetDirectory(dir)
	c.TLS.SetDirectory(dir)
	c.Headers.SetDirectory(dir)
}
