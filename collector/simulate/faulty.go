package simulate

import (
	"bytes"
	"compress/gzip"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Fault names one way in which a metrics page can go wrong.
type Fault string

// The faults of Faulty; none is "".
const (
	FaultHang        Fault = "hang"         // Accepts and never answers.
	FaultHangBody    Fault = "hang_body"    // Sends headers and half the page, then nothing.
	FaultTrickle     Fault = "trickle"      // One byte every TrickleEvery.
	FaultReset       Fault = "reset"        // TCP reset before any answer.
	FaultResetBody   Fault = "reset_body"   // TCP reset in the middle of the page.
	FaultTruncated   Fault = "truncated"    // Less than Content-Length, then a clean close.
	FaultCut         Fault = "cut"          // A complete answer whose last line is cut.
	FaultHTML        Fault = "html"         // 200 with an HTML page, as captive proxies give.
	Fault500         Fault = "500"          // Status 500.
	Fault503         Fault = "503"          // Status 503 with Retry-After.
	Fault404         Fault = "404"          // Status 404.
	Fault401         Fault = "401"          // Status 401.
	FaultEmpty       Fault = "empty"        // 200 without a body.
	FaultGzipBomb    Fault = "gzip_bomb"    // A small gzip body that unpacks to 1 GiB.
	FaultBadGzip     Fault = "bad_gzip"     // Says gzip and is not.
	FaultRedirect    Fault = "redirect"     // 302 to itself.
	FaultLongLine    Fault = "long_line"    // A page of one line of 32 MiB.
	FaultBinary      Fault = "binary"       // Random bytes as text/plain.
	FaultBadLine     Fault = "bad_line"     // The page with one unreadable line in its middle.
	FaultDuplicate   Fault = "duplicate"    // The page with its first sample twice.
	FaultBadUTF8     Fault = "bad_utf8"     // A label value that is not UTF-8.
	FaultContentType Fault = "content_type" // The page as application/octet-stream.
	FaultJSON        Fault = "json"         // 200 with JSON.
)

// Faulty answers every request with a page, or with the fault that is set. Put
// it behind an http.Server on a TCP listener.
type Faulty struct {
	// Page gives the page; it must be safe for concurrent use.
	Page func() []byte
	// TrickleEvery is the time between two bytes of FaultTrickle.
	TrickleEvery time.Duration

	fault atomic.Value
}

// Set changes the fault for the requests from now on.
func (f *Faulty) Set(fault Fault) { f.fault.Store(fault) }

// ServeHTTP answers with the page or the fault.
func (f *Faulty) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("Content-Type", plainText)
	fault, _ := f.fault.Load().(Fault)
	if play, ok := f.plays()[fault]; ok {
		play(w, req, f.Page())
		return
	}
	writeBody(w, http.StatusOK, f.Page())
}

// play is what a fault does with a request for a page.
type play func(w http.ResponseWriter, req *http.Request, page []byte)

func (f *Faulty) plays() map[Fault]play {
	const kind = "Content-Type"
	return map[Fault]play{
		FaultHang:        func(_ http.ResponseWriter, req *http.Request, _ []byte) { <-req.Context().Done() },
		FaultHangBody:    hangBody,
		FaultTrickle:     f.trickle,
		FaultReset:       broken(false, true),
		FaultResetBody:   broken(true, true),
		FaultTruncated:   broken(true, false),
		FaultGzipBomb:    bomb,
		FaultLongLine:    longLine,
		FaultHTML:        instead(http.StatusOK, kind, "text/html; charset=utf-8", "<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body><p>Please sign in.</p></body></html>\n"),
		FaultJSON:        instead(http.StatusOK, kind, "application/json", `{"detail":"Not Found"}`),
		FaultEmpty:       instead(http.StatusOK, kind, plainText, ""),
		FaultBinary:      instead(http.StatusOK, kind, plainText, noise()),
		Fault500:         instead(http.StatusInternalServerError, kind, plainText, "internal error\n"),
		Fault503:         instead(http.StatusServiceUnavailable, "Retry-After", "5", "starting\n"),
		Fault404:         instead(http.StatusNotFound, kind, plainText, "404 page not found\n"),
		Fault401:         instead(http.StatusUnauthorized, "WWW-Authenticate", `Basic realm="metrics"`, "unauthorized\n"),
		FaultRedirect:    instead(http.StatusFound, "Location", "/metrics", ""),
		FaultBadGzip:     instead(http.StatusOK, "Content-Encoding", "gzip", "this is no gzip stream\n"),
		FaultContentType: spoiled("application/octet-stream", func(page string) string { return page }),
		FaultCut:         spoiled(plainText, func(page string) string { return page[:len(page)-7] }),
		FaultBadUTF8:     spoiled(plainText, func(page string) string { return page + "bad_label{model=\"\xff\xfe\"} 1\n" }),
		FaultDuplicate:   spoiled(plainText, func(page string) string { return page + regexp.MustCompile(`(?m)^[^#].*\n`).FindString(page) }),
		FaultBadLine: spoiled(plainText, func(page string) string {
			half := len(page)/2 + strings.IndexByte(page[len(page)/2:], '\n') + 1
			return page[:half] + "this is { not a sample\n" + page[half:]
		}),
	}
}

// instead gives another answer than the page.
func instead(status int, header, value, body string) play {
	return func(w http.ResponseWriter, _ *http.Request, _ []byte) {
		w.Header().Set(header, value)
		writeBody(w, status, []byte(body))
	}
}

// spoiled changes the page itself.
func spoiled(contentType string, change func(page string) string) play {
	return func(w http.ResponseWriter, _ *http.Request, page []byte) {
		w.Header().Set("Content-Type", contentType)
		writeBody(w, http.StatusOK, []byte(change(string(page))))
	}
}

func hangBody(w http.ResponseWriter, req *http.Request, page []byte) {
	w.Header().Set("Content-Length", strconv.Itoa(len(page)))
	_, _ = w.Write(page[:len(page)/2])
	_ = http.NewResponseController(w).Flush()
	<-req.Context().Done()
}

func (f *Faulty) trickle(w http.ResponseWriter, req *http.Request, page []byte) {
	ticker := time.NewTicker(f.TrickleEvery)
	defer ticker.Stop()
	for i := 0; req.Context().Err() == nil; i = (i + 1) % len(page) {
		_, _ = w.Write(page[i : i+1])
		_ = http.NewResponseController(w).Flush()
		select {
		case <-req.Context().Done():
		case <-ticker.C:
		}
	}
}

// broken ends the connection where it should not end: before or in the middle of
// the page, with or without a reset.
func broken(begun, reset bool) play {
	return func(w http.ResponseWriter, _ *http.Request, page []byte) {
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		defer func() { _ = conn.Close() }()
		if begun {
			_, _ = rw.WriteString("HTTP/1.1 200 OK\r\nContent-Type: " + plainText + "\r\nContent-Length: " + strconv.Itoa(len(page)+1) + "\r\n\r\n")
			_, _ = rw.Write(page[:len(page)/2])
			_ = rw.Flush()
		}
		if tcp, ok := conn.(*net.TCPConn); ok && reset {
			// A linger of 0 makes the close a reset.
			_ = tcp.SetLinger(0)
		}
	}
}

// bomb sends 1 GiB of comments as gzip. A gzip stream may have many members: one
// of 4 MiB is made and sent again and again.
func bomb(w http.ResponseWriter, _ *http.Request, _ []byte) {
	w.Header().Set("Content-Encoding", "gzip")
	var member bytes.Buffer
	z := gzip.NewWriter(&member)
	_, _ = z.Write(bytes.Repeat([]byte("# 0000000000000000000000000000\n"), 4<<20/31))
	_ = z.Close()
	repeat(w, member.Bytes(), 256)
}

func longLine(w http.ResponseWriter, _ *http.Request, _ []byte) {
	_, _ = io.WriteString(w, `a{b="`)
	repeat(w, bytes.Repeat([]byte{'x'}, 1<<20), 32)
	_, _ = io.WriteString(w, "\"} 1\n")
}

// repeat writes a block n times, unless the client leaves.
func repeat(w io.Writer, block []byte, n int) {
	for range n {
		if _, err := w.Write(block); err != nil {
			return
		}
	}
}

// noise is 4 KiB that no text would have, the same each time.
func noise() string {
	var out []byte
	for i := range 512 {
		h := mix(uint64(i), "noise")
		out = append(out, byte(h), byte(h>>8), byte(h>>16), byte(h>>24), byte(h>>32), 0, byte(h>>40), '\n')
	}
	return string(out)
}
