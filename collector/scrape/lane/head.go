package lane

import "bytes"

// longestHead bounds the head of an answer that is read.
const longestHead = 4 << 10

// head is the head of an answer that a lane believes.
type head struct {
	// size is the length of the head, length that of the body.
	size, length int
	contentType  []byte
	// last is true when the server ends the connection after the answer.
	last bool
}

// verdict is what a lane makes of the bytes that came.
type verdict uint8

const (
	// more is needed to say anything.
	more verdict = iota
	// plain is a head that a lane believes.
	plain
	// unusual is anything else: it is for net/http to read.
	unusual
)

// okLine begins every answer that a lane believes.
const okLine = "HTTP/1.1 200"

// longestLength is the most digits of a length that is read.
const longestLength = 9

// readHead reads the head of an answer. What it calls plain net/http reads the
// same way (a fuzz test holds them together); it is far stricter, and calls
// unusual whatever it does not know.
func readHead(text []byte) (head, verdict) {
	end := bytes.Index(text, []byte("\r\n\r\n"))
	if end < 0 {
		if len(text) > longestHead {
			return head{}, unusual
		}
		return head{}, more
	}
	if end > longestHead {
		return head{}, unusual
	}
	h := head{size: end + 4, length: -1}
	first, rest, _ := bytes.Cut(text[:end+2], []byte("\r\n"))
	if !okStatus(first) {
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

// okStatus reports whether the first line is that of 200.
func okStatus(line []byte) bool {
	reason, ok := bytes.CutPrefix(line, []byte(okLine))
	return ok && (len(reason) == 0 || reason[0] == ' ') && printable(reason)
}

// field takes one line of a head; false for one that a lane does not believe.
func (h *head) field(line []byte) bool {
	name, value, ok := bytes.Cut(line, []byte(":"))
	if !ok || !token(name) || !printable(value) {
		return false
	}
	value = bytes.Trim(value, " \t")
	switch {
	case named(name, "content-length"):
		if h.length >= 0 {
			return false
		}
		h.length = digits(value)
		return h.length >= 0
	case named(name, "content-type"):
		if h.contentType != nil || len(value) == 0 {
			return false
		}
		h.contentType = value
	case named(name, "connection"):
		if h.last = named(value, "close"); !h.last && !named(value, "keep-alive") {
			return false
		}
	case named(name, "transfer-encoding"), named(name, "content-encoding"), named(name, "content-range"),
		named(name, "trailer"), named(name, "upgrade"):
		return false
	}
	return true
}

// digits is a length; -1 for anything else.
func digits(text []byte) int {
	if len(text) == 0 || len(text) > longestLength {
		return -1
	}
	n := 0
	for _, c := range text {
		if c < '0' || c > '9' {
			return -1
		}
		n = 10*n + int(c-'0')
	}
	return n
}

// named compares a text with one in lower case.
func named(text []byte, lower string) bool {
	if len(text) != len(lower) {
		return false
	}
	for i, c := range text {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

// token reports whether a text is a name of letters, digits, dashes and underscores.
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

// printable reports whether a text is of ASCII characters and tabs.
func printable(text []byte) bool {
	for _, c := range text {
		if c < ' ' && c != '\t' || c > '~' {
			return false
		}
	}
	return true
}
