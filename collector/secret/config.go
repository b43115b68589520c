package secret

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"

	promconfig "github.com/prometheus/common/config"
	"gopkg.in/yaml.v3"

	"github.com/trtllm-exporter/trtllm_exporter/collector/regular"
)

// AddConfig adds every secret of a configuration or a command line: values of type Secret, parameters that
// sound like one, and user, password and query of URLs. It returns the files with further ones.
func (s *Store) AddConfig(config any) Files {
	var w walker
	w.walk(reflect.ValueOf(config), false)
	s.Add(w.texts...)
	files := Files{s, w.files, slices.Concat(w.unsent, w.files)}
	files.Read()
	return files
}

// Sounds reports whether a header or parameter of that name is treated as a secret.
func Sounds(name string) bool { return secretName.MatchString(name) }

var secretName = regexp.MustCompile(`(?i)auth|cookie|cred|key|pass|secret|token`)

// walker collects the secrets of a configuration, the names of files with some, and those of others, which are not
// sent.
type walker struct{ texts, files, unsent []string }

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
		w.unsent = append(w.unsent, c.CAFile, c.CertFile, c.KeyFile)
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

// Files are files with secrets, whose content may change.
type Files struct {
	store *Store
	names []string
	// read are all files that a client with the configuration reads.
	read []string
}

// Check returns an error if a file may have no end, such as a pipe, for which clients would wait for ever.
func (f Files) Check() error {
	for _, name := range f.read {
		if err := regular.File(name); errors.Is(err, regular.ErrNoEnd) {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// Read notes what the files have now: all of it, and what a document such as a kubeconfig has under names
// that sound like it. One that is not an ordinary file, or far too large for a secret, is not read: it might
// never end.
func (f Files) Read() {
	for _, name := range f.names {
		info, err := os.Stat(name)
		if err != nil || regular.Info(info) != nil || info.Size() > 1<<20 {
			continue
		}
		text, _ := os.ReadFile(name) // One that cannot be read is not sent.
		var w walker
		var document map[string]any
		if yaml.Unmarshal(text, &document) == nil {
			w.walk(reflect.ValueOf(document), false)
		}
		if len(text) <= maxLength {
			w.texts = append(w.texts, strings.TrimSpace(string(text)))
		}
		f.store.Note(w.texts...)
	}
}
