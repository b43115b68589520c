//go:build linux

package scrape_test

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	promconfig "github.com/prometheus/common/config"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape/lane"
	"github.com/trtllm-exporter/trtllm_exporter/tools/fixture"
)

// got is the result of a lane.
type got struct {
	body, contentType string
	ok                bool
	duration          time.Duration
}

// ask sends one request over a lane; it reports false when the lane cannot be used.
func ask(l *lane.Lane) (answer got, used bool) {
	b := lane.Batch{Timeout: ample}
	used = b.Add(l, func(a lane.Answer, ok bool) { answer = got{string(a.Body), a.ContentType, ok, a.Duration} })
	b.Run()
	return answer, used
}

// pageLane returns a lane to a page.
func pageLane(t *testing.T, c *scrape.Client, address string, timeout time.Duration) *lane.Lane {
	t.Helper()
	l := c.PageLane(address, timeout)
	require.NotNil(t, l)
	t.Cleanup(l.Close)
	return l
}

func TestLaneRequestsMatchNetHTTP(t *testing.T) {
	t.Parallel()
	client := newClient(t)
	server := serve(t, nil, replies(answer("200 OK", "Content-Type: text/plain\r\n", page)))
	l := pageLane(t, client, server.url, ample)
	for range 5 {
		got, used := ask(l)
		require.True(t, used, "the lane is used")
		require.True(t, got.ok, "the lane has an answer")
		require.Equal(t, page, got.body)
		require.Equal(t, "text/plain", got.contentType)
		require.Positive(t, got.duration)
		require.EqualValues(t, 1, scrape.Used(client))
	}
	require.EqualValues(t, 1, server.conns.Load(), "the connection is kept")
	fast := server.requests()
	_, err := scrapeWithin(t, client, server.url, ample)
	require.NoError(t, err)
	plain := server.requests()[len(fast)]
	for _, req := range fast {
		require.Equal(t, plain.Header, req.Header)
		require.Equal(t, []string{
			plain.Method, plain.Host, plain.RequestURI, plain.Proto,
		}, []string{req.Method, req.Host, req.RequestURI, req.Proto})
	}
}

func TestLaneWithoutKeepAliveReconnects(t *testing.T) {
	t.Parallel()
	server := serve(t, nil, replies(answer("200 OK", "", "")))
	for keep, conns := range map[bool]int64{true: 1, false: 3} {
		client := newClient(t)
		before := server.conns.Load()
		l := client.QuestionLane(server.url, keep)
		t.Cleanup(l.Close)
		for range 3 {
			got, used := ask(l)
			require.True(t, used && got.ok, "used %t, answered %t", used, got.ok)
			require.Equal(t, keep, scrape.Used(client) == 1)
		}
		require.Equal(t, conns, server.conns.Load()-before)
	}
}

// All but the plainest responses are left to net/http, and the lane is not used for a while.
func TestLaneAcceptsPlainAnswersOnly(t *testing.T) {
	t.Parallel()
	cut := "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + page
	for _, c := range []struct {
		name, text string
		ok         bool
	}{
		{"a page", answer("200 OK", "", page), true},
		{"a page of a server that closes the connection", answer("200 OK", "Connection: close\r\n", page), true},
		{"headers in any case", "HTTP/1.1 200\r\ncontent-LENGTH:2\r\n\r\na\n", true},
		{"an empty page", answer("200 OK", "", ""), true},
		{"another status", answer("503 Service Unavailable", "", page), false},
		{"a page of a cache", answer("200 OK", "Age: 3\r\n", page), false},
		{"a redirect", answer("302 Found", "Location: /other\r\n", ""), false},
		{"HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", false},
		{"chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", false},
		{"chunks and a length", answer("200 OK", "Transfer-Encoding: chunked\r\n", "0\r\n\r\n"), false},
		{"a compressed page", answer("200 OK", "Content-Encoding: gzip\r\n", page), false},
		{"a first answer before the last", "HTTP/1.1 100 Continue\r\n\r\n" + answer("200 OK", "", page), false},
		{"early hints", "HTTP/1.1 103 Early Hints\r\n\r\n" + answer("200 OK", "", page), false},
		{"no length", "HTTP/1.1 200 OK\r\n\r\n" + page, false},
		{"two lengths", answer("200 OK", "Content-Length: 3\r\n", page), false},
		{"the same length twice", answer("200 OK", fmt.Sprintf("Content-Length: %d\r\n", len(page)), page), false},
		{"a length with a sign", "HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\na\n", false},
		{"an invalid length", "HTTP/1.1 200 OK\r\nContent-Length: 0x2\r\n\r\na\n", false},
		{"a folded header", answer("200 OK", "A: b\r\n c\r\n", page), false},
		{"a header without a name", answer("200 OK", ": b\r\n", page), false},
		{"a space before a colon", answer("200 OK", "A : b\r\n", page), false},
		{"lines that end with LF", "HTTP/1.1 200 OK\nContent-Length: 2\n\na\n", false},
		{"more than it announced", answer("200 OK", "", page) + "nv_inference_count 8\n", false},
		{"two answers to one question", answer("200 OK", "", page) + answer("200 OK", "", page), false},
		{"an end within the body", cut, false},
		{"an end within the head", cut[:30], false},
		{"an end at once", "", false},
		{"a head without end", "HTTP/1.1 200 OK\r\n" + strings.Repeat("A: b\r\n", 10000), false},
		{"a page over the limit", answer("200 OK", "", strings.Repeat(page, 10)), false},
		{"no HTTP", "SSH-2.0-OpenSSH_9.6\r\n", false},
		{"headers within the limit", answer("200 OK", "A: "+strings.Repeat("x", 900)+"\r\n", page), true},
		{"headers over the limit", answer("200 OK", "A: "+strings.Repeat("x", 1100)+"\r\n", page), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			client := newClient(t, func(c *scrape.Config) { c.Limits.Headers, c.Limits.Body = 1024, 1024 })
			server := serve(t, nil, once(c.text))
			l := pageLane(t, client, server.url, ample)
			got, used := ask(l)
			require.True(t, used, "the lane is used")
			require.Equal(t, c.ok, got.ok)
			if c.ok {
				same, err := scrapeWithin(t, client, server.url, ample)
				require.NoError(t, err)
				require.Equal(t, string(same.Body), got.body)
				require.Equal(t, same.ContentType, got.contentType)
				return
			}
			require.Empty(t, got.body)
			require.Zero(t, scrape.Used(client))
			got, _ = ask(l)
			require.False(t, got.ok, "the lane has no answer")
			_, used = ask(l)
			require.False(t, used, "it rests")
			require.EqualValues(t, 2, server.conns.Load())
		})
	}
}

// A kept connection with unexpected data is not used again, and one that the server closed is
// replaced; neither loses a response.
func TestIdleConnectionIsCheckedBeforeReuse(t *testing.T) {
	t.Parallel()
	good := answer("200 OK", "", page)
	for name, then := range map[string]func(*peer){
		"unexpected data from the server": func(p *peer) { p.say(answer("200 OK", "", "another 1\n")) },
		"the server closes":               func(p *peer) { p.Close() },
		"the server resets":               (*peer).reset,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := newClient(t)
			after, done := make(chan struct{}), make(chan struct{})
			server := serve(t, nil, func(p *peer) {
				if p.request() == nil || !p.say(good) {
					return
				}
				if p.number == 1 {
					<-after
					then(p)
					close(done)
					p.wait()
					return
				}
				replies(good)(p)
			})
			l := pageLane(t, client, server.url, ample)
			got, _ := ask(l)
			require.True(t, got.ok, "the lane has an answer")
			close(after)
			<-done
			got, used := ask(l)
			require.True(t, used && got.ok, "used %t, answered %t", used, got.ok)
			require.Equal(t, page, got.body)
			require.EqualValues(t, 2, server.conns.Load())
		})
	}
}

func TestSlowTargetDelaysNoOther(t *testing.T) {
	t.Parallel()
	shared := scrape.Bounded(1<<20, 10)
	client := sharing(t, shared)
	text := answer("200 OK", "", page)
	answered := make(chan struct{})
	leaves := func(p *peer) {
		select {
		case <-answered:
		case <-p.closed.Done():
		}
	}
	slow := serve(t, nil, func(p *peer) {
		p.request()
		p.say(text[:50])
		leaves(p)
	})
	quick, mute := serve(t, nil, replies(text)), serve(t, nil, leaves)
	b := lane.Batch{Timeout: ample}
	all := []struct {
		name string
		lane *lane.Lane
		ok   bool
	}{
		{"slow", pageLane(t, client, slow.url, ample), false},
		{"mute", pageLane(t, client, mute.url, ample), false},
		{"quick", pageLane(t, client, quick.url, ample), true},
	}
	for round := range 2 {
		var order []string
		for _, s := range all {
			require.True(t, b.Add(s.lane, func(a lane.Answer, ok bool) {
				order = append(order, s.name)
				require.Equal(t, s.ok, ok, s.name)
				require.Equal(t, ok, string(a.Body) == page)
				if round == 1 {
					_, used := ask(s.lane)
					require.Equal(t, s.ok, used, "it rests")
				}
				if s.ok { // The others need not wait for their time.
					answered <- struct{}{}
					answered <- struct{}{}
				}
			}), "one late answer alone is no reason to rest")
		}
		b.Run()
		require.Len(t, order, len(all))
		require.Equal(t, "quick", order[0])
	}
	late, ended := lane.Batch{Timeout: hang}, false
	require.True(t, late.Add(pageLane(t, client, mute.url, ample), func(_ lane.Answer, ok bool) { ended = !ok }), "it is new")
	late.Run()
	require.True(t, ended, "a batch waits no longer than its time")
	require.EqualValues(t, 1, shared.Connections().Used, "a slow connection is not kept")
}

func TestRequestsWithoutLane(t *testing.T) {
	t.Parallel()
	const address = "http://127.0.0.1:8002/metrics"
	for name, c := range map[string]struct {
		url    string
		change func(*scrape.Config)
	}{
		"TLS":              {"https://127.0.0.1:8002/metrics", nil},
		"a name":           {"http://localhost:8002/metrics", nil},
		"a user":           {"http://user:secret@127.0.0.1:8002/metrics", nil},
		"gRPC":             {"grpc://127.0.0.1:8002/v2/health/ready", nil},
		"a denied address": {"http://169.254.169.254/metrics", nil},
		"a zone":           {"http://[fe80::1%25eth0]:8002/metrics", func(c *scrape.Config) { c.Dial.Deny = nil }},
		"an invalid URL":   {"http://%zz/", nil},
		"a proxy": {address, func(c *scrape.Config) {
			c.Proxy.ProxyURL = promconfig.URL{URL: &url.URL{Scheme: "http", Host: "127.0.0.1:3128"}}
		}},
		"a proxy of the shell": {address, func(c *scrape.Config) { c.Proxy.ProxyFromEnvironment = true }},
		"a password": {
			address,
			func(c *scrape.Config) { c.BasicAuth = &promconfig.BasicAuth{Username: "u", Password: "p"} },
		},
		"a token": {
			address,
			func(c *scrape.Config) { c.Authorization = &promconfig.Authorization{Type: "Bearer", Credentials: "t"} },
		},
		"headers": {address, func(c *scrape.Config) {
			c.Headers = &promconfig.Headers{Headers: map[string]promconfig.Header{"X": {Values: []string{"y"}}}}
		}},
	} {
		var changes []func(*scrape.Config)
		if c.change != nil {
			changes = append(changes, c.change)
		}
		client := newClient(t, changes...)
		require.Nil(t, client.PageLane(c.url, time.Second), name)
		require.Nil(t, client.QuestionLane(c.url, true), name)
	}
}

func TestLanesRespectConnectionLimit(t *testing.T) {
	t.Parallel()
	shared := scrape.Bounded(1<<20, 2)
	client := sharing(t, shared)
	server := serve(t, nil, replies(answer("200 OK", "", page)))
	lanes := []*lane.Lane{
		pageLane(t, client, server.url, ample), pageLane(t, client, server.url, ample),
		pageLane(t, client, server.url, ample),
	}
	for i, l := range lanes {
		got, used := ask(l)
		require.Equal(t, i < 2, used)
		require.Equal(t, i < 2, got.ok)
	}
	require.EqualValues(t, 2, shared.Connections().Used)
	_, err := scrapeWithin(t, client, server.url, ample)
	require.NoError(t, err, "kept connections give way to whoever needs one")
	require.LessOrEqual(t, shared.Connections().Used, int64(2))
	for _, l := range lanes {
		l.Close()
		_, used := ask(l)
		require.False(t, used, "it is closed")
	}
	client.Close()
	require.Eventually(t, func() bool { return shared.Connections().Used == 0 }, ample, 10*time.Millisecond)
}

func TestLaneToRefusingPortFallsBackToNetHTTP(t *testing.T) {
	t.Parallel()
	client := newClient(t)
	got, _ := ask(pageLane(t, client, "http://"+fixture.FreeAddress(t, "127.0.0.1")+"/metrics", ample))
	require.False(t, got.ok, "the lane has no answer")
}

func TestLaneOverIPv6(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skip("there is no IPv6")
	}
	server := serveOn(t, listener, (*tls.Config)(nil), replies(answer("200 OK", "", page)))
	got, used := ask(pageLane(t, newClient(t), server.url, ample))
	require.True(t, used && got.ok, "used %t, answered %t", used, got.ok)
	require.Equal(t, page, got.body)
	require.Equal(t, http.MethodGet, server.requests()[0].Method)
}
