package scrape

import (
	"fmt"

	"github.com/alecthomas/units"
	promconfig "github.com/prometheus/common/config"
)

// Config configures the requests to the targets of a pool. Its keys are in the block of
// the pool itself, except limits, which also bounds series.
type Config struct {
	// BasicAuth, Authorization and OAuth2 are the credentials; at most one may be set.
	BasicAuth     *promconfig.BasicAuth     `yaml:"basic_auth,omitempty"`
	Authorization *promconfig.Authorization `yaml:"authorization,omitempty"`
	OAuth2        *promconfig.OAuth2        `yaml:"oauth2,omitempty"`
	TLS           promconfig.TLSConfig      `yaml:"tls_config,omitempty"`
	Headers       *promconfig.Headers       `yaml:"http_headers,omitempty"`
	// Proxy holds proxy_url, no_proxy, proxy_connect_header and
	// proxy_from_environment; without it no proxy is used.
	Proxy promconfig.ProxyConfig `yaml:",inline"`
	// FollowRedirects follows up to three redirects on the same scheme, host and port.
	FollowRedirects bool       `yaml:"follow_redirects"`
	EnableHTTP2     bool       `yaml:"enable_http2"`
	Dial            DialConfig `yaml:"dial"`
	Limits          Limits     `yaml:"-"`
}

// DialConfig restricts the addresses that may be dialed. They are checked after names are
// resolved, so that no name can bypass the check.
type DialConfig struct {
	// Deny and Allow are networks such as 10.0.0.0/8, or single addresses. Allow takes precedence.
	Deny  []string `yaml:"deny"`
	Allow []string `yaml:"allow,omitempty"`
}

// Limits bound the size of one response.
type Limits struct {
	// Body bounds the decompressed page, CompressedBody a compressed one on the wire; 0 means
	// no limit.
	Body           Size `yaml:"body"`
	CompressedBody Size `yaml:"compressed_body"`
	Headers        Size `yaml:"headers"`
}

// DefaultLimits are the limits of a pool that sets none.
var DefaultLimits = Limits{Body: 16 * mebibyte, CompressedBody: 4 * mebibyte, Headers: 64 * kibibyte}

// DefaultDialConfig denies the metadata addresses from which clouds serve credentials:
// link-local, AWS over IPv6, and link-local behind NAT64.
var DefaultDialConfig = DialConfig{
	Deny: []string{"169.254.0.0/16", "fe80::/10", "fd00:ec2::254", "64:ff9b::a9fe:0/112"},
}

// DefaultConfig sends no credentials, follows no redirects and limits responses.
var DefaultConfig = Config{Dial: DefaultDialConfig, Limits: DefaultLimits}

// SetDirectory joins the relative file names of the configuration with dir.
func (c *Config) SetDirectory(dir string) {
	c.BasicAuth.SetDirectory(dir)
	c.Authorization.SetDirectory(dir)
	c.OAuth2.SetDirectory(dir)
	c.TLS.SetDirectory(dir)
	c.Headers.SetDirectory(dir)
}

// Size is a number of bytes, written with a unit as in 16MiB.
type Size int64

const (
	kibibyte Size = 1 << 10
	mebibyte Size = 1 << 20
)

func (s Size) String() string { return units.Base2Bytes(s).String() }

// UnmarshalYAML implements yaml.Unmarshaler: a number with a unit, or 0.
func (s *Size) UnmarshalYAML(unmarshal func(any) error) error {
	var text string
	if err := unmarshal(&text); err != nil {
		return err
	}
	if text == "0" {
		*s = 0
		return nil
	}
	size, err := units.ParseBase2Bytes(text)
	if err != nil || size < 0 {
		return fmt.Errorf("%q is not a size; write a number with a unit, such as 16MiB", text)
	}
	*s = Size(size)
	return nil
}

// MarshalYAML implements yaml.Marshaler.
func (s Size) MarshalYAML() (any, error) { return s.String(), nil }
