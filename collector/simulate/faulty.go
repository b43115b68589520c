package simulate

import (
	"bytes"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Fault names one way in which a metrics page can go wrong.
type Fault string

// The faults of Faulty.
const (
	FaultNone        Fault = ""
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
	FaultRedirect    Fault = "redirect"     // 302 to RedirectTo, or to itself.
	FaultEndless     Fault = "endless"      // A page that never ends.
	FaultLongLine    Fault = "long_line"    // A page of one line of 32 MiB.
	FaultBinary      Fault = "binary"       // Random bytes as text/plain.
	FaultBadLine     Fault = "bad_line"     // The page with one unreadable line in its middle.
	FaultDuplicate   Fault = "duplicate"    // The page with its first sample twice.
	FaultBadUTF8     Fault = "bad_utf8"     // A label value that is not UTF-8.
	FaultContentType Fault = "content_type" // The page as application/octet-stream.
	FaultHeaders     Fault = "headers"      // Two MiB of response headers.
	FaultJSON        Fault = "json"         // 200 with JSON.
)

// Faults lists all faults, FaultNone not among them.
func Faults() []Fault {
	return []Fault{
		FaultHang, FaultHangBody, FaultTrickle, FaultReset, FaultResetBody, FaultTruncated, FaultCut, FaultHTML,
		Fault500, Fault503, Fault404, Fault401, FaultEmpty, FaultGzipBomb, FaultBadGzip, FaultRedirect, FaultEndless,
		FaultLongLine, FaultBinary, FaultBadLine, FaultDuplicate, FaultBadUTF8, FaultContentType, FaultHeaders, FaultJSON,
	}
}

// Faulty answers every request with a page, or with the fault that is set. Put
// it behind an http.Server on a TCP listener. The zero value serves no page.
type Faulty struct {
	// Page gives the page; it must be safe for concurrent use.
	Page func() []byte
	// TrickleEvery is the time between two bytes of FaultTrickle, 50 ms if zero.
	TrickleEvery time.Duration
	// RedirectTo is the target of FaultRedirect.
	RedirectTo string

	mu    sync.Mutex
	fault Fault
	hits  int
}

// Set changes the fault for the requests from now on.
func (f *Faulty) Set(fault Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = fault
}

// Hits counts the requests so far.
func (f *Faulty) Hits() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.hits
}

// ServeHTTP answers with the page or the fault.
func (f *Faulty) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	f.mu.Lock()
	fault := f.fault
	f.hits++
	f.mu.Unlock()
	var body []byte
	if f.Page != nil {
		body = f.Page()
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	switch fault {
	case FaultHang, FaultHangBody, FaultTrickle, FaultEndless:
		f.slow(w, req, fault, body)
	case FaultReset, FaultResetBody, FaultTruncated:
		broken(w, fault, body)
	case FaultHTML, Fault500, Fault503, Fault404, Fault401, FaultEmpty, FaultRedirect, FaultHeaders, FaultJSON:
		f.refusal(w, fault)
	case FaultGzipBomb, FaultBadGzip, FaultLongLine, FaultBinary:
		poison(req.Context(), w, fault)
	default:
		writeBody(w, http.StatusOK, spoil(w.Header(), fault, body))
	}
}

// slow holds the connection until the client gives up.
func (f *Faulty) slow(w http.ResponseWriter, req *http.Request, fault Fault, body []byte) {
	c := http.NewResponseController(w)
	switch fault {
	case FaultHangBody:
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write(body[:len(body)/2])
		_ = c.Flush()
	case FaultTrickle, FaultEndless:
		every := f.TrickleEvery
		if every <= 0 {
			every = 50 * time.Millisecond
		}
		chunk := 1
		if fault == FaultEndless {
			every, chunk = time.Millisecond, 64<<10
			body = bytes.Repeat([]byte("# endless\n"), 6554)
		}
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for i := 0; len(body) > 0; i = (i + chunk) % len(body) {
			select {
			case <-req.Context().Done():
				return
			case <-ticker.C:
			}
			if _, err := w.Write(body[i:min(len(body), i+chunk)]); err != nil {
				return
			}
			_ = c.Flush()
		}
	default:
	}
	<-req.Context().Done()
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

// refusal gives another answer than the page.
func (f *Faulty) refusal(w http.ResponseWriter, fault Fault) {
	h := w.Header()
	status, text := http.StatusOK, ""
	switch fault {
	case FaultHTML:
		h.Set("Content-Type", "text/html; charset=utf-8")
		text = "<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body><p>Please sign in.</p></body></html>\n"
	case FaultJSON:
		h.Set("Content-Type", "application/json")
		text = `{"detail":"Not Found"}`
	case Fault500:
		status, text = http.StatusInternalServerError, "internal error\n"
	case Fault503:
		h.Set("Retry-After", "5")
		status, text = http.StatusServiceUnavailable, "starting\n"
	case Fault404:
		status, text = http.StatusNotFound, "404 page not found\n"
	case Fault401:
		h.Set("WWW-Authenticate", `Basic realm="metrics"`)
		status, text = http.StatusUnauthorized, "unauthorized\n"
	case FaultRedirect:
		to := f.RedirectTo
		if to == "" {
			to = "/metrics"
		}
		h.Set("Location", to)
		status = http.StatusFound
	case FaultHeaders:
		for i := range 256 {
			h.Set("X-Filler-"+strconv.Itoa(i), string(bytes.Repeat([]byte{'x'}, 8<<10)))
		}
	default:
	}
	writeBody(w, status, []byte(text))
}
