package simulate

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

// Fault is a fault of a metrics page.
type Fault string

// The faults of Faulty; "" is none.
const (
	FaultHang      Fault = "hang"       // Accepts and never answers.
	FaultHangBody  Fault = "hang_body"  // Stops after headers and half the page.
	FaultTrickle   Fault = "trickle"    // One byte every 20 ms.
	FaultReset     Fault = "reset"      // TCP reset before any answer.
	FaultResetBody Fault = "reset_body" // TCP reset in the middle of the page.
	FaultTruncated Fault = "truncated"  // Less than Content-Length, then a clean close.
	FaultGzipBomb  Fault = "gzip_bomb"  // A small gzip body that unpacks to 1 GiB.
	FaultRedirect  Fault = "redirect"   // 302 to itself.
	FaultLongLine  Fault = "long_line"  // A page of one line of 32 MiB.
	FaultBinary    Fault = "binary"     // Bytes that are not text, as text/plain.
	FaultBadUTF8   Fault = "bad_utf8"   // A label value that is not UTF-8.
)

// Faulty answers a request with a page that has a fault. Its server must listen on TCP.
func Faulty(fault Fault, page string, w http.ResponseWriter, req *http.Request) {
	w.Header().Set("Content-Type", plainText)
	switch fault {
	case FaultHang:
		<-req.Context().Done()
	case FaultHangBody:
		w.Header().Set("Content-Length", strconv.Itoa(len(page)))
		_, _ = io.WriteString(w, page[:len(page)/2])
		_ = http.NewResponseController(w).Flush()
		<-req.Context().Done()
	case FaultTrickle:
		trickle(w, req, page)
	case FaultReset:
		hangUp(w, "", true)
	case FaultResetBody, FaultTruncated:
		head := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n", plainText, len(page)+1)
		hangUp(w, head+page[:len(page)/2], fault == FaultResetBody)
	case FaultGzipBomb:
		bomb(w)
	case FaultRedirect:
		w.Header().Set("Location", "/metrics")
		writeBody(w, http.StatusFound, nil)
	case FaultLongLine:
		_, _ = io.WriteString(w, `a{b="`)
		repeat(w, bytes.Repeat([]byte{'x'}, 1<<20), 32)
		_, _ = io.WriteString(w, "\"} 1\n")
	case FaultBinary:
		writeBody(w, http.StatusOK, bytes.Repeat([]byte("\x00\x9c\xff\x80\n"), 1000))
	case FaultBadUTF8:
		writeBody(w, http.StatusOK, []byte(page+"bad_label{model=\"\xff\xfe\"} 1\n"))
	default:
		writeBody(w, http.StatusOK, []byte(page))
	}
}

func trickle(w http.ResponseWriter, req *http.Request, page string) {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for i := 0; req.Context().Err() == nil; i = (i + 1) % len(page) {
		_, _ = io.WriteString(w, page[i:i+1])
		_ = http.NewResponseController(w).Flush()
		select {
		case <-req.Context().Done():
		case <-ticker.C:
		}
	}
}

// hangUp sends a text and closes the connection, with or without a reset.
func hangUp(w http.ResponseWriter, text string, reset bool) {
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer func() { _ = conn.Close() }()
	_, _ = rw.WriteString(text)
	_ = rw.Flush()
	if tcp, ok := conn.(*net.TCPConn); ok && reset {
		// A linger of 0 makes the close a reset.
		_ = tcp.SetLinger(0)
	}
}

// bomb sends 1 GiB of comments as gzip, by repeating one member of 4 MiB.
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
