package secret

import (
	"bytes"
	"html"
	"strconv"
	"strings"
	"unicode/utf8"
)

// separates reports whether a byte is a blank or a control, which may stand within a secret: a header may be
// folded, and a plus is a blank in a query.
func separates(b byte) bool { return b <= ' ' || b == '+' || b == 0x7f }

// fold returns a text in lower case, and without what separates.
func fold(text []byte) string {
	var folded strings.Builder
	folded.Grow(len(text))
	for _, b := range text {
		switch {
		case separates(b):
		case 'A' <= b && b <= 'Z':
			folded.WriteByte(b + 'a' - 'A')
		default:
			folded.WriteByte(b)
		}
	}
	return folded.String()
}

// escapes are what escapes begin with, maxEscape is the length of the longest that is decoded, and maxRounds
// how many escapes within escapes are, such as those of JSON in a quoted string.
const escapes, maxEscape, maxRounds = `%&\`, 12, 4

// hasEscapes reports whether there may be something to decode. Most texts have nothing.
func hasEscapes(text []byte) bool {
	return bytes.IndexByte(text, '\\') >= 0 || bytes.IndexByte(text, '%') >= 0 || bytes.IndexByte(text, '&') >= 0
}

// decoded is a text in which escapes are replaced by what they stand for, which is shorter.
type decoded struct {
	bytes []byte
	// ends has where what stands for the first bytes, none to all, ends in the text.
	ends []int32
}

// newDecoded returns a text as it is.
func newDecoded(text []byte) *decoded {
	d := &decoded{bytes.Clone(text), make([]int32, len(text)+1)}
	for i := range d.ends {
		d.ends[i] = int32(i)
	}
	return d
}

// decode decodes one level of escapes in place, and reports whether there were any.
func (d *decoded) decode() (found bool) {
	to := 0
	for i := 0; i < len(d.bytes); {
		char, size := escape(d.bytes[i:min(i+maxEscape, len(d.bytes))])
		if found = found || size > 0; size == 0 {
			char, size = string(d.bytes[i:i+1]), 1
		}
		i += size
		for range copy(d.bytes[to:], char) {
			to++
			d.ends[to] = d.ends[i]
		}
	}
	d.bytes, d.ends = d.bytes[:to], d.ends[:to+1]
	return found
}

// escape decodes the escape that a text begins with, as in URLs, JSON, Go's quotes, labels and HTML. It
// returns its size, 0 if there is none.
func escape(begins []byte) (char string, size int) {
	if len(begins) < 2 || strings.IndexByte(escapes, begins[0]) < 0 {
		return "", 0
	}
	text := string(begins)
	end := strings.IndexAny(text, ";}") + 1
	if text[0] == '&' {
		if char = html.UnescapeString(text[:end]); len(char) < min(end, utf8.UTFMax+1) {
			return char, end
		}
		return "", 0
	}
	quoted := text // As Go quotes it.
	switch {
	case text[0] == '%':
		quoted = `\x` + text[1:]
	case strings.HasPrefix(text, `\u{`) && end > 0:
		quoted = `\U` + strings.Repeat("0", maxEscape-end) + text[len(`\u{`):end-1] + text[end:]
	}
	c, isRune, rest, err := strconv.UnquoteChar(quoted, 0)
	switch {
	case err == nil && isRune:
		return string(c), len(text) - len(rest)
	case err == nil:
		return string([]byte{byte(c)}), len(text) - len(rest)
	case text[0] == '\\': // It needs no escape, such as a slash in JSON.
		return text[1:2], len(`\/`)
	}
	return "", 0
}
