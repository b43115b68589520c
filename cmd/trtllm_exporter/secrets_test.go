package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"log" //nolint:depguard // The test is about what net/http writes there.
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/secret"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
	"github.com/trtllm-exporter/trtllm_exporter/collector/web"
	"github.com/trtllm-exporter/trtllm_exporter/tools/fixture"
)

// parrot is a peer that repeats what it is sent, by a way and in a spelling that the test chooses: it may
// be a server, a proxy or a source of targets.
func parrot(t *testing.T, answer func(sent string) string) (address string) {
	t.Helper()
	return accepting(t, func(conn net.Conn) { repeat(conn, answer) })
}

// accepting returns the address of a peer that serves each connection on its own.
func accepting(t *testing.T, serve func(conn net.Conn)) (address string) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go serve(conn)
		}
	}()
	return l.Addr().String()
}

func repeat(conn net.Conn, answer func(sent string) string) {
	defer func() { _ = conn.Close() }()
	req, err := http.ReadRequest(bufio.NewReader(conn))
	if err != nil {
		return
	}
	body, _ := io.ReadAll(io.LimitReader(req.Body, 1<<10))
	form, _ := url.ParseQuery(string(body))
	sent := form.Get("client_secret")
	for _, name := range []string{"Authorization", "Proxy-Authorization", "X-Secret"} {
		value := req.Header.Get(name)
		if _, credential, found := strings.Cut(value, " "); found {
			value = credential
		}
		if pair, err := base64.StdEncoding.DecodeString(value); err == nil && bytes.Contains(pair, []byte(":")) {
			user, password, _ := strings.Cut(string(pair), ":")
			value = cmp.Or(password, user)
		}
		sent = max(sent, value)
	}
	if sent == "" { // On a busy machine some requests come before there are credentials.
		_, _ = io.WriteString(conn, reply("401 No", "", ""))
		return
	}
	_, _ = io.WriteString(conn, answer(sent))
}

func reply(status, header, body string) string {
	return fmt.Sprintf("HTTP/1.1 %s\r\n%sContent-Length: %d\r\nConnection: close\r\n\r\n%s", status, header, len(body), body)
}

// spellings are the ways in which a text may be written.
func spellings() map[string]func(string) string {
	each := func(format string) func(string) string {
		return func(text string) string {
			var out strings.Builder
			for _, b := range []byte(text) {
				fmt.Fprintf(&out, format, b)
			}
			return out.String()
		}
	}
	return map[string]func(string) string{
		"plain":          func(s string) string { return s },
		"upper":          strings.ToUpper,
		"base64":         func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
		"base64 of user": func(s string) string { return base64.StdEncoding.EncodeToString([]byte("usr:" + s)) },
		"percent":        each("%%%02x"),
		"JSON":           each(`\u%04x`),
		"hexadecimal":    each(`\x%02X`),
		"HTML":           each("&#%d;"),
		"in two parts":   func(s string) string { return s[:len(s)/2] + " " + s[len(s)/2:] },
		"quoted twice":   func(s string) string { return fmt.Sprintf("%q", fmt.Sprintf("%q", s)) },
	}
}

// ways are the places of an answer in which a text may stand.
func ways() map[string]func(string) string {
	page := func(line string) string { return reply("200 OK", "Content-Type: text/plain\r\n", line+"\n") }
	return map[string]func(string) string{
		"a status":           func(s string) string { return reply("403 who is "+s, "", "") },
		"a folded header":    func(s string) string { return reply("403 No", "X-A: "+s[:4]+"\r\n "+s[4:]+"\r\n", "") },
		"a broken header":    func(s string) string { return "HTTP/1.1 200 OK\r\n" + s + "\r\n\r\n" },
		"no HTTP":            func(s string) string { return s + "\r\n\r\n" },
		"a content type":     func(s string) string { return reply("200 OK", "Content-Type: text/html; x="+s+"\r\n", "x") },
		"a type of JSON":     func(s string) string { return reply("200 OK", "Content-Type: application/"+s+"+json\r\n", "x") },
		"an encoding":        func(s string) string { return reply("200 OK", "Content-Encoding: "+s+"\r\n", "x") },
		"a transfer":         func(s string) string { return reply("200 OK", "Transfer-Encoding: "+s+"\r\n", "x") },
		"a redirect":         func(s string) string { return reply("302 Found", "Location: http://x/"+url.PathEscape(s)+"\r\n", "") },
		"a host":             func(s string) string { return reply("302 Found", "Location: http://"+s+".x/\r\n", "") },
		"a body":             func(s string) string { return reply("500 No", "", "no "+s) },
		"an error":           func(s string) string { return reply("401 No", "", `{"error":"`+s+`","error_description":"`+s+`"}`) },
		"a value of a label": func(s string) string { return page("a{b=\"x " + strings.ReplaceAll(s, `"`, `\"`) + "\"} 1") },
		"HELP":               func(s string) string { return page("# HELP a " + s + "\na 1") },
		"a bad line":         func(s string) string { return page("a " + s) },
		"a target":           func(s string) string { return group(s+":80", "x") },
		"a label": func(s string) string {
			return group("127.0.0.1:1", s)
		},
		"a version": func(s string) string { return reply("200 OK", "", `{"version":"`+s+`"}`) },
		"a token": func(s string) string {
			return reply("200 OK", "Content-Type: application/json\r\n", `{"token_type":"`+s+`"}`)
		},
		"odd groups": func(s string) string { return reply("200 OK", "Content-Type: application/json\r\n", `[{"`+s+`":1}]`) },
	}
}

// group is an answer of a source with a target.
func group(address, label string) string {
	text, _ := json.Marshal([]any{map[string]any{"targets": []string{address}, "labels": map[string]string{"note": label}}})
	return reply("200 OK", "Content-Type: application/json\r\n", string(text))
}

// holders are the places of a pool that send a secret to a peer: its servers, proxies, and sources. Some get it
// from a file or from a server of tokens.
func holders(file, tokens string) map[string]func(peer, secret string) string {
	server := func(peer, more string) string {
		return more + "\n    static_configs: [{targets: [" + peer + "], labels: {replica_id: r}}]"
	}
	return map[string]func(peer, secret string) string{
		"authorization": func(peer, secret string) string { return server(peer, "authorization: {credentials: "+secret+"}") },
		"a file":        func(peer, _ string) string { return server(peer, "authorization: {credentials_file: "+file+"}") },
		"basic_auth": func(peer, secret string) string {
			return server(peer, "basic_auth: {username: usr, password: "+secret+"}")
		},
		"http_headers": func(peer, secret string) string {
			return server(peer, "http_headers: {X-Secret: {secrets: ["+secret+"]}}")
		},
		"proxy_url": func(peer, secret string) string {
			return server("127.0.0.9:443", "scheme: https\n    proxy_url: http://usr:"+secret+"@"+peer)
		},
		"proxy_url without a password": func(peer, secret string) string {
			return server("127.0.0.9:443", "scheme: https\n    proxy_url: http://"+secret+"@"+peer)
		},
		"proxy_connect_header": func(peer, secret string) string {
			return server("127.0.0.9:443", "scheme: https\n    proxy_url: http://"+peer+
				"\n    proxy_connect_header: {X-Secret: ["+secret+"]}")
		},
		"oauth2": func(peer, secret string) string {
			return server("127.0.0.1:1", "oauth2: {client_id: usr, client_secret: "+secret+", token_url: 'http://"+peer+"/t'}")
		},
		"http_sd_configs": func(peer, secret string) string {
			return "http_sd_configs: [{url: 'http://" + peer + "/', authorization: {credentials: " + secret + "}}]"
		},
		"oauth2 with a token": func(peer, _ string) string {
			return server(peer, "oauth2: {client_id: usr, client_secret: another, token_url: 'http://"+tokens+"/'}")
		},
		"http_sd_configs with a token": func(peer, _ string) string {
			return "http_sd_configs: [{url: 'http://" + peer + "/', oauth2: {client_id: usr, client_secret: another, " +
				"token_url: 'http://" + tokens + "/'}}]"
		},
		"http_sd_configs with a file": func(peer, _ string) string {
			return "http_sd_configs: [{url: 'http://" + peer + "/', basic_auth: {username: usr, password_file: " + file + "}}]"
		},
	}
}

// TestNoSecretLeaves has every peer repeat every secret by every way in every spelling, and looks for it
// behind every door.
func TestNoSecretLeaves(t *testing.T) {
	const text = "Zq81-xYk2_Tok3n"
	file := fileOf(t, text+"\n")
	var pools, some strings.Builder
	n := 0
	tokens := accepting(t, func(conn net.Conn) {
		defer func() { _ = conn.Close() }()
		if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
			_, _ = io.WriteString(conn, reply("200 OK", "Content-Type: application/json\r\n", `{"access_token":"`+text+`"}`))
		}
	})
	for holder, block := range holders(file, tokens) {
		for way, answer := range ways() {
			for spelling, spell := range spellings() {
				// What a file or a server gives is known as others are; the rest of its ways is theirs.
				if (strings.HasSuffix(holder, "a file") || strings.HasSuffix(holder, "a token")) && spelling != "plain" {
					continue
				}
				peer := parrot(t, func(sent string) string { return answer(spell(sent)) })
				pool := fmt.Sprintf("  - pool_id: %q\n    engine: triton\n    %s\n",
					holder+", "+way+", "+spelling, block(peer, text))
				pools.WriteString(pool)
				if spelling == "plain" && holder != "oauth2" {
					some.WriteString(pool)
				}
				n++
			}
		}
	}
	f, err := config.Parse("test.yml", []byte("pools:\n"+pools.String()))
	require.NoError(t, err)
	var logged fixture.Log
	secrets := new(secret.Store)
	logger := slog.New(slog.NewTextHandler(secrets.Writer(&logged), &slog.HandlerOptions{Level: slog.LevelDebug}))
	e, _ := runningWith(t, logger, secrets, web.Options{EnableLifecycle: true}, func() (*config.File, error) { return f, nil })
	require.Eventually(t, func() bool { return tried(e) }, waitsAtMost, 100*time.Millisecond)
	var doctor bytes.Buffer
	run([]string{"doctor", "--timeout=1s", "--config.file", fileOf(t, "pools:\n"+some.String())}, &doctor, &doctor)
	outputs := map[string]string{"the log": logged.String(), "doctor": doctor.String()}
	doors := []string{
		"/", "/targets", "/targets?format=json&dropped", "/targets?dropped", "/metrics", "/config", "/discovery",
		"/-/ready", "/?format=json",
	}
	for i, slot := range e.store.Slots() {
		if i%20 == 0 { // The others are on /targets.
			page := "/replica?target=" + url.QueryEscape(slot.Target().Key())
			doors = append(doors, page, page+"&format=json")
		}
	}
	for _, door := range doors {
		outputs[door] = bodyOf(t, "http://"+e.server.Addr()+door)
	}
	t.Logf("%d peers, %d doors", n, len(outputs))
	for door, output := range outputs {
		for spelling, spell := range spellings() {
			requireWithout(t, output, spell(text), door, spelling)
		}
		plain := strings.ToLower(strings.NewReplacer(" ", "", "\n", "").Replace(html.UnescapeString(output)))
		requireWithout(t, plain, strings.ToLower(text), door, "in any case")
	}
}

// A server may send more than it was asked for, which net/http reports in the standard log.
func TestStandardLogOfCommandsShowsNoSecret(t *testing.T) {
	// Z03.
	const text = "Zq81-xYk2_Tok3n"
	var standard fixture.Log
	log.SetOutput(&standard)
	address := accepting(t, func(conn net.Conn) {
		defer func() { _ = conn.Close() }()
		if _, err := http.ReadRequest(bufio.NewReader(conn)); err != nil {
			return
		}
		page := "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\na 1\n"
		_, _ = io.WriteString(conn, page)
		time.Sleep(10 * time.Millisecond) // Until the connection is idle.
		_, _ = io.WriteString(conn, text+"\r\n")
	})
	file := fileOf(t, "global: {scrape_interval: 1s}\npools:\n  - pool_id: a\n    engine: triton\n"+
		"    authorization: {credentials: "+text+"}\n"+
		"    static_configs: [{targets: ['"+address+"'], labels: {replica_id: r}}]\n")
	for _, args := range [][]string{{"doctor", "--timeout=1s"}, {"record", "--for=2s"}, {"top", "--once"}} {
		var out bytes.Buffer
		run(append(args, "--config.file", file), &out, &out)
		requireWithout(t, out.String()+standard.String(), text, args[0], "plain")
	}
}

// An exporter, or what answers in its place, may repeat what top sends to it.
func TestTopShowsNoSecret(t *testing.T) {
	const text = "Zq81-xYk2_Tok3n"
	file := fileOf(t, text+"\n")
	for way, answer := range map[string]func(string) string{
		"a status":           func(s string) string { return reply("403 who is "+s, "", "") },
		"a broken header":    func(s string) string { return "HTTP/1.1 200 OK\r\n" + s + "\r\n\r\n" },
		"the end of a quote": func(s string) string { return reply("500 No", "", strings.Repeat("x", 190)+s) },
		"a redirect":         func(s string) string { return reply("302 Found", "Location: http ://"+s+"/\r\n", "") },
	} {
		address := parrot(t, answer)
		for _, args := range [][]string{
			{"http://usr:" + text + "@" + address},
			{"usr:" + text + "@" + address},
			{"--token-file=" + file, address},
			{"--user=usr", "--password-file=" + file, address},
		} {
			var out bytes.Buffer
			require.NotZero(t, run(append([]string{"top", "--once"}, args...), &out, &out))
			requireWithout(t, out.String(), text[:8], way, args[0])
		}
	}
}

func requireWithout(t *testing.T, output, text, door, spelling string) {
	t.Helper()
	if at := strings.Index(output, text); at >= 0 {
		require.Fail(t, "A secret leaves", "%s, %s: %q", door, spelling, output[max(0, at-300):min(len(output), at+100)])
	}
}

// tried reports whether every target was scraped, or has an answer of its source.
func tried(e *exporter) bool {
	slots := e.store.Slots()
	for _, slot := range slots {
		if slot.Status().Scrapes == 0 {
			return false
		}
	}
	for _, search := range e.collector.Searches() {
		if slices.ContainsFunc(search.Sources, func(s target.Source) bool { return s.LastSuccess.IsZero() && s.LastError == "" }) {
			return false
		}
	}
	return len(slots) > 0
}

// bodyOf returns the answer to a request. A machine that is too busy may have none at first.
func bodyOf(t *testing.T, address string) (body string) {
	t.Helper()
	require.Eventually(t, func() bool {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
		require.NoError(t, err)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return false
		}
		defer func() { _ = resp.Body.Close() }()
		text, err := io.ReadAll(resp.Body)
		body = string(text)
		return err == nil
	}, waitsAtMost, time.Millisecond, address)
	return body
}
