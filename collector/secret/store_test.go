package secret_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"

	promconfig "github.com/prometheus/common/config"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/trtllm-exporter/trtllm_exporter/collector/secret"
)

func storeOf(secrets ...string) *secret.Store {
	s := new(secret.Store)
	s.Add(secrets...)
	return s
}

func TestHide(t *testing.T) {
	s := storeOf("hunter2hunter2", `quo"ted\secret`, "pin4", "hünter2hünter2", "a%41b%20c", "~~~???>>>x", "0068-hunter", "a.b+/c")
	for _, c := range []struct{ name, text, want string }{
		{"nothing of it", "no such model: 100% of & \\ \\u00", "no such model: 100% of & \\ \\u00"},
		{"plain", "no hunter2hunter2, sorry", "no <secret>, sorry"},
		{"twice", "hunter2hunter2 hunter2hunter2", "<secret> <secret>"},
		{"in capitals, as the name of a header", "Hunter2HUNTER2: x", "<secret>: x"},
		{"a short one", "pin4 is wrong", "<secret> is wrong"},
		{"percent", "/%68unter2hunter%32?x", "/<secret>?x"},
		{"plain, as if it were escaped", `no \u0068-hunter, no %0068-hunter`, `no \u<secret>, no %<secret>`},
		{"twice percent", "%2568unter2hunter2", "<secret>"},
		{"JSON", `{"a":"\u0068unter2hunter2"}`, `{"a":"<secret>"}`},
		{"hexadecimal", `"\x68unter2hunter2"`, `"<secret>"`},
		{"HTML", "&#104;unter2hunter2 &amp;", "<secret> &amp;"},
		{"over a folded header", "hunter2\r\n hunter2 x", "<secret> x"},
		{"a line break in JSON", `hunter2\nhunter2 x`, "<secret> x"},
		{"base64", "aHVudGVyMmh1bnRlcjI= x", "<secret>I= x"},
		{"base64 behind something else", "QmVhcmVyIGh1bnRlcjJodW50ZXIy", "QmVhcmVyIG<secret>"},
		{"base64 of URLs", "fn5-Pz8_Pj4-eA fn5+Pz8/Pj4+eA", "<secret>A <secret>A"},
		{"hexadecimal as a whole", "68756E7465723268756e74657232", "<secret>"},
		{"hexadecimal in groups", "68 75 6e 74 65 72 32 68 75 6e 74 65 72 32", "<secret>"},
		{"octal", `\150unter2hunter\062`, "<secret>"},
		{"a character in braces", `\u{68}unter2hunter2 \u{`, "<secret> \\u{"},
		{"a character that needs no escape", `no hunter2\hunter2`, `no <secret>`},
		{"quotes", `no quo\"ted\\secret.`, "no <secret>."},
		{"quotes in quotes", `no quo\\\"ted\\\\secret.`, "no <secret>."},
		{"another alphabet", `h\u00fcnter2h\u00fcnter2`, "<secret>"},
		{"one that looks escaped", "a%41b%20c, aAb c", "<secret>, <secret>"},
		{"a truncated escape", `hunter2hunter2\u00`, `<secret>\u00`},
		{"as the name of a label", `m_a_b__c_x h_nter2h_nter2`, "m_<secret>_x <secret>"},
		{"behind a truncated escape", `\x4\u0068unter2hunter2 \u&#104;unter2hunter2`, `\x4<secret> \u<secret>`},
		{"an escape that is none", "%zz&nothing;\\q hunter2hunter2", "%zz&nothing;\\q <secret>"},
	} {
		require.Equal(t, c.want, s.Hide(c.text), c.name)
	}
	require.Equal(t, "model pin4", s.HideInData("model pin4"), "short words are on pages anyway")
}

func TestNothingIsHiddenWithoutSecrets(t *testing.T) {
	var none *secret.Store
	require.Equal(t, "any text", none.Hide("any text"))
	require.False(t, none.In([]byte("any text")), "without secrets no text has one")
	require.Equal(t, "any text", new(secret.Store).WithQuery("").Hide("any text"))
	require.Equal(t, "any <secret>", none.WithQuery("texts").Hide("any texts"))
}

func TestStartOfTextHasNoStartOfSecret(t *testing.T) {
	s := storeOf("hunter2hunter2")
	for size := range 40 {
		begins := s.ReadStart(strings.NewReader("no %68unter2hunter2, no hunter2hunter2, no "), size)
		require.NotContains(t, strings.ReplaceAll(begins, "%68", "h"), "hun")
	}
	require.Equal(t, "no <secret>", s.ReadStart(strings.NewReader("no hunter2hunter2, no hunter2hunter2"), 4))
	require.Equal(t, "no ", s.ReadStart(strings.NewReader("no hunter2hunter2"), 3))
	require.Equal(t, "no", s.ReadStart(strings.NewReader("no"), 3))
}

// TestShortSecretDoesNotTakeTheStartOfALongOne has a short secret, which stays in data, before a long one.
func TestShortSecretDoesNotTakeTheStartOfALongOne(t *testing.T) {
	var s secret.Store
	s.Add("user", "sergeant-pepper")
	require.Equal(t, "u<secret>", s.HideInData("usergeant-pepper"))
	require.Equal(t, "<secret>", s.Hide("usergeant-pepper"))
	require.True(t, s.In([]byte("name{label=\"usergeant-pepper\"} 1\n")))
}

func TestNumbersInAnswersStay(t *testing.T) {
	s := storeOf("1234567890")
	require.Equal(t,
		`["pin <secret>", 1234567890, "\"1", {"<secret>":1234567890}]`,
		string(s.HideInAnswer([]byte(`["pin 1234567890", 1234567890, "\"1", {"1234567890":1234567890}]`))))
}

func TestAnswersStayJSON(t *testing.T) {
	require.JSONEq(t, `{"a":"<secret>","b":"no <secret>"}`,
		string(storeOf(`"hunter2hunter2"`, "hunter2hunter2").HideInAnswer([]byte(`{"a":"hunter2hunter2","b":"no \"hunter2hunter2\""}`))))
}

func TestPageIsSearchedOverItsLines(t *testing.T) {
	s := storeOf("hunter2hunter2")
	for page, want := range map[string]bool{
		"a{b=\"hunter2\nhunter2\"} 1\n":     true,
		"# HELP a hunter2\\nhunter2\n":      true,
		"a{b=\"\\u0068unter2hunter2\"} 1\n": true,
		"a{b=\"\\u0068unter2\"} 1\n":        false,
	} {
		require.Equal(t, want, s.In([]byte(page)), page)
	}
}

func TestLatestOfManyTokensAreKnown(t *testing.T) {
	s := storeOf("configured")
	for i := range 2000 {
		s.Note(fmt.Sprintf("token-%06d", i))
	}
	require.Equal(t, "<secret> <secret> token-000001", s.Hide("configured token-001999 token-000001"))
}

func TestSecretsOfConfigurations(t *testing.T) {
	var c struct {
		Client promconfig.HTTPClientConfig `yaml:"client"`
		URL    string                      `yaml:"url"`
	}
	require.NoError(t, yaml.Unmarshal([]byte(`
client:
  basic_auth: {username: visible-user, password: hunter1hunter1}
  http_headers: {X-Key: {secrets: [hunter5hunter5]}, X-Tenant: {values: [visible-tenant]}, X-Token: {values: [hunter8hunter8]}}
  proxy_url: http://visible-user:hunter6hunter6@proxy:3128
  proxy_connect_header: {Proxy-Authorization: [Basic dXNyOmh1bnRlcjdodW50ZXI3]}
url: http://visible-host/sd?token=hunter0hunter0
`), &c))
	var tokens []promconfig.HTTPClientConfig
	require.NoError(t, yaml.Unmarshal([]byte(`
- authorization: {credentials: hunter2hunter2}
- oauth2: {client_id: visible-id, client_secret: hunter3hunter3, token_url: http://visible-host/, endpoint_params: {password: hunter4hunter4, audience: visible-audience}}
`), &tokens))
	s := new(secret.Store)
	s.AddConfig(&c)
	s.AddConfig(tokens)
	for i := range 9 {
		text := strings.Repeat(fmt.Sprintf("hunter%d", i), 2)
		require.NotContains(t, s.Hide("no "+text), text)
	}
	for _, text := range []string{
		"visible-user", "visible-id", "visible-audience", "visible-tenant", "visible-host",
	} {
		require.Equal(t, text, s.Hide(text))
	}
}

func TestSecretsOfCommandLines(t *testing.T) {
	s := new(secret.Store)
	s.AddConfig([]string{"top", "--target=http://a:hunter1hunter1@visible-host:1", "http://visible-host/?token=hunter2hunter2"})
	require.Equal(t, "top visible-host <secret> <secret>", s.Hide("top visible-host hunter1hunter1 hunter2hunter2"))
	s.AddConfig([]string{
		"http://hunter3hunter3@visible-host", "--target=http//u:hunter4hunter4@visible-host", "u:hunter5hunter5@visible-host:1",
		"http://u:hunter6hunter6%zz@visible-host", "--log.level=debug", "visible-name@visible-host",
	})
	require.Equal(t, "visible-host u visible-name debug <secret> <secret> <secret> <secret>",
		s.Hide("visible-host u visible-name debug hunter3hunter3 hunter4hunter4 hunter5hunter5 hunter6hunter6%zz"))
}

func TestSecretsOfProxiesInEnvironment(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://visible-user:hunter1hunter1@visible-host:1")
	t.Setenv("https_proxy", "visible-user:hunter2hunter2@visible-host:1") // It needs no scheme.
	s := new(secret.Store)
	s.AddConfig(promconfig.ProxyConfig{ProxyFromEnvironment: true})
	text := "visible-user visible-host hunter1hunter1 hunter2hunter2"
	require.Equal(t, "visible-user visible-host <secret> <secret>", s.Hide(text))
}

func TestUserWithoutPasswordIsNoSecret(t *testing.T) {
	s := new(secret.Store)
	s.AddConfig(&promconfig.BasicAuth{Username: "prometheus", PasswordFile: "/nothing"})
	require.Equal(t, "from prometheus: no such file", s.Hide("from prometheus: no such file"))
}

// TestWhatIsReadElsewhereIsKnownOnceItIsSent has credentials that change in files and come from servers of tokens.
func TestWhatIsReadElsewhereIsKnownOnceItIsSent(t *testing.T) {
	s := new(secret.Store)
	elsewhere := s.AddConfig(&promconfig.HTTPClientConfig{
		Authorization: &promconfig.Authorization{CredentialsFile: "token"},
		HTTPHeaders: &promconfig.Headers{Headers: map[string]promconfig.Header{
			"x-stored": {Files: []string{"header"}},
			"X-Tenant": {Values: []string{"visible-tenant"}},
		}},
	})
	elsewhere.Note("authorization", []string{"Bearer first-token"})
	elsewhere.Note("Authorization", []string{"Basic " + base64.StdEncoding.EncodeToString([]byte("visible-user:second-token"))})
	elsewhere.Note("X-Stored", []string{"third-token"})
	elsewhere.Note("X-Tenant", []string{"visible-tenant"})
	require.Equal(t, "<secret> <secret> <secret> visible-user visible-tenant",
		s.Hide("first-token second-token third-token visible-user visible-tenant"))
}

func TestLogHasNoSecret(t *testing.T) {
	for name, handler := range map[string]func(io.Writer) slog.Handler{
		"JSON":   func(w io.Writer) slog.Handler { return slog.NewJSONHandler(w, nil) },
		"logfmt": func(w io.Writer) slog.Handler { return slog.NewTextHandler(w, nil) },
	} {
		var out bytes.Buffer
		log := slog.New(handler(storeOf("hunter2", "20262026").Writer(&out)))
		log = log.With("a", "hunter2").WithGroup("g").With("b", errors.New("no hunter2"))
		log.Info("hunter2", "c", slog.GroupValue(slog.Any("d", []string{"hunter2"})), "n", 20262026)
		require.NotContains(t, out.String(), "hunter2", name)
		if name == "JSON" {
			require.True(t, json.Valid(out.Bytes()), out.String())
			require.Contains(t, out.String(), `"n":20262026`, "a number stays, since the line would be no JSON")
		}
	}
}

// FuzzHide requires that nothing is left of a secret, and all that is not one, however it is escaped.
func FuzzHide(f *testing.F) {
	for _, text := range []string{"%68%75nter2hunter2", `\u0068unter2hunter2`, "&#x68;unter2hunter2", `\\\\x68`, "% &;", "\\"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s := storeOf("hunter2hunter2")
		hidden := s.Hide(text)
		require.NotContains(t, hidden, "hunter2hunter2")
		require.Equal(t, hidden != text, s.In([]byte(strings.ReplaceAll(text, "\n", " "))))
		quoted, err := json.Marshal("no hunter2hunter2" + text)
		require.NoError(t, err)
		require.NotContains(t, s.Hide(string(quoted)), "hunter2hunter2")
	})
}
