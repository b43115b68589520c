package scrape

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

const (
	// minInErrors is the minimum length of secrets that are hidden in errors, minOnPages that of
	// secrets on pages and in answers, which contain more short words.
	minInErrors = 4
	minOnPages  = 8
	// wordCharacters are the characters of words that pages contain anyway, such as the
	// values of name[] and format in a query.
	wordCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_:.-/"
)

// hidden stands for a secret.
const hidden = "<secret>"

// sent holds the parts of a request that may be secret and that a server might repeat.
type sent struct {
	header http.Header
	query  string
	// public are the configured headers whose values are not secrets.
	public map[string]bool
}

// recorder stores in the scope of each request what is sent.
type recorder struct {
	http.RoundTripper

	public map[string]bool
}

func (r recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	if s := scopeOf(req.Context()); s != nil {
		s.sent = sent{req.Header, req.URL.RawQuery, r.public}
	}
	return r.RoundTripper.RoundTrip(req)
}

func publicHeaders(c *Config) map[string]bool {
	public := make(map[string]bool)
	if c.Headers != nil {
		for name, h := range c.Headers.Headers {
			public[http.CanonicalHeaderKey(name)] = len(h.Secrets) == 0 && len(h.Files) == 0
		}
	}
	return public
}

// secrets are texts that must not be shown, longest first.
type secrets []string

// secrets returns the query and the values of configured headers, except public ones, in every
// spelling in which a server may repeat them.
func (s *sent) secrets(minLength int, public map[string]bool) secrets {
	var all secrets
	add := func(texts ...string) {
		for _, text := range texts {
			if len(text) >= minLength {
				all = append(all, spellings(text)...)
			}
		}
	}
	add(querySecrets(s.query)...)
	harmless := []string{"Accept", "Accept-Encoding", "Content-Type", "User-Agent"}
	for name, values := range s.header {
		if public[name] || slices.Contains(harmless, name) {
			continue
		}
		for _, value := range values {
			_, credential, _ := strings.Cut(value, " ")
			add(value, credential)
			if pair, err := base64.StdEncoding.DecodeString(credential); err == nil {
				_, password, _ := strings.Cut(string(pair), ":")
				add(string(pair), password)
			}
		}
	}
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	return all
}

// onPages returns the secrets that pages and answers must not show.
func (s *sent) onPages() secrets { return s.secrets(minOnPages, s.public) }

// querySecrets lists the parameters of a query with their values, and the values alone unless
// they look like words.
func querySecrets(query string) []string {
	secrets := strings.Split(query, "&")
	values, _ := url.ParseQuery(query) // An invalid part is skipped.
	for name, list := range values {
		for _, value := range list {
			pair := name + "=" + value
			secrets = append(secrets, pair, url.QueryEscape(pair))
			if len(value) >= minOnPages && strings.Trim(value, wordCharacters) != "" {
				secrets = append(secrets, value, url.QueryEscape(value))
			}
		}
	}
	return secrets
}

// spellings lists the ways in which a text may be written: as it is, quoted as in HELP, a label, an
// error or JSON, and escaped as in the path of a URL.
func spellings(text string) []string {
	quoted := strconv.Quote(text)
	help := strings.ReplaceAll(text, `\`, `\\`)
	all := []string{
		text,
		help,
		strings.ReplaceAll(help, `"`, `\"`),
		quoted[1 : len(quoted)-1],
		url.PathEscape(text),
	}
	if encoded, err := json.Marshal(text); err == nil {
		all = append(all, string(encoded[1:len(encoded)-1]))
	}
	return slices.Compact(all)
}

// hide replaces the secrets in a text.
func (s secrets) hide(text string) string {
	for _, secret := range s {
		text = strings.ReplaceAll(text, secret, hidden)
	}
	return text
}

// in reports whether a text holds a secret.
func (s secrets) in(text []byte) bool {
	return slices.ContainsFunc(s, func(secret string) bool { return bytes.Contains(text, []byte(secret)) })
}

// hideInAnswer replaces the secrets in an answer, which may be JSON: one that is a number is
// replaced in quotes only, because the numbers of a server are no secrets.
func (s secrets) hideInAnswer(answer []byte) []byte {
	for _, secret := range s {
		if _, err := strconv.ParseFloat(secret, 64); err == nil {
			answer = replaceQuoted(answer, secret, hidden)
		} else if bytes.Contains(answer, []byte(secret)) {
			answer = bytes.ReplaceAll(answer, []byte(secret), []byte(hidden))
		}
	}
	return answer
}

// replaceQuoted replaces a text without quotes in the strings of JSON.
func replaceQuoted(answer []byte, text, by string) []byte {
	if !bytes.Contains(answer, []byte(text)) {
		return answer
	}
	var out []byte
	for quoted := false; len(answer) > 0; {
		n := 1
		switch {
		case answer[0] == '"':
			quoted = !quoted
		case quoted && answer[0] == '\\':
			n = min(len(answer), 2)
		case quoted && bytes.HasPrefix(answer, []byte(text)):
			out, answer, n = append(out, by...), answer[len(text):], 0
		}
		out, answer = append(out, answer[:n]...), answer[n:]
	}
	return out
}

// redact removes the secrets from a text that a server chose. It must be called before the
// text is cut or put into lower case.
func (s *sent) redact(text string) string { return s.secrets(minInErrors, nil).hide(text) }

// redactFailure removes the secrets from a failure: errors of net/http quote what the server sent.
func (s *sent) redactFailure(failure *Error) *Error {
	if failure == nil || failure.Err == nil {
		return failure
	}
	text := failure.Err.Error()
	redacted := s.redact(text)
	if redacted == text {
		return failure
	}
	return &Error{Reason: failure.Reason, Class: failure.Class, Err: errors.New(redacted)}
}

// Hide searches a page for the secrets of its request. It returns a function that hides them in a text
// of the page, nil if there are none.
func (p *Page) Hide() func(text string) string {
	all := p.sent.onPages()
	if !all.in(p.Body) {
		return nil
	}
	return all.hide
}

// Failure returns the failure of a page for a reason, without the secrets of its request.
func (p *Page) Failure(reason Reason, err error) *Error {
	return p.sent.redactFailure(&Error{Reason: reason, Err: err})
}
