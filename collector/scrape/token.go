package scrape

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	promconfig "github.com/prometheus/common/config"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/trtllm-exporter/trtllm_exporter/collector/secret"
)

const grantClientCredentials = "client_credentials"

// tokenSource caches one OAuth2 token for all targets of a pool. A scrape waits for it no
// longer than its own deadline, which Prometheus' round tripper does not guarantee. It is
// safe for concurrent use.
type tokenSource struct {
	client *http.Client
	secret promconfig.SecretReader
	// known learns the client's secret and each token before they are sent.
	known *secret.Store
	// lock guards the fields below; it is a channel so that a scrape can stop waiting.
	lock    chan struct{}
	request clientcredentials.Config
	// token is the last token, asked for at asked, or failed why there is none, neither of which is asked for
	// again before until. Pause grows with each failure in a row.
	token  *oauth2.Token
	failed error
	asked  time.Time
	until  time.Time
	pause  time.Duration
}

const (
	// minTokenPause and maxTokenPause are the time between two requests for a token of which the first
	// failed: servers lock or throttle clients that try again and again.
	minTokenPause, maxTokenPause = time.Second, time.Minute
	// tokenMargin is how long before its end a token is renewed.
	tokenMargin = 10 * time.Second
)

func newTokenSource(c *promconfig.OAuth2, rt http.RoundTripper, known *secret.Store) *tokenSource {
	params := url.Values{}
	for name, value := range c.EndpointParams {
		params.Set(name, value)
	}
	return &tokenSource{
		client: &http.Client{
			Transport:     rt,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		secret: secretReader(c.ClientSecret, c.ClientSecretFile),
		known:  known,
		lock:   make(chan struct{}, 1),
		request: clientcredentials.Config{
			ClientID:       c.ClientID,
			TokenURL:       c.TokenURL,
			Scopes:         c.Scopes,
			EndpointParams: params,
		},
	}
}

// get returns a valid token. The client secret is read again for each new one.
func (s *tokenSource) get(ctx context.Context) (*oauth2.Token, error) {
	select {
	case s.lock <- struct{}{}:
		defer func() { <-s.lock }()
	case <-ctx.Done():
		return nil, fmt.Errorf("oauth2.token_url: %w", ctx.Err())
	}
	if time.Now().Before(s.until) {
		return s.token, s.failed
	}
	s.asked = time.Now()
	s.token, s.failed = s.login(ctx)
	switch {
	case s.failed == nil:
		s.pause, s.until = 0, renewal(s.token)
	case ctx.Err() == nil || errors.Is(ctx.Err(), context.DeadlineExceeded):
		s.pause = min(max(2*s.pause, minTokenPause), maxTokenPause)
		s.until = time.Now().Add(s.pause)
	}
	return s.token, s.failed
}

// refuse notes that a server refuses a token, which may be revoked: another is asked for, unless this one is
// new, since the server may refuse every token.
func (s *tokenSource) refuse(token *oauth2.Token) {
	select {
	case s.lock <- struct{}{}:
		defer func() { <-s.lock }()
	default:
		return // Another request asks for one.
	}
	if again := s.asked.Add(maxTokenPause); s.token == token && again.Before(s.until) {
		s.until = again
	}
}

// renewal returns when to ask for the next token, which is never soon, however short a token lasts.
func renewal(token *oauth2.Token) time.Time {
	now := time.Now()
	if token.Expiry.IsZero() {
		return now.AddDate(1, 0, 0)
	}
	rest := token.Expiry.Sub(now)
	return now.Add(max(rest-tokenMargin, rest/2, minTokenPause))
}

// login asks for a token.
func (s *tokenSource) login(ctx context.Context) (*oauth2.Token, error) {
	if s.secret != nil {
		text, err := s.secret.Fetch(ctx)
		if err != nil {
			return nil, fmt.Errorf("oauth2.client_secret_file: %w", err)
		}
		s.request.ClientSecret = text
		s.known.Note(text, s.request.ClientID+":"+text)
	}
	token, err := s.request.Token(context.WithValue(ctx, oauth2.HTTPClient, s.client))
	if err != nil {
		// The outer error repeats the URL, which may contain credentials.
		if outer, ok := errors.AsType[*url.Error](err); ok {
			err = outer.Err
		}
		return nil, fmt.Errorf("oauth2.token_url: %w", err)
	}
	return token, nil
}

// loginError is why there is no token for a request.
type loginError struct{ error }

func (e loginError) Unwrap() error { return e.error }

type tokenTransport struct {
	source *tokenSource
	next   http.RoundTripper
}

func (t *tokenTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	token, err := t.source.get(req.Context())
	if err != nil {
		return nil, loginError{err}
	}
	req = req.Clone(req.Context())
	token.SetAuthHeader(req)
	resp, err := t.next.RoundTrip(req)
	if err == nil && resp.StatusCode == http.StatusUnauthorized {
		t.source.refuse(token)
	}
	return resp, err
}
