package scrape

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// port answers requests with and without TLS with these errors.
type port struct {
	plain, secure error

	Scraper // It needs no other methods.
}

// Scrape implements Scraper.
func (p *port) Scrape(_ context.Context, address string, _ []byte) (Page, error) {
	if strings.HasPrefix(address, "https:") {
		return Page{}, p.secure
	}
	return Page{}, p.plain
}

// Do implements engine.Client.
func (p *port) Do(_ context.Context, _, address string, _ []byte, _ int64) (int, http.Header, []byte, error) {
	if strings.HasPrefix(address, "https:") {
		return http.StatusOK, nil, nil, p.secure
	}
	return 0, nil, nil, p.plain
}

func TestPortThatWantsTLSIsNamed(t *testing.T) {
	t.Parallel()
	fails := func(reason Reason, class string) error {
		return &Error{Reason: reason, Class: class, Err: errors.New("why")}
	}
	reset := fails(ReasonReset, "")
	for _, c := range []struct {
		name    string
		port    port
		address string
		up      bool
		reason  Reason
		class   string
		says    string
	}{
		{
			"a TLS server that ends plain connections",
			port{plain: reset, secure: nil},
			"http://a:1/metrics", false,
			ReasonTLS, ClassWantsTLS, "scheme: https",
		},
		{
			"a TLS server that sends an alert",
			port{plain: fails(ReasonProtocol, ""), secure: nil},
			"http://a:1/metrics", false, ReasonTLS, ClassWantsTLS, "scheme: https",
		},
		{
			"a TLS server that answers 400",
			port{plain: fails(ReasonHTTPStatus, "400"), secure: nil},
			"http://a:1/metrics", false, ReasonTLS, ClassWantsTLS, "scheme: https",
		},
		{
			"a TLS server with a private authority",
			port{plain: reset, secure: fails(ReasonTLS, ClassAuthority)},
			"http://a:1/metrics", false, ReasonTLS, ClassWantsTLS, "scheme: https",
		},
		{
			"a mesh that wants our certificate",
			port{plain: reset, secure: fails(ReasonTLS, ClassClientCert)},
			"http://a:1/metrics", false, ReasonTLS, ClassWantsTLS, "mTLS",
		},
		{
			"a mesh that ends every connection",
			port{plain: reset, secure: reset},
			"http://a:1/metrics", false,
			ReasonReset, "", "mTLS",
		},
		{
			"a path left to be detected",
			port{plain: reset, secure: nil},
			"http://a:1", false, ReasonTLS,
			ClassWantsTLS, "scheme: https",
		},
		{
			"a plain server that answers 400",
			port{plain: fails(ReasonHTTPStatus, "400"), secure: fails(ReasonTLS, ClassNotTLS)},
			"http://a:1/metrics",
			false, ReasonHTTPStatus, "400", "why",
		},
		{
			"a plain server that restarts",
			port{plain: reset, secure: nil},
			"http://a:1/metrics", true, ReasonReset,
			"", "why",
		},
		{
			"a server that is not there",
			port{plain: fails(ReasonConnect, ""), secure: nil},
			"http://a:1/metrics",
			false, ReasonConnect, "", "why",
		},
		{
			"a server that is asked with TLS",
			port{plain: nil, secure: reset},
			"https://a:1/metrics", false,
			ReasonReset, "", "why",
		},
	} {
		t.Run(c.name, bubble(func(t *testing.T) {
			f := fetcher(nil, "vllm", c.address)
			f.Scraper, f.Up = &c.port, c.up
			failure, ok := errors.AsType[*Error](f.Fetch(t.Context(), nil).Err)
			require.True(t, ok, "an error of scraping")
			require.Equal(t, c.reason, failure.Reason)
			require.Equal(t, c.class, failure.Class)
			require.Contains(t, failure.Error(), c.says)
		}))
	}
}
