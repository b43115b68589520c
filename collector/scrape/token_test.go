package scrape

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	promconfig "github.com/prometheus/common/config"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/secret"
)

// logins is a server of tokens that counts the requests.
type logins struct {
	count  int
	status int
	body   string
	err    error
	takes  time.Duration
}

func (l *logins) RoundTrip(req *http.Request) (*http.Response, error) {
	l.count++
	select {
	case <-req.Context().Done():
		return nil, req.Context().Err()
	case <-time.After(l.takes):
	}
	if l.err != nil {
		return nil, l.err
	}
	return &http.Response{
		StatusCode: l.status,
		Header:     http.Header{"Content-Type": {"application/json"}},
		Body:       io.NopCloser(strings.NewReader(l.body)),
		Request:    req,
	}, nil
}

// A server of tokens is asked by all targets of a pool together, and not again and again: it may lock or
// throttle the client, and others that use it.
func TestTokensAreRequestedAtPace(t *testing.T) {
	for _, c := range []struct {
		name   string
		server *logins
		// atMost is how often it may be asked by fifty targets in ten minutes; a login takes two requests, as
		// there are two forms.
		atMost int
	}{
		{"one that refuses", &logins{status: 401, body: `{"error":"invalid_client"}`}, 32},
		{"one that is broken", &logins{status: 500}, 32},
		{"one that answers no JSON", &logins{status: 200, body: "<html>"}, 32},
		{"one that resets", &logins{err: io.ErrUnexpectedEOF}, 32},
		{"one that hangs", &logins{takes: time.Hour}, 32},
		{"tokens without an end", &logins{status: 200, body: `{"access_token":"a"}`}, 1},
		{"tokens of an hour", &logins{status: 200, body: `{"access_token":"a","expires_in":3600}`}, 1},
		{"tokens of a minute", &logins{status: 200, body: `{"access_token":"a","expires_in":60}`}, 13},
		{"tokens of five seconds", &logins{status: 200, body: `{"access_token":"a","expires_in":5}`}, 250},
		{"tokens that have expired", &logins{status: 200, body: `{"access_token":"a","expires_in":-5}`}, 601},
	} {
		t.Run(c.name, bubble(func(t *testing.T) {
			source := newTokenSource(&promconfig.OAuth2{ClientID: "a", TokenURL: "http://x/"}, c.server, new(secret.Store))
			var targets sync.WaitGroup
			for range 50 {
				targets.Go(func() {
					for range 10 * 60 / 5 {
						ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
						_, _ = source.get(ctx)
						cancel()
						time.Sleep(5 * time.Second)
					}
				})
			}
			targets.Wait()
			require.LessOrEqual(t, c.server.count, c.atMost)
			if c.atMost > 1 {
				require.GreaterOrEqual(t, c.server.count, 10)
			}
		}))
	}
}

func TestRefusedTokenIsRequestedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &logins{status: 401, body: `{"error":"invalid_client"}`}
		source := newTokenSource(&promconfig.OAuth2{ClientID: "a", TokenURL: "http://x/"}, server, new(secret.Store))
		_, first := source.get(t.Context())
		_, second := source.get(t.Context())
		require.Error(t, first)
		require.Equal(t, first, second, "the log does not change")
		server.status, server.body = 200, `{"access_token":"a"}`
		_, err := source.get(t.Context())
		require.Error(t, err)
		time.Sleep(minTokenPause)
		_, err = source.get(t.Context())
		require.NoError(t, err)
	})
}

// A scrape that is canceled says nothing about the server.
func TestCanceledLoginIsNoRefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &logins{status: 200, body: `{"access_token":"a"}`, takes: time.Second}
		source := newTokenSource(&promconfig.OAuth2{ClientID: "a", TokenURL: "http://x/"}, server, new(secret.Store))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Millisecond, cancel)
		_, err := source.get(ctx)
		require.ErrorIs(t, err, context.Canceled)
		_, err = source.get(t.Context())
		require.NoError(t, err)
	})
}

// refusing is a server that accepts only some tokens.
type refusing struct {
	accepts func(authorization string) bool
}

func (r refusing) RoundTrip(req *http.Request) (*http.Response, error) {
	status := http.StatusUnauthorized
	if r.accepts(req.Header.Get("Authorization")) {
		status = http.StatusOK
	}
	return &http.Response{StatusCode: status, Body: http.NoBody, Request: req}, nil
}

// Tokens may be revoked long before their end.
func TestTokenThatServersRefuseIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logins := &logins{status: 200, body: `{"access_token":"first"}`}
		source := newTokenSource(&promconfig.OAuth2{ClientID: "a", TokenURL: "http://x/"}, logins, new(secret.Store))
		valid := "Bearer first"
		ask := func(accepts func(string) bool) (status int) {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://x/", http.NoBody)
			require.NoError(t, err)
			resp, err := (&tokenTransport{source, refusing{accepts}}).RoundTrip(req)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			return resp.StatusCode
		}
		current := func(authorization string) bool { return authorization == valid }
		never := func(string) bool { return false }
		require.Equal(t, http.StatusOK, ask(current))
		time.Sleep(time.Hour)
		require.Equal(t, 1, logins.count)

		valid, logins.body = "Bearer second", `{"access_token":"second"}`
		require.Equal(t, http.StatusUnauthorized, ask(current))
		require.Equal(t, http.StatusOK, ask(current))
		for range 100 {
			ask(never) // One server that refuses all tokens must not ask for one each time.
			time.Sleep(maxTokenPause / 10)
		}
		require.LessOrEqual(t, logins.count, 2+10)
		require.Equal(t, http.StatusOK, ask(current))
	})
}
