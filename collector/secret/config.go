package secret

import (
	"net/url"
	"os"
	"reflect"
	"regexp"
	"strings"

	promconfig "github.com/prometheus/common/config"
	"gopkg.in/yaml.v3"
)

// AddConfig adds every secret of a configuration: values of type Secret, parameters that sound like one,
// and user, password and query of URLs. It returns the files with further ones.
func (s *Store) AddConfig(config any) Files {
	w := &walker{}
	w.walk(reflect.ValueOf(config), false)
	s.Add(w.texts...)
	files := Files{store: s, names: w.files}
	files.Read()
	return files
}

// AddArguments adds what may be secret in the URLs of a command line.
func (s *Store) AddArguments(args []string) {
	for _, arg := range args {
		if flag, value, found := strings.Cut(arg, "="); found && strings.HasPrefix(flag, "--") {
			arg = value
		}
		s.AddConfig(arg)
	}
}

// Sounds reports whether a header or parameter of that name is treated as a secret.
func Sounds(name string) bool { return secretName.MatchString(name) }

var secretName = regexp.MustCompile(`(?i)auth|cookie|cred|key|pass|secret|token`)

// walker collects the secrets of a configuration.
type walker struct{ texts, files []string }

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
			w.walk(pairs.Value(), secret || Sounds(pairs.Key().String()))
		}
	case reflect.Struct:
		w.fields(v, secret)
	case reflect.String:
		w.text(v, secret)
	}
}

func (w *walker) text(v reflect.Value, secret bool) {
	switch text := v.String(); {
	case text == "":
	case secret, v.Type() == reflect.TypeFor[promconfig.Secret]():
		w.texts = append(w.texts, header(text)...)
	case strings.Contains(text, "://"):
		if u, err := url.Parse(text); err == nil {
			w.address(u)
		}
	}
}

func (w *walker) fields(v reflect.Value, secret bool) {
	switch c := v.Interface().(type) {
	case promconfig.TLSConfig: // Nobody is sent a key.
		return
	case url.URL:
		w.address(&c)
		return
	case promconfig.BasicAuth:
		w.texts = append(w.texts, c.Username+":"+string(c.Password))
	case promconfig.ProxyConfig:
		if c.ProxyFromEnvironment {
			for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
				w.text(reflect.ValueOf(os.Getenv(name)), false)
			}
		}
	case promconfig.Header:
		w.files = append(w.files, c.Files...)
		w.walk(reflect.ValueOf(c.Values), secret)
		w.walk(reflect.ValueOf(c.Secrets), secret)
		return
	}
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if !field.IsExported() {
			continue
		}
		if field.Type.Kind() == reflect.String && isFile(&field) {
			w.files = append(w.files, v.Field(i).String())
			continue
		}
		w.walk(v.Field(i), secret)
	}
}

// isFile reports whether a field names a file with a secret. None of their keys ends otherwise.
func isFile(field *reflect.StructField) bool {
	key, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
	return strings.HasSuffix(key, "_file")
}

// address adds what may be secret in a URL.
func (w *walker) address(u *url.URL) {
	if password, ok := u.User.Password(); ok {
		w.texts = append(w.texts, password, u.User.Username()+":"+password)
	}
	w.texts = append(w.texts, OfQuery(u.RawQuery)...)
}

// wordCharacters are the characters of words that pages contain anyway, such as the values of name[] and
// format in a query.
const wordCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_:.-/"

// OfQuery lists the parameters of a query with their values, and the values alone unless they look like
// words.
func OfQuery(query string) []string {
	if query == "" {
		return nil
	}
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
}

// Read notes what the files have now. One that is not an ordinary file, or far too large for a secret, is
// not read: it might never end.
func (f Files) Read() {
	for _, name := range f.names {
		info, err := os.Stat(name)
		if err != nil || !info.Mode().IsRegular() || info.Size() > 1<<20 {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		var kubeconfig yaml.Node
		if yaml.Unmarshal(text, &kubeconfig) == nil {
			f.document(&kubeconfig)
		}
		if len(text) <= maxLength {
			f.store.NoteHeader(strings.TrimSpace(string(text)))
		}
	}
}

// document notes the secrets of a YAML document, such as the tokens of a kubeconfig.
func (f Files) document(n *yaml.Node) {
	for i, child := range n.Content {
		if i%2 == 1 && n.Kind == yaml.MappingNode && child.Kind == yaml.ScalarNode && Sounds(n.Content[i-1].Value) {
			f.store.Note(child.Value)
		}
		f.document(child)
	}
}
