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
	// minSecret is the shortest text that is blanked where an error repeats it.
	minSecret = 4
	// minEchoed is the shortest for which a page is refused: it must not be a
	// word that pages have anyway.
	minEchoed = 8
)

// witness notes the headers with which a request leaves, credentials included,
// in the scope of the request.
type witness struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (w witness) RoundTrip(req *http.Request) (*http.Response, error) {
	if scope := scopeOf(req.Context()); scope != nil {
		scope.sent = secretHeaders(req)
	}
	return w.RoundTripper.RoundTrip(req)
}

// queryOf is the name under which the query of a URL is next to the headers; no header
// has it.
const queryOf = "?"

// secretHeaders are the headers of a request, with its query.
func secretHeaders(req *http.Request) http.Header {
	header := req.Header
	if req.URL != nil && req.URL.RawQuery != "" {
		header = header.Clone()
		header[queryOf] = []string{req.URL.RawQuery}
	}
	return header
}

// queryIn is the query of a URL as a header, nil for none.
func queryIn(rawURL string) http.Header {
	if _, query, some := strings.Cut(rawURL, "?"); some {
		return http.Header{queryOf: {query}}
	}
	return nil
}

// secretsOf are what must not be shown of a query: each parameter with its value, and
// the value alone unless it may be a word that pages have anyway, as a name[] or a
// format.
func secretsOf(query string) (secrets []string) {
	secrets = strings.Split(query, "&")
	values, _ := url.ParseQuery(query) // What can be read of it.
	for name, list := range values {
		for _, value := range list {
			pair := name + "=" + value
			secrets = append(secrets, pair, url.QueryEscape(pair))
			if len(value) >= minEchoed && strings.Trim(value, wordly) != "" {
				secrets = append(secrets, value, url.QueryEscape(value))
			}
		}
	}
	return secrets
}

// wordly are the characters of words.
const wordly = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_:.-/"

// secretsIn lists what of a request must not be shown, longest first: the values
// of all headers that the configuration added, but for those that are written
// openly there, in all the ways in which they are repeated.
func secretsIn(header http.Header, least int, open map[string]bool) []string {
	var secrets []string
	add := func(text string) {
		if len(text) >= least {
			secrets = append(secrets, written(text)...)
		}
	}
	for name, values := range header {
		switch name {
		case "Accept", "Accept-Encoding", "Content-Type", "User-Agent", HopHeader, timeoutHeader:
			continue
		}
		if open[name] {
			continue
		}
		for _, value := range values {
			if name == queryOf {
				for _, text := range secretsOf(value) {
					add(text)
				}
				continue
			}
			add(value)
			_, credential, _ := strings.Cut(value, " ")
			add(credential)
			if plain, err := base64.StdEncoding.DecodeString(credential); err == nil {
				add(string(plain))
				_, password, _ := strings.Cut(string(plain), ":")
				add(password)
			}
		}
	}
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	return secrets
}

// written are the ways in which a text is written: as it is, and in the quotes of a
// label, of an error and of JSON.
func written(text string) []string {
	ways := []string{text, strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text)}
	ways = append(ways, inQuotes(strconv.Quote(text)))
	if inJSON, err := json.Marshal(text); err == nil {
		ways = append(ways, inQuotes(string(inJSON)))
	}
	return slices.Compact(ways)
}

func inQuotes(text string) string { return text[1 : len(text)-1] }

// openHeaders are those of the configuration whose values are no secrets.
func openHeaders(c *Config) map[string]bool {
	if c.Headers == nil {
		return nil
	}
	open := make(map[string]bool)
	for name, h := range c.Headers.Headers {
		open[http.CanonicalHeaderKey(name)] = len(h.Secrets) == 0 && len(h.Files) == 0
	}
	return open
}

// sentWith are the headers with which a request left, nil before.
func sentWith(req *http.Request) http.Header {
	if scope := scopeOf(req.Context()); scope != nil {
		return scope.sent
	}
	return nil
}

// conceal blanks in a failure what the request sent as a secret: what a server
// answers is quoted by some errors, also by those of net/http.
func conceal(req *http.Request, failure *Error) *Error { return blank(sentWith(req), failure) }

// blank does that for the headers that were sent.
func blank(sent http.Header, failure *Error) *Error {
	if failure == nil || failure.Err == nil {
		return failure
	}
	text := failure.Err.Error()
	shown := without(secretsIn(sent, minSecret, nil), text)
	if shown == text {
		return failure
	}
	return &Error{Reason: failure.Reason, Class: failure.Class, Err: errors.New(shown)}
}

// Secret is the failure of a page that repeats a secret of its request, nil for
// all others. It is asked for each page whose text is new.
func (p *Page) Secret() error {
	if echoes(p.sent, p.open, p.Body) {
		return echoed()
	}
	return nil
}

// withoutSecrets is a text that a server chose without what its request sent as a
// secret. It is for texts that are shown in part or in lower case: in those nobody
// finds a secret afterwards.
func withoutSecrets(resp *http.Response, text string) string {
	return without(secretsSent(resp), text)
}

// secretsSent lists the secrets of the request that got a response, longest first.
func secretsSent(resp *http.Response) []string {
	if resp.Request == nil {
		return nil
	}
	return secretsIn(secretHeaders(resp.Request), minSecret, nil)
}

// without is a text with its secrets blanked.
func without(secrets []string, text string) string {
	for _, secret := range secrets {
		text = strings.ReplaceAll(text, secret, "<secret>")
	}
	return text
}

// echoes reports whether a body repeats a secret that was sent.
func echoes(sent http.Header, open map[string]bool, body []byte) bool {
	return slices.ContainsFunc(secretsIn(sent, minEchoed, open), func(secret string) bool {
		return bytes.Contains(body, []byte(secret))
	})
}

func echoed() *Error {
	return failf(ReasonSecret, "", "the answer repeats the credentials of the request, so nothing of it is shown; change them, and look at what answers there")
}
