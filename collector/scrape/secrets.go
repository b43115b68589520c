package scrape

import (
	"errors"
	"net/http"

	"github.com/trtllm-exporter/trtllm_exporter/collector/secret"
)

// shown hides what a request sent in what is shown of its response: all secrets of the process, and the
// query of the request.
type shown struct {
	secrets *secret.Store
	query   string
}

func (s *shown) store() *secret.Store {
	if s.query == "" {
		return s.secrets
	}
	return s.secrets.With(secret.OfQuery(s.query)...)
}

// failure hides the secrets in a failure: errors of net/http quote what the server sent.
func (s *shown) failure(failure *Error) *Error {
	if failure == nil || failure.Err == nil {
		return failure
	}
	text := failure.Err.Error()
	hidden := s.store().Hide(text)
	if hidden == text {
		return failure
	}
	return &Error{Reason: failure.Reason, Class: failure.Class, Err: errors.New(hidden)}
}

// Secret searches a page for secrets. It returns a function that reports whether a text of the page has
// one, nil if the page has none.
func (p *Page) Secret() func(text string) bool {
	store := p.shown.store()
	if !store.In(p.Body) {
		return nil
	}
	return func(text string) bool { return store.In([]byte(text)) }
}

// Failure returns the failure of a page for a reason, without secrets.
func (p *Page) Failure(reason Reason, err error) *Error {
	return p.shown.failure(&Error{Reason: reason, Err: err})
}

// recorder notes the credentials of each request before it is sent: they may come from a file, a server
// of tokens or the URL of a target.
type recorder struct {
	http.RoundTripper

	client noted
}

// noted names the headers with secrets of a client, whose secrets it adds to the store.
type noted struct {
	store   *secret.Store
	headers []string
}

func (c *Client) noted() noted {
	n := noted{c.resources.Secrets, []string{"Authorization"}}
	if c.config.Headers != nil {
		for name, h := range c.config.Headers.Headers {
			if len(h.Secrets) > 0 || len(h.Files) > 0 {
				n.headers = append(n.headers, http.CanonicalHeaderKey(name))
			}
		}
	}
	return n
}

func (r recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	for _, name := range r.client.headers {
		for _, value := range req.Header[name] {
			r.client.store.NoteHeader(value)
		}
	}
	return r.RoundTripper.RoundTrip(req)
}
