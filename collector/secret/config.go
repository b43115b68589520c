package secret

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"

	promconfig "github.com/prometheus/common/config"

	"github.com/trtllm-exporter/trtllm_exporter/collector/regular"
)

// AddConfig adds every secret of a configuration or a command line: values of type Secret, parameters that
// sound like one, and user, password and query of URLs. It returns what the configuration takes from elsewhere.
func (s *Store) AddConfig(config any) Elsewhere {
	w := walker{headers: []string{"Authorization"}}
	w.walk(reflect.ValueOf(config), false)
	s.Add(w.texts...)
	return Elsewhere{s, w.headers, w.files}
}

// Sounds reports whether a header or parameter of that name is treated as a secret.
func Sounds(name string) bool { return secretName.MatchString(name) }

var secretName = regexp.MustCompile(`(?i)auth|cookie|cred|key|pass|secret|token`)

// walker collects the secrets of a configuration, the headers whose values it does not have, and the names of files.
type walker struct{ texts, headers, files []string }

// walk walks a value; all of its texts are secrets if its name sounds like it.
func (w *walker) walk(v reflect.Value, secret bool) {
	switch v.Kind() { //nolint:exhaustive // The others hold no text.
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			w.walk(v.Elem(), secret)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			w.walk(v.Index(i), secret)
		}
	case reflect.Map:
		for pairs := v.MapRange(); pairs.Next(); {
			if h, ok := reflect.TypeAssert[promconfig.Header](pairs.Value()); ok && len(h.Files) > 0 {
				w.headers = append(w.headers, http.CanonicalHeaderKey(pairs.Key().String()))
			}
			w.walk(pairs.Value(), secret || Sounds(fmt.Sprint(pairs.Key())))
		}
	case reflect.Struct:
		w.fields(v, secret)
	case reflect.String:
		if secret || v.Type() == reflect.TypeFor[promconfig.Secret]() {
			w.texts = append(w.texts, v.String())
		} else {
			w.address(v.String())
		}
	}
}

func (w *walker) fields(v reflect.Value, secret bool) {
	switch c := v.Interface().(type) {
	case promconfig.TLSConfig: // Nobody is sent a key.
		w.files = append(w.files, c.CAFile, c.CertFile, c.KeyFile)
		return
	case url.URL:
		w.address(c.String())
		return
	case promconfig.ProxyConfig: // It may be one of the environment.
		for _, scheme := range []string{"http", "https"} {
			if proxy := c.Proxy(); proxy != nil {
				u, _ := proxy(&http.Request{URL: &url.URL{Scheme: scheme, Host: "any"}}) // No other is used.
				w.walk(reflect.ValueOf(u), false)
			}
		}
	case promconfig.BasicAuth:
		if c.Password != "" {
			w.texts = append(w.texts, c.Username+":"+string(c.Password))
		}
	case promconfig.Header:
		w.files, c.Files = append(w.files, c.Files...), nil
		v = reflect.ValueOf(c)
	}
	for field, value := range v.Fields() {
		// None of the keys of files ends otherwise.
		key, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		switch {
		case !field.IsExported():
		case value.Kind() == reflect.String && strings.HasSuffix(key, "_file"):
			w.files = append(w.files, value.String())
		default:
			w.walk(value, secret)
		}
	}
}

// address adds what may be secret in a text with a URL, such as a flag, or with what was meant as one.
func (w *walker) address(text string) {
	_, rest, found := strings.Cut(text, "://")
	u, err := url.Parse("//" + rest)
	if !found || err != nil {
		before := text[:max(strings.LastIndexByte(text, '@'), 0)]
		if user, password, ok := strings.Cut(before[strings.LastIndexByte(before, '/')+1:], ":"); ok {
			w.texts = append(w.texts, password, user+":"+password)
		}
		return
	}
	switch password, ok := u.User.Password(); {
	case ok:
		w.texts = append(w.texts, password, u.User.Username()+":"+password)
	case u.User != nil: // A token stands there alone.
		w.texts = append(w.texts, u.User.Username())
	}
	w.texts = append(w.texts, ofQuery(u.RawQuery)...)
}

// wordCharacters are the characters of words that pages contain anyway, such as the values of name[] and
// format in a query.
const wordCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_:.-/"

// ofQuery lists the parameters of a query with their values, and the values alone unless they look like
// words.
func ofQuery(query string) []string {
	all := strings.Split(query, "&")
	values, _ := url.ParseQuery(query) // An invalid part is skipped.
	for name, list := range values {
		for _, value := range list {
			all = append(all, name+"="+value)
			if len(value) >= minInData && strings.Trim(value, wordCharacters) != "" {
				all = append(all, value)
			}
		}
	}
	return all
}

// Elsewhere is what a configuration does not have, and clients with it send: what is in files, and what servers of
// tokens and programs give.
type Elsewhere struct {
	store *Store
	// headers are sent with credentials.
	headers []string
	// files are read by clients.
	files []string
}

// MaxFile is the size of the largest file with certificates or a secret.
const MaxFile = 8 << 20

// Check returns an error if a file may have no end, such as a pipe, for which clients would wait for ever, or is so
// large that it is another one.
func (e Elsewhere) Check() error {
	for _, name := range e.files {
		info, err := os.Stat(name)
		if err != nil {
			continue // Its client says why.
		}
		if err = regular.Info(info); err == nil && info.Size() > MaxFile {
			err = errors.New("it is too large for a secret; name the right file")
		}
		if err != nil {
			return &fs.PathError{Op: "read", Path: name, Err: err}
		}
	}
	return nil
}

// Note notes the values of a header that is sent, if they are credentials: nobody can repeat them before.
func (e Elsewhere) Note(name string, values []string) {
	if slices.Contains(e.headers, http.CanonicalHeaderKey(name)) {
		e.store.Note(values...)
	}
}

// Checked returns a transport for clients that read the files for each request: they are checked before.
func (e Elsewhere) Checked(next http.RoundTripper) http.RoundTripper {
	if len(e.files) == 0 {
		return next
	}
	return checking{next, e}
}

type checking struct {
	http.RoundTripper

	Elsewhere
}

func (c checking) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	return c.RoundTripper.RoundTrip(r)
}

// Transport returns such a transport that notes credentials, too, when they are sent.
func (e Elsewhere) Transport(next http.RoundTripper) http.RoundTripper {
	return noting{e.Checked(next), e}
}

type noting struct {
	http.RoundTripper

	Elsewhere
}

func (n noting) RoundTrip(r *http.Request) (*http.Response, error) {
	trace := &httptrace.ClientTrace{WroteHeaderField: n.Note}
	return n.RoundTripper.RoundTrip(r.WithContext(httptrace.WithClientTrace(r.Context(), trace)))
}
