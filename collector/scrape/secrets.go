package scrape

import (
	"errors"

	"github.com/trtllm-exporter/trtllm_exporter/collector/secret"
)

// hidden hides the secrets in a failure, which may quote what the server sent, as long as it is: the start of a secret
// cannot be told from another text, so that a failure is cut where it is shown.
func (e *Error) hidden(secrets *secret.Store) *Error {
	if e == nil || e.Err == nil {
		return e
	}
	if text := secrets.Hide(e.Err.Error()); text != e.Err.Error() {
		return &Error{Reason: e.Reason, Class: e.Class, Err: errors.New(text)}
	}
	return e
}

// Secret searches a page for secrets. It returns a function that reports whether a text of the page has
// one, nil if the page has none.
func (p *Page) Secret() func(text string) bool {
	if !p.secrets.In(p.Body) {
		return nil
	}
	return func(text string) bool { return p.secrets.HideInData(text) != text }
}

// Failure returns the failure of a page for a reason, without secrets.
func (p *Page) Failure(reason Reason, err error) *Error {
	return (&Error{Reason: reason, Err: err}).hidden(p.secrets)
}
