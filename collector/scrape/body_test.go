package scrape_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/tools/fixture"
)

func compressed(t *testing.T, r io.Reader) string {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := io.Copy(w, r)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.String()
}

// lines is a reader of an endless page.
type lines struct{}

func (lines) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = "a 1\n"[i%4]
	}
	return len(p), nil
}

func small(c *scrape.Config) {
	c.Limits = scrape.Limits{Body: 1 << 20, CompressedBody: 64 << 10, Headers: 8 << 10}
}

func TestBodyFaultReasons(t *testing.T) {
	complete := compressed(t, strings.NewReader(page))
	noise := make([]byte, 128<<10)
	rand.NewChaCha8([32]byte{}).Read(noise)
	zipped := "Content-Encoding: gzip\r\n"
	cases := []struct {
		name   string
		reply  string
		reason scrape.Reason
		text   string
	}{
		{
			"B01 announces a large body",
			"HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\na 1\n",
			scrape.ReasonBodyTooLarge,
			"the body has 1073741824 bytes, over the limit of 1MiB; raise limits.body",
		},
		{
			"B02 gzip bomb",
			answer("200 OK", zipped, compressed(t, io.LimitReader(lines{}, 8<<20))),
			scrape.ReasonBodyTooLarge, "the body is over the limit of 1MiB",
		},
		{
			"B02 large gzip",
			answer("200 OK", zipped, compressed(t, bytes.NewReader(noise))),
			scrape.ReasonBodyTooLarge, "over limits.compressed_body 64KiB",
		},
		{
			"B03 half a gzip",
			answer("200 OK", zipped, complete[:len(complete)/2]),
			scrape.ReasonDecompress, "not the gzip that Content-Encoding announces",
		},
		{
			"B03 gzip without its checksum",
			answer("200 OK", zipped, complete[:len(complete)-8]),
			scrape.ReasonDecompress, "unexpected EOF",
		},
		{"B04 gzip with a tail", answer("200 OK", zipped, complete+"x"), scrape.ReasonDecompress, "not the gzip"},
		{"B05 plain declared as gzip", answer("200 OK", zipped, page), scrape.ReasonDecompress, "invalid header"},
		{"an empty body declared as gzip", answer("200 OK", zipped, ""), scrape.ReasonDecompress, "EOF"},
		{
			"an unrequested encoding",
			answer("200 OK", "Content-Encoding: br\r\n", page),
			scrape.ReasonDecompress, `encoded as "br"`,
		},
		{
			"gzip cut on the wire",
			"HTTP/1.1 200 OK\r\n" + zipped + "Content-Length: 1000\r\n\r\n" + complete[:30],
			scrape.ReasonTruncated, "before its Content-Length",
		},
		{
			"B07 large headers",
			answer("200 OK", "X-Large: "+strings.Repeat("x", 11<<20)+"\r\n", page),
			scrape.ReasonHeadersTooLarge, "raise limits.headers",
		},
		{
			"B08 shorter than its length",
			"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\na 12345678",
			scrape.ReasonTruncated, "before its Content-Length or last chunk",
		},
		{
			"B09 no last chunk",
			"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\na 1\n\r\n",
			scrape.ReasonTruncated, "before its Content-Length or last chunk",
		},
		{
			"B09 cut in a chunk",
			"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\na 1\n",
			scrape.ReasonTruncated, "before its Content-Length or last chunk",
		},
		{
			"invalid chunks",
			"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\na 1\n",
			scrape.ReasonProtocol, "invalid byte in chunk length",
		},
		{
			"B10 ends with the connection, cut", "HTTP/1.0 200 OK\r\n\r\na 1\nb 12", scrape.ReasonTruncated,
			"does not end with a newline",
		},
		{
			"B10 declared as identity",
			"HTTP/1.0 200 OK\r\nContent-Encoding: identity\r\n\r\na 1\nb 12",
			scrape.ReasonTruncated, "does not end with a newline",
		},
		{"B12 empty, ends with the connection", "HTTP/1.0 200 OK\r\n\r\n", scrape.ReasonEmpty, "check metrics_path"},
		{
			"B13 HTML",
			answer("200 OK", "Content-Type: text/html; charset=utf-8\r\n", "<html>"),
			scrape.ReasonContentType, "login page",
		},
		{
			"B14 JSON",
			answer("200 OK", "Content-Type: application/json\r\n", "[]"),
			scrape.ReasonContentType,
			"check metrics_path and the server's release: the page of a trtllm-serve is /prometheus/metrics",
		},
		{
			"protobuf",
			answer("200 OK", "Content-Type: application/vnd.google.protobuf; encoding=delimited\r\n", "x"),
			scrape.ReasonContentType, "only text is supported",
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			server := serve(t, nil, once(c.reply))
			got, err := scrapeWithin(t, newClient(t, small), server.url, ample)
			requireFailure(t, err, c.reason, "", c.text)
			require.Empty(t, got.Body)
		})
	}
}

func TestGoodBodies(t *testing.T) {
	complete, empty := compressed(t, strings.NewReader(page)), compressed(t, strings.NewReader(""))
	const zipped = "Content-Encoding: gzip\r\n"
	cases := []struct {
		name, reply, body, contentType string
	}{
		{
			"B11 no last newline, complete by its length",
			answer("200 OK", "Content-Type: text/plain\r\n", "a 1\nb 2"),
			"a 1\nb 2", "text/plain",
		},
		{"empty with Content-Length", answer("200 OK", "", ""), "", ""},
		{"empty gzip likewise", answer("200 OK", zipped, empty), "", ""},
		{"B15 no content type", answer("200 OK", "", page), page, ""},
		{"a content type of no kind", answer("200 OK", "Content-Type: ;;\r\n", page), page, ";;"},
		{"B06 undeclared gzip", answer("200 OK", "", complete), complete, ""},
		{"B20 truncated by the server", answer("200 OK", "", "b 12345"), "b 12345", ""},
		{"gzip", answer("200 OK", zipped, complete), page, ""},
		{"gzip until the connection closes", "HTTP/1.0 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + complete, page, ""},
		{"identity", answer("200 OK", "Content-Encoding: identity\r\n", page), page, ""},
		{
			"chunks",
			"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\na 1\n\r\n3\r\nb 2\r\n0\r\n\r\n",
			"a 1\nb 2", "",
		},
		{"ends with the connection and a newline", "HTTP/1.0 200 OK\r\n\r\na 1\n", "a 1\n", ""},
		{"ends with the connection and EOF", "HTTP/1.0 200 OK\r\n\r\na 1\n# EOF", "a 1\n# EOF", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			server := serve(t, nil, once(c.reply))
			client := newClient(t)
			got, err := scrapeWithin(t, client, server.url, ample)
			require.NoError(t, err)
			require.Equal(t, c.body, string(got.Body))
			require.Equal(t, c.contentType, got.ContentType)
		})
	}
}

func TestBodyLimit(t *testing.T) {
	const limit = 1 << 20
	body := func(size int) string { return strings.Repeat("x", size-1) + "\n" }
	chunk := func(body string) string {
		return fmt.Sprintf("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n"+
			"%s\r\n0\r\n\r\n", len(body), body)
	}
	zip := func(body string) string {
		return answer("200 OK", "Content-Encoding: gzip\r\n", compressed(t, strings.NewReader(body)))
	}
	plain := func(body string) string { return answer("200 OK", "", body) }
	for name, framed := range map[string]func(string) string{"length": plain, "chunks": chunk, "gzip": zip} {
		t.Run(name, func(t *testing.T) {
			client := newClient(t, small)
			got, err := scrapeWithin(t, client, serve(t, nil, once(framed(body(limit)))).url, ample)
			require.NoError(t, err)
			require.Len(t, got.Body, limit)
			_, err = scrapeWithin(t, client, serve(t, nil, once(framed(body(limit+1)))).url, ample)
			requireFailure(t, err, scrape.ReasonBodyTooLarge, "", "over the limit of 1MiB")
		})
	}
}

func TestEndlessBodyIsNotDrained(t *testing.T) {
	sent := make(chan int64, 1)
	server := serve(t, nil, func(p *peer) { // B01.
		p.request()
		p.say("HTTP/1.1 200 OK\r\n\r\n")
		n, _ := io.Copy(p, io.LimitReader(lines{}, 1<<30))
		sent <- n
	})
	_, err := scrapeWithin(t, newClient(t, small), server.url, ample)
	requireFailure(t, err, scrape.ReasonBodyTooLarge, "", "over the limit of 1MiB")
	require.Less(t, <-sent, int64(64<<20), "the connection is closed")
}

func TestContentLengthIsNotTrusted(t *testing.T) {
	server := serve(t, nil, once("HTTP/1.1 200 OK\r\nContent-Length: 16000000\r\n\r\na 1\n"))
	got, err := scrapeWithin(t, newClient(t), server.url, ample)
	requireFailure(t, err, scrape.ReasonTruncated, "", "before its Content-Length")
	require.Less(t, cap(got.Body), 2<<20)
}

func TestScrapeRequest(t *testing.T) {
	server := serve(t, nil, replies(answer("200 OK", "", page)))
	client := newClient(t)
	_, err := client.Scrape(t.Context(), server.url, nil)
	require.NoError(t, err)
	req := server.requests()[0]
	require.Equal(t, "GET", req.Method)
	require.Equal(t, "/metrics", req.URL.Path)
	require.Equal(t, "text/plain;version=0.0.4;escaping=allow-utf-8,*/*;q=0.1", req.Header.Get("Accept"))
	require.Equal(t, "gzip", req.Header.Get("Accept-Encoding"))
	require.Equal(t, "no-cache", req.Header.Get("Cache-Control"), "a stored page shows nothing of now")
	require.Regexp(t, `^trtllm_exporter/.+`, req.Header.Get("User-Agent"))
}

func TestInvalidURLIsRefused(t *testing.T) {
	client := newClient(t)
	for _, url := range []string{
		"", "host:8002", "ftp://host/metrics", "http://", "http://user:p%zz@host/", "http://user:hunter2/x@host/",
		"http://h:port",
	} {
		_, err := client.Scrape(t.Context(), url, nil)
		requireFailure(t, err, scrape.ReasonProtocol, "", "write it like http://host:8002/metrics")
		require.NotContains(t, err.Error(), "hunter2")
		_, _, _, err = client.Do(t.Context(), http.MethodGet, url, nil, 0)
		requireFailure(t, err, scrape.ReasonProtocol, "", "write it like http://host:8002/metrics")
	}
}

func TestDoReturnsEveryStatus(t *testing.T) {
	server := serve(
		t,
		nil,
		replies(answer("400 Bad Request", "Content-Type: application/json\r\nX-Kind: triton\r\n", `{"error":"x"}`)),
	)
	client := newClient(t)
	status, header, body, err := client.Do(t.Context(), http.MethodGet, server.url, nil, 1024)
	require.NoError(t, err)
	require.Equal(t, 400, status)
	require.Equal(t, "triton", header.Get("X-Kind"))
	require.JSONEq(t, `{"error":"x"}`, string(body))

	_, _, body, err = client.Do(t.Context(), http.MethodGet, server.url, nil, 4)
	requireFailure(t, err, scrape.ReasonBodyTooLarge, "", "over the limit of 4B")
	require.Empty(t, body)

	_, _, _, err = client.Do(t.Context(), "POST", server.url, []byte(`{"ready":true}`), 0)
	require.NoError(t, err)
	post := server.requests()[2]
	require.Equal(t, "POST", post.Method)
	require.EqualValues(t, 14, post.ContentLength)
	require.Equal(t, "application/json", post.Header.Get("Content-Type"))
}

func TestOpenStreams(t *testing.T) {
	more := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = io.WriteString(w, r.Method+" "+r.Header.Get("Accept")+"\n")
		_ = http.NewResponseController(w).Flush()
		<-more
		_, _ = w.Write(body)
	}))
	t.Cleanup(server.Close)
	client := newClient(t)
	resp, err := client.Open(t.Context(), "POST", server.URL, []byte("{}"))
	require.NoError(t, err)
	defer resp.Body.Close()
	first := make([]byte, 64)
	n, err := resp.Body.Read(first)
	require.NoError(t, err)
	require.Equal(t, "POST text/event-stream,application/json;q=0.9,*/*;q=0.1\n", string(first[:n]))
	close(more)
	end, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, "{}", string(end))
}

func TestOpenErrorShowsNoSecret(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, "no access for "+r.Header.Get("Authorization"))
	}))
	t.Cleanup(server.Close)
	client := newClient(t)
	resp, err := client.Open(t.Context(), "POST", strings.Replace(server.URL, "://", "://user:hunter2@", 1), nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusUnauthorized, resp.StatusCode)
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, `"no access for <secret>"`, string(text))
	require.NoError(t, resp.Body.Close())

	nobody := "http://" + fixture.FreeAddress(t, "127.0.0.1")
	_, err = newClient(t).Open(t.Context(), "POST", nobody, nil) //nolint:bodyclose // There is none.
	requireFailure(t, err, scrape.ReasonConnect, "", "")
	_, err = client.Open(t.Context(), "POST", "ftp://127.0.0.1:1", nil) //nolint:bodyclose // There is none.
	requireFailure(t, err, scrape.ReasonProtocol, "", "not valid")
}

func TestScrapeUsesCallersBuffer(t *testing.T) {
	server := serve(t, nil, replies(answer("200 OK", "", page)))
	client := newClient(t)
	for _, capacity := range []int{len(page), 64 << 10} {
		buf := make([]byte, 5, capacity)
		got, err := client.Scrape(t.Context(), server.url, buf)
		require.NoError(t, err)
		require.Equal(t, page, string(got.Body))
		require.Same(t, &buf[0], &got.Body[0])
	}
	got, err := client.Scrape(t.Context(), server.url, make([]byte, 0, 3))
	require.NoError(t, err)
	require.Equal(t, page, string(got.Body))
}
