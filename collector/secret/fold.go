package secret

import (
	"bytes"
	"encoding/hex"
	"html"
	"strconv"
	"strings"
	"unicode/utf8"
)

// folded is a text as a reader understands it, however it is spelled: escapes are decoded, letters are
// lower case, and blanks and controls are left out, since a folded header or a line break may split a
// secret.
type folded struct {
	bytes []byte
	// ends has where what spells each byte ends in the text, unless only the bytes were asked for.
	ends []int32
}

// maxRounds is how many escapes within escapes are decoded, such as those of JSON in a quoted string.
const maxRounds = 4

// fold folds a text into memory that is reused.
func (f *folded) fold(text []byte, places bool) {
	f.bytes, f.ends = append(f.bytes[:0], text...), f.ends[:0]
	for i := 1; places && i <= len(text); i++ {
		f.ends = append(f.ends, int32(i))
	}
	for round := 0; round < maxRounds && bytes.ContainsAny(f.bytes, escapes) && f.decode(); round++ {
	}
	f.squeeze()
}

// escapes are what escapes begin with, which most texts do not have.
const escapes = `%&\`

// decode decodes one level of escapes in place, and reports whether there were any. What they stand for is
// shorter.
func (f *folded) decode() (found bool) {
	to, ends := f.bytes[:0], f.ends[:0]
	for i := 0; i < len(f.bytes); {
		decoded, size := escape(f.bytes[i:min(i+maxEscape, len(f.bytes))])
		if found = found || size > 0; size == 0 {
			decoded, size = string(f.bytes[i:i+1]), 1
		}
		i += size
		to = append(to, decoded...)
		for range min(len(f.ends), len(decoded)) {
			ends = append(ends, f.ends[i-1])
		}
	}
	f.bytes, f.ends = to, ends
	return found
}

// squeeze leaves out what separates, and puts the rest in lower case.
func (f *folded) squeeze() {
	n := 0
	for i, b := range f.bytes {
		if separates(b) {
			continue
		}
		if 'A' <= b && b <= 'Z' {
			b += 'a' - 'A'
		}
		f.bytes[n] = b
		if i < len(f.ends) {
			f.ends[n] = f.ends[i]
		}
		n++
	}
	f.bytes, f.ends = f.bytes[:n], f.ends[:min(n, len(f.ends))]
}

// separates reports whether a byte is a blank or a control. A plus is a blank in a query.
func separates(b byte) bool { return b <= ' ' || b == '+' || b == 0x7f }

// place returns where the part of the text begins and ends that spells bytes.
func (f *folded) place(text []byte, from, to int) (start, end int) {
	if from > 0 {
		start = int(f.ends[from-1])
	}
	end = int(f.ends[to-1])
	for start < end && separates(text[start]) {
		start++
	}
	return start, end
}

// maxEscape is the length of the longest escape that is decoded.
const maxEscape = 12

// escape decodes the escape that a text begins with, as in URLs, JSON, Go's quotes, labels and HTML. It
// returns its size, 0 if there is none.
func escape(begins []byte) (decoded string, size int) {
	if len(begins) < 2 || !strings.Contains(escapes, string(begins[:1])) {
		return "", 0
	}
	text := string(begins)
	end := strings.IndexAny(text, ";}")
	switch {
	case text[0] == '%':
		const size = len("%00")
		if char, err := hex.DecodeString(text[1:min(len(text), size)]); err == nil && len(text) >= size {
			return string(char), size
		}
		return "", 0
	case text[0] == '&':
		if decoded = html.UnescapeString(text[:end+1]); len(decoded) <= min(end, utf8.UTFMax) {
			return decoded, end + 1
		}
		return "", 0
	case strings.HasPrefix(text, `\u{`) && end > 0:
		size = end + 1
		text = `\U` + strings.Repeat("0", maxEscape-size) + text[3:end]
	}
	char, isRune, rest, err := strconv.UnquoteChar(text, 0)
	switch {
	case err != nil: // It needs no escape, such as a slash in JSON.
		return text[1:2], 2
	case size == 0:
		size = len(text) - len(rest)
	}
	if isRune {
		return string(char), size
	}
	return string([]byte{byte(char)}), size
}
