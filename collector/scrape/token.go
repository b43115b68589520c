package scrape

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	promconfig "github.com/prometheus/common/config"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

const grantClientCredentials = "client_credentials"

// tokenSource keeps one OAuth2 token for all targets of a pool. A target waits
// for it no longer than its own scrape may take, which Prometheus' round
// tripper does not promise. Safe for concurrent use.
type tokenSource struct {
	client *http.Client
	secret promconfig.SecretReader
	// turn holds one value while a target reads or asks for the token.
	turn  chan struct{}
	ask   clientcredentials.Config
	token *oauth2.Token
}

func newTokenSource(c *promconfig.OAuth2, rt http.RoundTripper) *tokenSource {
	params := url.Values{}
	for name, value := range c.EndpointParams {
		params.Set(name, value)
	}
	return &tokenSource{
		client: &http.Client{
			Transport:     rt,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		secret: secret(c.ClientSecret, c.ClientSecretFile),
		turn:   make(chan struct{}, 1),
		ask: clientcredentials.Config{
			ClientID: c.ClientID, TokenURL: c.TokenURL, Scopes: c.Scopes, EndpointParams: params,
		},
	}
}

// get gives a token that is valid now. The client secret is read again for each
// token, so it may be rotated.
func (s *tokenSource) get(ctx context.Context) (*oauth2.Token, error) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, fmt.Errorf("oauth2.token_url: %w", ctx.Err())
	}
	if s.token.Valid() {
		return s.token, nil
	}
	if s.secret != nil {
		text, err := s.secret.Fetch(ctx)
		if err != nil {
			return nil, fmt.Errorf("oauth2.client_secret_file: %w", err)
		}
		s.ask.ClientSecret = text
	}
	token, err := s.ask.Token(context.WithValue(ctx, oauth2.HTTPClient, s.client))
	if err != nil {
		// The outer error repeats the URL, which may hold credentials.
		if outer, ok := errors.AsType[*url.Error](err); ok {
			err = outer.Err
		}
		if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
			refused.ErrorCode = without(s.secrets(), refused.ErrorCode)
		}
		return nil, fmt.Errorf("oauth2.token_url: %w", err)
	}
	s.token = token
	return token, nil
}

// secrets are what the request for a token sends.
func (s *tokenSource) secrets() []string {
	req := http.Request{Header: http.Header{}}
	req.SetBasicAuth(s.ask.ClientID, s.ask.ClientSecret)
	return secretsIn(req.Header, minSecret, nil)
}

// tokenTransport puts the token on each request.
type tokenTransport struct {
	source *tokenSource
	next   http.RoundTripper
}

// RoundTrip sends a copy of the request with the token.
func (t *tokenTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	token, err := t.source.get(req.Context())
	if err != nil {
		return nil, err
	}
	req = req.Clone(req.Context())
	token.SetAuthHeader(req)
	return t.next.RoundTrip(req)
}
