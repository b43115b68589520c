package lane

import (
	"bytes"
	"strconv"
)

const (
	// maxHead is the largest head that is accepted, in bytes.
	maxHead = 4 << 10
	// okLine is the prefix of every answer that is accepted.
	okLine = "HTTP/1.1 200"
)

type head struct {
	// size is the length of the head, length the Content-Length.
	size, length int
	contentType  string
	// closes is true if the server closes the connection after the answer.
	closes bool
}

// verdict is what a lane concludes from the bytes that it received.
type verdict uint8

const (
	// incomplete answers need more bytes.
	incomplete verdict = iota
	// plain answers are accepted.
	plain
	// unusual answers are left to net/http.
	unusual
)

// readHead parses the head of an answer. It is far stricter than net/http, which parses every
// plain head in the same way, as FuzzLane checks.
func readHead(text []byte) (head, verdict) {
	end := bytes.Index(text, []byte("\r\n\r\n"))
	if end < 0 {
		if len(text) > maxHead {
			return head{}, unusual
		}
		return head{}, incomplete
	}
	if end > maxHead {
		return head{}, unusual
	}
	h := head{size: end + 4, length: -1}
	statusLine, fields, _ := bytes.Cut(text[:end+2], []byte("\r\n"))
	reason, ok := bytes.CutPrefix(statusLine, []byte(okLine))
	if !ok || len(reason) > 0 && reason[0] != ' ' || !printable(reason) {
		return h, unusual
	}
	for len(fields) > 0 {
		var line []byte
		line, fields, _ = bytes.Cut(fields, []byte("\r\n"))
		if !h.field(line) {
			return h, unusual
		}
	}
	if h.length < 0 {
		return h, unusual
	}
	return h, plain
}

// field parses one header line. It reports false if the line is not accepted.
func (h *head) field(line []byte) bool {
	name, value, ok := bytes.Cut(line, []byte(":"))
	if !ok || !token(name) || !printable(value) {
		return false
	}
	value = bytes.Trim(value, " \t")
	switch {
	case bytes.EqualFold(name, []byte("content-length")):
		if h.length >= 0 {
			return false
		}
		length, err := strconv.ParseUint(string(value), 10, 31)
		h.length = int(length)
		return err == nil
	case bytes.EqualFold(name, []byte("content-type")):
		if h.contentType != "" || len(value) == 0 {
			return false
		}
		h.contentType = string(value)
	case bytes.EqualFold(name, []byte("connection")):
		if h.closes = bytes.EqualFold(value, []byte("close")); !h.closes &&
			!bytes.EqualFold(value, []byte("keep-alive")) {
			return false
		}
	case bytes.EqualFold(name, []byte("transfer-encoding")),
		bytes.EqualFold(name, []byte("age")),
		bytes.EqualFold(name, []byte("content-encoding")),
		bytes.EqualFold(name, []byte("content-range")),
		bytes.EqualFold(name, []byte("trailer")),
		bytes.EqualFold(name, []byte("upgrade")):
		return false
	}
	return true
}

// token reports whether text consists of letters, digits, dashes and underscores.
func token(text []byte) bool {
	for _, c := range text {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_':
		default:
			return false
		}
	}
	return len(text) > 0
}

func printable(text []byte) bool {
	for _, c := range text {
		if c < ' ' && c != '\t' || c > '~' {
			return false
		}
	}
	return true
}
