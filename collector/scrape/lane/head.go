package lane

import (
	"bytes"
	"strconv"
)

const (
	// maxHead is the size of the largest head that is accepted.
	maxHead = 4 << 10
	// okLine begins every answer that is accepted.
	okLine = "HTTP/1.1 200"
)

type head struct {
	// size is the length of the head, length that of the body.
	size, length int
	contentType  string
	// closes is true when the server closes the connection after the answer.
	closes bool
}

// verdict is what a lane concludes from the bytes that it received.
type verdict uint8

const (
	// incomplete needs more bytes.
	incomplete verdict = iota
	// plain is accepted.
	plain
	// unusual is left to net/http.
	unusual
)

// readHead reads the head of an answer. What it calls plain, net/http reads in the same
// way, as FuzzLane checks. It is far stricter, and calls unusual whatever it does not know.
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
	first, rest, _ := bytes.Cut(text[:end+2], []byte("\r\n"))
	reason, ok := bytes.CutPrefix(first, []byte(okLine))
	if !ok || len(reason) > 0 && reason[0] != ' ' || !printable(reason) {
		return h, unusual
	}
	for len(rest) > 0 {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte("\r\n"))
		if !h.field(line) {
			return h, unusual
		}
	}
	if h.length < 0 {
		return h, unusual
	}
	return h, plain
}

// field takes one line of a head; false for one that is not accepted.
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
		if h.closes = bytes.EqualFold(value, []byte("close")); !h.closes && !bytes.EqualFold(value, []byte("keep-alive")) {
			return false
		}
	case bytes.EqualFold(name, []byte("transfer-encoding")), bytes.EqualFold(name, []byte("content-encoding")), bytes.EqualFold(name, []byte("content-range")),
		bytes.EqualFold(name, []byte("trailer")), bytes.EqualFold(name, []byte("upgrade")):
		return false
	}
	return true
}

// token reports whether a text consists of letters, digits, dashes and underscores.
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
