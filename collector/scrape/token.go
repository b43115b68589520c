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
	token   *oauth2.Token
}

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
	if s.token.Valid() {
		return s.token, nil
	}
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
		if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
			refused.ErrorCode = s.known.Hide(refused.ErrorCode)
		}
		return nil, fmt.Errorf("oauth2.token_url: %w", err)
	}
	s.token = token
	return token, nil
}

type tokenTransport struct {
	source *tokenSource
	next   http.RoundTripper
}

func (t *tokenTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	token, err := t.source.get(req.Context())
	if err != nil {
		return nil, err
	}
	req = req.Clone(req.Context())
	token.SetAuthHeader(req)
	return t.next.RoundTrip(req)
}
