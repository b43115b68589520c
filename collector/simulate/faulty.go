package simulate

import (
	"bytes"
	"compress/gzip"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
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

	mu    sync.Mutex
	fault Fault
}

// Set changes the fault for the requests from now on.
func (f *Faulty) Set(fault Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = fault
}

// ServeHTTP answers with the page or the fault.
func (f *Faulty) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	f.mu.Lock()
	fault := f.fault
	f.mu.Unlock()
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if other, ok := otherAnswers()[fault]; ok {
		w.Header().Set(other.header, other.value)
		writeBody(w, other.status, []byte(other.text))
		return
	}
	body := f.Page()
	switch fault {
	case FaultHang, FaultHangBody, FaultTrickle:
		f.slow(w, req, fault, body)
	case FaultReset, FaultResetBody, FaultTruncated:
		broken(w, fault, body)
	case FaultGzipBomb:
		bomb(w)
	case FaultLongLine:
		_, _ = io.WriteString(w, `a{b="`)
		repeat(w, bytes.Repeat([]byte{'x'}, 1<<20), 32)
		_, _ = io.WriteString(w, "\"} 1\n")
	default:
		writeBody(w, http.StatusOK, spoil(w.Header(), fault, body))
	}
}

// slow holds the connection until the client gives up.
func (f *Faulty) slow(w http.ResponseWriter, req *http.Request, fault Fault, body []byte) {
	ctx, c := req.Context(), http.NewResponseController(w)
	switch fault {
	case FaultHangBody:
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write(body[:len(body)/2])
		_ = c.Flush()
	case FaultTrickle:
		ticker := time.NewTicker(f.TrickleEvery)
		defer ticker.Stop()
		for i := 0; ctx.Err() == nil; i = (i + 1) % len(body) {
			_, _ = w.Write(body[i : i+1])
			_ = c.Flush()
			select {
			case <-ctx.Done():
			case <-ticker.C:
			}
		}
	default:
	}
	<-ctx.Done()
}

// broken ends the connection where it should not end.
func broken(w http.ResponseWriter, fault Fault, body []byte) {
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer func() { _ = conn.Close() }()
	if fault != FaultReset {
		_, _ = rw.WriteString("HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: " +
			strconv.Itoa(len(body)+1) + "\r\n\r\n")
		_, _ = rw.Write(body[:len(body)/2])
		_ = rw.Flush()
	}
	if tcp, ok := conn.(*net.TCPConn); ok && fault != FaultTruncated {
		// A linger of 0 makes the close a reset.
		_ = tcp.SetLinger(0)
	}
}

// bomb sends 1 GiB of comments as gzip. A gzip stream may have many members: one
// of 4 MiB is made and sent again and again.
func bomb(w http.ResponseWriter) {
	w.Header().Set("Content-Encoding", "gzip")
	var member bytes.Buffer
	z := gzip.NewWriter(&member)
	_, _ = z.Write(bytes.Repeat([]byte("# 0000000000000000000000000000\n"), 4<<20/31))
	_ = z.Close()
	repeat(w, member.Bytes(), 256)
}

// repeat writes a block n times, unless the client leaves.
func repeat(w io.Writer, block []byte, n int) {
	for range n {
		if _, err := w.Write(block); err != nil {
			return
		}
	}
}

// otherAnswer is an answer in the place of the page.
type otherAnswer struct {
	status              int
	header, value, text string
}

func otherAnswers() map[Fault]otherAnswer {
	const kind, plain = "Content-Type", "text/plain; charset=utf-8"
	return map[Fault]otherAnswer{
		FaultHTML: {
			http.StatusOK, kind, "text/html; charset=utf-8",
			"<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body><p>Please sign in.</p></body></html>\n",
		},
		FaultJSON:     {http.StatusOK, kind, "application/json", `{"detail":"Not Found"}`},
		FaultEmpty:    {http.StatusOK, kind, plain, ""},
		Fault500:      {http.StatusInternalServerError, kind, plain, "internal error\n"},
		Fault503:      {http.StatusServiceUnavailable, "Retry-After", "5", "starting\n"},
		Fault404:      {http.StatusNotFound, kind, plain, "404 page not found\n"},
		Fault401:      {http.StatusUnauthorized, "WWW-Authenticate", `Basic realm="metrics"`, "unauthorized\n"},
		FaultRedirect: {http.StatusFound, "Location", "/metrics", ""},
		FaultBadGzip:  {http.StatusOK, "Content-Encoding", "gzip", "this is no gzip stream\n"},
		FaultBinary:   {http.StatusOK, kind, plain, noise()},
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

// spoil changes the page itself.
func spoil(h http.Header, fault Fault, body []byte) []byte {
	body = bytes.Clone(body)
	half := len(body)/2 + bytes.IndexByte(body[len(body)/2:], '\n') + 1
	switch fault {
	case FaultCut:
		return body[:max(0, len(body)-7)]
	case FaultBadLine:
		return bytes.Join([][]byte{body[:half], []byte("this is { not a sample\n"), body[half:]}, nil)
	case FaultDuplicate:
		for line := range bytes.Lines(body) {
			if line[0] != '#' {
				return append(body, line...)
			}
		}
	case FaultBadUTF8:
		return append(body, "bad_label{model=\"\xff\xfe\"} 1\n"...)
	case FaultContentType:
		h.Set("Content-Type", "application/octet-stream")
	default:
	}
	return body
}
