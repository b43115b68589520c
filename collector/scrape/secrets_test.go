package scrape_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	promconfig "github.com/prometheus/common/config"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape/lane"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// echo answers 500 with the whole request.
func echo(p *peer) {
	for req := p.request(); req != nil; req = p.request() {
		var output strings.Builder
		req.Header.Write(&output)
		user, password, _ := req.BasicAuth()
		fmt.Fprintf(&output, "user %s password %s", user, password)
		p.say(answer("500 Internal Server Error", "", output.String()))
	}
}

func TestRepeatedRequestsAreHiddenInErrors(t *testing.T) {
	encoded := base64.StdEncoding.EncodeToString([]byte("scraper:hunter2hunter2"))
	for name, change := range map[string]func(*scrape.Config){
		"basic_auth": func(c *scrape.Config) {
			c.BasicAuth = &promconfig.BasicAuth{Username: "scraper", Password: "hunter2hunter2"}
		},
		"http_headers": func(c *scrape.Config) {
			c.Headers = &promconfig.Headers{Headers: map[string]promconfig.Header{"Api-Key": {Secrets: []promconfig.Secret{"hunter2hunter2"}}}}
		},
	} {
		_, err := scrapeWithin(t, newClient(t, change), serve(t, nil, echo).url, ample)
		requireFailure(t, err, scrape.ReasonHTTPStatus, "500", "the server answered 500")
		require.NotContains(t, err.Error(), "hunter2", name)
		require.NotContains(t, err.Error(), encoded, name)
	}
}

// The query of a request is in no failure and on no page, except for words that pages
// contain anyway.
func TestQueryOfPageIsHidden(t *testing.T) {
	const query = "?token=hunter2hunter2&pin=a%26b12&format=prometheus&name[]=vllm:num_requests_running"
	for name, c := range map[string]struct {
		reply  string
		reason scrape.Reason
	}{
		"as a text": {answer("404 Not Found", "", "no page at /metrics"+query), scrape.ReasonHTTPStatus},
		"decoded":   {answer("404 Not Found", "", "no pin=a&b12, no hunter2hunter2"), scrape.ReasonHTTPStatus},
		"as a redirect": {
			answer("302 Found", "Location: /login?next=%2Fmetrics%3Ftoken%3Dhunter2hunter2%26pin%3Da%2526b12\r\n", ""),
			scrape.ReasonRedirect,
		},
		"as a type": {
			answer("200 OK", "Content-Type: text/html; from=/metrics"+query+"\r\n", page),
			scrape.ReasonContentType,
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := serve(t, nil, once(c.reply))
			_, err := scrapeWithin(t, newClient(t), server.url+query, ample)
			require.Error(t, err)
			require.Equal(t, c.reason, scrape.ReasonOf(err))
			for _, secret := range []string{"hunter2", "b12"} {
				require.NotContains(t, err.Error(), secret)
			}
		})
	}
	for _, c := range []struct {
		name, page, text string
		secret           bool
	}{
		{"in a label", "a{of=\"/metrics" + query + "\"} 1\n", "/metrics" + query, true},
		{"alone", "a{token=\"hunter2hunter2\"} 1\n", "hunter2hunter2", true},
		{"nothing but words", "vllm:num_requests_running 1\nprometheus_x 1\n", "prometheus_x", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := scrapeWithin(
				t,
				newClient(t),
				serve(t, nil, once(answer("200 OK", "", c.page))).url+query,
				ample,
			)
			require.NoError(t, err)
			require.Equal(t, c.secret, isSecret(&got, c.text))
		})
	}
}

// isSecret reports whether a text of a page must not be shown.
func isSecret(p *scrape.Page, text string) bool {
	secret := p.Secret()
	return secret != nil && secret(text)
}

// A secret is redacted however a server writes it, before it is cut or put into lower case.
func TestRepeatedSecretsAreHiddenInErrors(t *testing.T) {
	for _, secret := range []string{
		"hunter2hunter2",
		`hunter2"hunter2`,
		`hunter2\hunter2`, "hunter2<&>hunter2", "hunter2éhunter2", "Hunter2" + strings.Repeat("-hunter2", 20),
	} {
		quoted, err := json.Marshal("no access with " + secret)
		require.NoError(t, err)
		client := newClient(t, following, func(c *scrape.Config) {
			c.Authorization = &promconfig.Authorization{Credentials: promconfig.Secret(secret)}
		})
		for _, c := range []struct {
			name, reply string
			reason      scrape.Reason
		}{
			{"JSON", answer("401 Unauthorized", "", string(quoted)), scrape.ReasonHTTPStatus},
			{"a status line", "HTTP/1.1 " + secret + "\r\n\r\n", scrape.ReasonProtocol},
			{"no HTTP", "Bearer " + secret + "\r\n\r\n", scrape.ReasonProtocol},
			{"an encoding", answer("200 OK", "Content-Encoding: "+secret+"\r\n", page), scrape.ReasonDecompress},
			{
				"a content type",
				answer("200 OK", "Content-Type: text/html; Bearer "+secret+"\r\n", ""),
				scrape.ReasonContentType,
			},
			{
				"a content type of JSON",
				answer("200 OK", "Content-Type: application/"+secret+"+json\r\n", "{}"),
				scrape.ReasonContentType,
			},
			{
				"a content type of protobuf",
				answer("200 OK", "Content-Type: application/x-protobuf-"+secret+"\r\n", page),
				scrape.ReasonContentType,
			},
			{
				"a redirect",
				answer("302 Found", "Location: http://"+secret+".example/"+secret+"\r\n", ""),
				scrape.ReasonRedirect,
			},
			{"a kind of chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: " + secret + "\r\n\r\n", scrape.ReasonProtocol},
		} {
			_, err := scrapeWithin(t, client, serve(t, nil, once(c.reply)).url, ample)
			require.Equal(t, c.reason, scrape.ReasonOf(err), "%s as %s: %v", secret, c.name, err)
			require.NotContains(t, strings.ToLower(err.Error()), "hunter2", "%s as %s", secret, c.name)
		}
	}
}

// What a server sends may be as long as the limits allow, and errors stay on a screen.
func TestErrorsAreShort(t *testing.T) {
	client, long := newClient(t), strings.Repeat("x", 10_000)
	for name, reply := range map[string]string{
		"no HTTP":          long + "\r\n\r\n",
		"a length":         "HTTP/1.1 200 OK\r\nContent-Length: " + long + "\r\n\r\n",
		"a kind of chunks": "HTTP/1.1 200 OK\r\nTransfer-Encoding: " + long + "\r\n\r\n",
	} {
		_, err := scrapeWithin(t, client, serve(t, nil, once(reply)).url, ample)
		require.Error(t, err, name)
		require.Less(t, len(err.Error()), len(long)/4, name)
	}
}

func TestRepeatedSecretsAreHiddenOnPages(t *testing.T) {
	const secret, number = "hunter2hunter2", "1234567890"
	client := newClient(t, func(c *scrape.Config) {
		c.Authorization = &promconfig.Authorization{Type: "Bearer", Credentials: secret}
		c.Headers = &promconfig.Headers{Headers: map[string]promconfig.Header{
			"X-Tenant": {Values: []string{"llama-70b"}},
			"X-Key":    {Secrets: []promconfig.Secret{`quoted"and\secret`}},
			"X-Pin":    {Secrets: []promconfig.Secret{number}},
		}}
	})
	for _, c := range []struct {
		name, page, text string
		secret           bool
	}{
		{"the credential in a label", `a{b="` + secret + `"} 1`, "of " + secret, true},
		{"the whole header in HELP", "# HELP a Bearer " + secret + "\na 1", "Bearer " + secret, true},
		{"a header in a label, escaped", `a{b="quoted\"and\\secret"} 1`, `quoted"and\secret`, true},
		{"a header in HELP, escaped", `# HELP a quoted"and\\secret` + "\na 1", `quoted"and\secret`, true},
		{"a line break in a label", "a{b=\"hunter2\nhunter2\"} 1", "hunter2\nhunter2", true},
		{"a line break in HELP, escaped", `# HELP a hunter2\nhunter2` + "\na 1", "hunter2\nhunter2", true},
		{"a number", `a{pin="` + number + `"} 1`, number, true},
		{"a header that is not a secret", `a{b="llama-70b"} 1`, "llama-70b", false},
		{"nothing of it", "a 1", "a", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := serve(t, nil, once(answer("200 OK", "", c.page+"\n")))
			got, err := scrapeWithin(t, client, server.url, ample)
			require.NoError(t, err)
			require.Equal(t, c.secret, isSecret(&got, c.text))
			require.Equal(t, c.page+"\n", string(got.Body), "the next page is compared with this one")
		})
	}
}

func TestPageOfLaneShowsNoQuery(t *testing.T) {
	const query = "?token=Hunter2Hunter2"
	f := scrape.Fetcher{Fetched: scrape.Fetched{Server: scrape.Server{URL: "http://127.0.0.1:1/metrics" + query}}}
	got := f.Fetch(t.Context(), &lane.Answer{Body: []byte(page), ContentType: "application/" + query + "+json"})
	requireFailure(t, got.Err, scrape.ReasonContentType, "", "the response is JSON")
	require.NotContains(t, strings.ToLower(got.Err.Error()), "hunter2")

	got = f.Fetch(t.Context(), &lane.Answer{Body: []byte("a{b=\"" + query + "\"} 1\n")})
	require.NoError(t, got.Err)
	require.True(t, isSecret(&got.Page, query), "the page repeats the query")
}

func TestRepeatedSecretsAreHiddenInAnswers(t *testing.T) {
	const secret, number = "hunter2hunter2", "1234567890"
	client := newClient(t, func(c *scrape.Config) {
		c.Authorization = &promconfig.Authorization{Type: "Bearer", Credentials: secret}
		c.Headers = &promconfig.Headers{Headers: map[string]promconfig.Header{
			"X-Tenant": {Values: []string{"llama-70b"}},
			"X-Key":    {Secrets: []promconfig.Secret{`quoted"secret`}},
			"X-Pin":    {Secrets: []promconfig.Secret{number}},
		}}
	})
	for _, c := range []struct{ name, answer, want string }{
		{"a string", `{"version":"` + secret + `","n":1}`, `{"version":"<secret>","n":1}`},
		{"a part of one", `["no ` + secret + `, no Bearer ` + secret + `"]`, `["no <secret>, no <secret>"]`},
		{"a key", `{"` + secret + `":1}`, `{"<secret>":1}`},
		{"escaped", `["quoted\"secret"]`, `["<secret>"]`},
		{"no JSON", "no access for quoted\"secret", "no access for <secret>"},
		{"a number in quotes", `["\"", "pin ` + number + `"]`, `["\"", "pin <secret>"]`},
		{"a number of the server", `["x", ` + number + `, 5` + number + `]`, `["x", ` + number + `, 5` + number + `]`},
		{"a header that is not a secret", `["llama-70b"]`, `["llama-70b"]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := serve(t, nil, once(answer("200 OK", "", c.answer)))
			status, _, got, err := client.Do(t.Context(), http.MethodGet, server.url, nil, 0)
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, status)
			require.Equal(t, c.want, string(got))
		})
	}
}

// The parser's errors may quote a page, and its content type.
func TestFailureOfPageShowsNoSecret(t *testing.T) {
	const secret = "hunter2hunter2"
	client := newClient(t, func(c *scrape.Config) {
		c.Authorization = &promconfig.Authorization{Type: "Bearer", Credentials: secret}
	})
	server := serve(t, nil, once(answer("200 OK", "Content-Type: image/"+secret+"\r\n", page)))
	got, err := scrapeWithin(t, client, server.url, ample)
	require.NoError(t, err)
	failure := got.Failure(scrape.ReasonContentType, fmt.Errorf("unsupported content type %q", got.ContentType))
	require.Equal(t, `content_type: unsupported content type "image/<secret>"`, failure.Error())
	require.ErrorIs(t, got.Failure(scrape.ReasonParse, io.ErrUnexpectedEOF), io.ErrUnexpectedEOF)
}

func TestSecretAcrossEndOfQuoteIsHidden(t *testing.T) {
	const secret = "hunter2-hunter2-hunter2-hunter2"
	set := func(c *scrape.Config) { c.Authorization = &promconfig.Authorization{Credentials: secret} }
	for shift := range len(secret) {
		body := strings.Repeat("x", 200-shift) + secret + strings.Repeat(secret, 200)
		server := serve(t, nil, once(answer("403 Forbidden", "", body)))
		_, err := scrapeWithin(t, newClient(t, set), server.url, ample)
		requireFailure(t, err, scrape.ReasonHTTPStatus, "403", "check basic_auth")
		require.NotContains(t, err.Error(), "hunt")
		require.Less(t, len(err.Error()), 400)
	}
}

// A file with a credential may be a pipe that nobody writes, a device without end, or another file. The scrape fails.
func TestCredentialFilesWithoutEnd(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	large := filepath.Join(t.TempDir(), "large")
	require.NoError(t, os.WriteFile(large, nil, 0o600))
	require.NoError(t, os.Truncate(large, 1<<40))
	server := serve(t, nil, replies(answer("200 OK", "", page)))
	for file, text := range map[string]string{pipe: "pipe", "/dev/zero": "device", large: "too large"} {
		for _, set := range []func(*scrape.Config){
			func(c *scrape.Config) {
				c.Authorization = &promconfig.Authorization{CredentialsFile: file}
			},
			func(c *scrape.Config) {
				c.Headers = &promconfig.Headers{Headers: map[string]promconfig.Header{"X-Key": {Files: []string{file}}}}
			},
		} {
			_, err := scrapeWithin(t, newClient(t, set), server.url, hang)
			requireFailure(t, err, scrape.ReasonResource, "", text)
		}
	}
}

func TestURLCredentialsAreSentAndHidden(t *testing.T) {
	server := serve(t, nil, echo)
	with := func(address string) string {
		return strings.Replace(address, "http://", "http://scraper:hunter2hunter2@", 1) + "?key=1"
	}
	_, err := scrapeWithin(t, newClient(t), with(server.url), ample)
	requireFailure(t, err, scrape.ReasonHTTPStatus, "500", "the server answered 500")
	require.NotContains(t, err.Error(), "hunter2")
	user, password, _ := server.requests()[0].BasicAuth()
	require.Equal(t, "scraper hunter2hunter2", user+" "+password)

	closed := serve(t, nil, (*peer).reset)
	_, err = scrapeWithin(t, newClient(t), with(closed.url), ample)
	requireFailure(t, err, scrape.ReasonReset, "", "it may be restarting")
	require.NotContains(t, err.Error(), "hunter2")
}

func TestCredentialFilesAreReadAtEachScrape(t *testing.T) {
	server := serve(t, nil, replies(answer("200 OK", "", page)))
	file := filepath.Join(t.TempDir(), "token")
	client := newClient(t, func(c *scrape.Config) {
		c.Authorization = &promconfig.Authorization{CredentialsFile: file}
	})
	_, err := scrapeWithin(t, client, server.url, ample)
	requireFailure(t, err, scrape.ReasonResource, "", "make the configured file readable")
	for _, text := range []string{"first", "second"} {
		write(t, file, text+"\n")
		_, err := scrapeWithin(t, client, server.url, ample)
		require.NoError(t, err)
	}
	require.Equal(t, "Bearer first", server.requests()[0].Header.Get("Authorization"))
	require.Equal(t, "Bearer second", server.requests()[1].Header.Get("Authorization"))
}

func TestConfigPrintsNoSecret(t *testing.T) {
	var cfg scrape.Config
	require.NoError(t, yaml.Unmarshal([]byte(`
basic_auth: {username: scraper, password: hunter2}
oauth2: {client_id: id, client_secret: hunter2, token_url: "http://x/token"}
http_headers: {X-Key: {secrets: [hunter2]}}
proxy_url: http://user:hunter2@proxy:3128
proxy_connect_header: {Proxy-Authorization: [hunter2]}
tls_config: {key: hunter2, cert: x}
`), &cfg))
	text, err := yaml.Marshal(cfg)
	require.NoError(t, err)
	require.NotContains(t, string(text), "hunter2")
	require.Contains(t, string(text), "<secret>")
}

// tokenServer issues a new token at each request.
func tokenServer(p *peer) {
	for n := 1; ; n++ {
		req := p.request()
		if req == nil {
			return
		}
		body, _ := io.ReadAll(req.Body)
		_, secret, _ := req.BasicAuth()
		form, _ := url.ParseQuery(string(body))
		switch {
		case secret == "" && form.Get("client_secret") == "":
			p.say(
				answer(
					"401 Unauthorized",
					"Content-Type: application/json\r\n",
					`{"error":"invalid_client","error_description":"hunter2"}`,
				),
			)
		case form.Get("audience") != "triton":
			p.say(answer("400 Bad Request", "", "hunter2"))
		default:
			p.say(
				answer(
					"200 OK",
					"Content-Type: application/json\r\n",
					fmt.Sprintf(`{"access_token":"token-%s-%d","token_type":"Bearer","expires_in":3600}`, secret, n),
				),
			)
		}
	}
}

func TestOAuth2TokenIsRequestedOnce(t *testing.T) {
	login := serve(t, nil, tokenServer)
	server := serve(t, nil, replies(answer("200 OK", "", page)))
	client := newClient(t, func(c *scrape.Config) {
		c.OAuth2 = &promconfig.OAuth2{
			ClientID:       "id",
			ClientSecret:   "s3cret",
			TokenURL:       login.url,
			EndpointParams: map[string]string{"audience": "triton"},
		}
	})
	for range 3 {
		_, err := scrapeWithin(t, client, server.url, ample)
		require.NoError(t, err)
	}
	require.Len(t, login.requests(), 1)
	for _, req := range server.requests() {
		require.Equal(t, "Bearer token-s3cret-1", req.Header.Get("Authorization"))
	}
}

func TestOAuth2FaultReasons(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name    string
		script  func(*peer)
		timeout time.Duration
		reason  scrape.Reason
		text    string
	}{
		{
			"refused", tokenServer, ample, scrape.ReasonHTTPStatus,
			`oauth2.token_url answered 401, error "invalid_client"; check client_id`,
		},
		{"hangs", (*peer).wait, hang, scrape.ReasonTimeout, "raise scrape_timeout"},
		{"closes", (*peer).reset, ample, scrape.ReasonReset, "oauth2.token_url: "},
		{
			"repeats the secret",
			replies(
				answer(
					"400 Bad Request",
					"Content-Type: application/json\r\n",
					`{"error":"no client has hunter2hunter2"}`,
				),
			),
			ample, scrape.ReasonHTTPStatus, `error "no client has <secret>"`,
		},
		{
			"redirects",
			replies(answer("302 Found", "Location: /x\r\n", "")),
			ample, scrape.ReasonHTTPStatus, "oauth2.token_url answered 302",
		},
		{
			"says nothing of use",
			replies(answer("200 OK", "Content-Type: application/json\r\n", "{}")),
			ample, scrape.ReasonProtocol, "oauth2",
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			login := serve(t, nil, c.script)
			server := serve(t, nil, replies(answer("200 OK", "", page)))
			client := newClient(t, func(cfg *scrape.Config) {
				cfg.OAuth2 = &promconfig.OAuth2{
					ClientID: "id",
					TokenURL: strings.Replace(login.url, "http://", "http://user:hunter2@", 1),
				}
				if c.name == "refused" {
					cfg.OAuth2.TokenURL = login.url
				}
				if c.name == "repeats the secret" {
					cfg.OAuth2.ClientSecret = "hunter2hunter2"
				}
			})
			_, err := scrapeWithin(t, client, server.url, c.timeout)
			requireFailure(t, err, c.reason, scrape.ClassLogin, c.text)
			require.NotContains(t, err.Error(), "hunter2")
			require.Empty(t, server.requests())
		})
	}
}

// What a server of tokens answers says nothing of the server of the page, which nobody asked.
func TestStatusOfLoginIsNotThatOfPage(t *testing.T) {
	for _, status := range []string{"400 Bad Request", "401 Unauthorized", "404 Not Found", "503 Unavailable"} {
		login := serve(t, nil, replies(answer(status, "Content-Type: application/json\r\n", `{"error":"invalid_client"}`)))
		server := serve(t, nil, replies(answer("200 OK", "", page)))
		f := scrape.Fetcher{
			Target:  &target.Target{Engine: "triton", MetricsURL: server.url, Timeout: ample},
			Scraper: newClient(t, func(c *scrape.Config) { c.OAuth2 = &promconfig.OAuth2{ClientID: "id", TokenURL: login.url} }),
			Fetched: scrape.Fetched{Server: scrape.NewServer(engine.BuiltIn(), "triton"), Start: time.Now()},
		}
		f.Server.URL = server.url
		got := f.Fetch(t.Context(), nil)
		requireFailure(t, got.Err, scrape.ReasonHTTPStatus, scrape.ClassLogin, "oauth2.token_url answered "+status[:3])
		require.Empty(t, server.requests())
	}
}

func TestHangingTokenEndsWithTimeout(t *testing.T) {
	t.Parallel()
	login := serve(t, nil, (*peer).wait)
	client := newClient(t, func(c *scrape.Config) {
		c.OAuth2 = &promconfig.OAuth2{ClientID: "id", TokenURL: login.url}
	})
	done := make(chan error)
	for range 20 {
		go func() {
			_, err := scrapeWithin(t, client, "http://127.0.0.1:1/metrics", hang)
			done <- err
		}()
	}
	for range 20 {
		requireFailure(t, <-done, scrape.ReasonTimeout, scrape.ClassLogin, "raise scrape_timeout")
	}
}

func TestUnverifiedCertificatesAreLogged(t *testing.T) {
	var out bytes.Buffer
	cfg := scrape.DefaultConfig
	cfg.TLS.InsecureSkipVerify = true
	client, err := scrape.New(cfg, slog.New(slog.NewTextHandler(&out, nil)))
	require.NoError(t, err)
	defer client.Close()
	require.Contains(t, out.String(), "Certificates of targets are not verified")
	server := serve(t, newAuthority(t).server(t, nil), once(answer("200 OK", "", page)))
	_, err = scrapeWithin(t, client, server.url, ample)
	require.NoError(t, err)
}
