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
	// minRedacted is the minimum length of secrets that are redacted from errors, minRefused
	// the minimum length of secrets for which a page is refused.
	minRedacted = 4
	minRefused  = 8
	// wordCharacters are the characters of words that pages contain anyway, such as the
	// values of name[] and format in a query.
	wordCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_:.-/"
)

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

// secrets lists what must not be shown, longest first: the query and the values of configured
// headers, except public ones, in every spelling in which a server may repeat them.
func (s *sent) secrets(minLength int, public map[string]bool) []string {
	var secrets []string
	add := func(texts ...string) {
		for _, text := range texts {
			if len(text) >= minLength {
				secrets = append(secrets, spellings(text)...)
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
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	return secrets
}

// querySecrets lists the parameters of a query with their values, and the values alone unless
// they look like words.
func querySecrets(query string) []string {
	secrets := strings.Split(query, "&")
	values, _ := url.ParseQuery(query) // An invalid part is skipped.
	for name, list := range values {
		for _, value := range list {
			pair := name + "=" + value
			secrets = append(secrets, pair, url.QueryEscape(pair))
			if len(value) >= minRefused && strings.Trim(value, wordCharacters) != "" {
				secrets = append(secrets, value, url.QueryEscape(value))
			}
		}
	}
	return secrets
}

// spellings lists the ways in which a text may be written: as it is, quoted as in a label, an
// error or JSON, and escaped as in the path of a URL.
func spellings(text string) []string {
	quoted := strconv.Quote(text)
	all := []string{text, strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text), quoted[1 : len(quoted)-1], url.PathEscape(text)}
	if encoded, err := json.Marshal(text); err == nil {
		all = append(all, string(encoded[1:len(encoded)-1]))
	}
	return slices.Compact(all)
}

// redact removes the secrets from a text that a server chose. It must be called before the
// text is cut or put into lower case.
func (s *sent) redact(text string) string {
	for _, secret := range s.secrets(minRedacted, nil) {
		text = strings.ReplaceAll(text, secret, "<secret>")
	}
	return text
}

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

// refuse returns a failure if a body repeats a secret.
func (s *sent) refuse(body []byte) *Error {
	if !slices.ContainsFunc(s.secrets(minRefused, s.public), func(secret string) bool { return bytes.Contains(body, []byte(secret)) }) {
		return nil
	}
	return failf(ReasonSecret, "", "the response repeats the credentials of the request, so none of it is shown; change them, and check what answers there")
}

// Secret returns the failure of a page that repeats a secret of its request, else nil.
func (p *Page) Secret() error {
	failure := p.sent.refuse(p.Body)
	if failure == nil {
		return nil
	}
	return failure
}
