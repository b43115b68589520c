package secret

import (
	"bytes"
	"html"
	"slices"
	"strconv"
	"unicode/utf8"
)

// folded is a text as a reader understands it, however it is spelled: escapes are decoded, letters are
// lower case, and blanks and controls are left out, since a folded header or a line break may split a
// secret. Of each byte it knows which part of the text spells it, unless only the bytes were asked for.
type folded struct {
	bytes      []byte
	start, end []int32
}

// maxRounds is how many escapes within escapes are decoded, such as those of JSON in a quoted string.
const maxRounds = 4

// fold folds a text into memory that is reused.
func (f *folded) fold(text []byte, places bool) {
	f.bytes = append(f.bytes[:0], text...)
	f.start, f.end = f.start[:0], f.end[:0]
	if places {
		f.start, f.end = slices.Grow(f.start, len(text)), slices.Grow(f.end, len(text))
		for i := range text {
			f.start, f.end = append(f.start, int32(i)), append(f.end, int32(i+1))
		}
	}
	for round := 0; round < maxRounds && f.mayEscape() && f.decode(); {
		round++
	}
	f.squeeze()
}

// mayEscape reports whether a text has what escapes begin with, which most do not.
func (f *folded) mayEscape() bool {
	has := func(b byte) bool { return bytes.IndexByte(f.bytes, b) >= 0 }
	return has('%') || has('\\') || has('&')
}

// decode decodes one level of escapes in place, and reports whether there were any.
func (f *folded) decode() (found bool) {
	n := 0
	var decoded [utf8.UTFMax]byte
	for i := 0; i < len(f.bytes); {
		size, by := escape(f.bytes[i:], decoded[:0])
		found = found || size > 0
		if size == 0 {
			size, by = 1, append(decoded[:0], f.bytes[i])
		}
		for _, b := range by {
			f.move(n, i, i+size-1, b)
			n++
		}
		i += size
	}
	f.cut(n)
	return found
}

// squeeze leaves out what separates, and puts the rest in lower case.
func (f *folded) squeeze() {
	if len(f.start) == 0 {
		f.bytes = squeezed(f.bytes)
		return
	}
	n := 0
	for i, b := range f.bytes {
		switch {
		case b <= ' ' || b == '+' || b == 0x7f: // A plus is a blank in a query.
			continue
		case 'A' <= b && b <= 'Z':
			b += 'a' - 'A'
		}
		f.move(n, i, i, b)
		n++
	}
	f.cut(n)
}

// squeezed is squeeze for bytes whose places nobody asks for.
func squeezed(text []byte) []byte {
	n := 0
	for _, b := range text {
		if b <= ' ' || b == '+' || b == 0x7f {
			continue
		}
		if 'A' <= b && b <= 'Z' {
			b += 'a' - 'A'
		}
		text[n] = b
		n++
	}
	return text[:n]
}

// move sets byte n, which the bytes from first to last spell.
func (f *folded) move(n, first, last int, b byte) {
	f.bytes[n] = b
	if len(f.start) > 0 {
		f.start[n], f.end[n] = f.start[first], f.end[last]
	}
}

func (f *folded) cut(n int) {
	f.bytes = f.bytes[:n]
	if len(f.start) > 0 {
		f.start, f.end = f.start[:n], f.end[:n]
	}
}

// escape decodes the escape that a text begins with, as in URLs, JSON, Go's quotes, labels and HTML. It
// returns its size, 0 if there is none, and what it stands for, which is never longer.
func escape(text, into []byte) (size int, decoded []byte) {
	switch {
	case text[0] == '%':
		return hexadecimal(text, 1, 2, into)
	case text[0] == '&':
		return entity(text, into)
	case text[0] != '\\' || len(text) < 2:
		return 0, nil
	}
	switch text[1] {
	case 'x':
		return hexadecimal(text, 2, 2, into)
	case 'u':
		if end := slices.Index(text[:min(len(text), maxEscape)], '}'); end > 3 && text[2] == '{' {
			size, decoded = hexadecimal(text, 3, end-3, into)
			return size + min(size, 1), decoded
		}
		return hexadecimal(text, 2, 4, into)
	case 'U':
		return hexadecimal(text, 2, 8, into)
	case 'a', 'b', 'f', 'n', 'r', 't', 'v':
		return 2, into // A control, which separates.
	}
	if octal, err := strconv.ParseUint(string(text[1:min(len(text), 4)]), 8, 8); err == nil && len(text) >= 4 {
		return 4, append(into, byte(octal))
	}
	return 2, append(into, text[1])
}

// hexadecimal decodes a prefix and digits: a byte after \x and %, else a character.
func hexadecimal(text []byte, prefix, digits int, into []byte) (size int, decoded []byte) {
	if size = prefix + digits; size > len(text) {
		return 0, nil
	}
	code, err := strconv.ParseUint(string(text[prefix:size]), 16, 32)
	switch {
	case err != nil:
		return 0, nil
	case text[prefix-1] == 'x' || text[prefix-1] == '%':
		return size, append(into, byte(code))
	}
	return size, utf8.AppendRune(into, rune(code))
}

// maxEscape is the length of the longest escape with an end of its own that is decoded.
const maxEscape = 12

func entity(text, into []byte) (size int, decoded []byte) {
	end := slices.Index(text[:min(len(text), maxEscape)], ';')
	if end < 0 {
		return 0, nil
	}
	name := string(text[:end+1])
	plain := html.UnescapeString(name)
	if plain == name || len(plain) > cap(into) {
		return 0, nil
	}
	return end + 1, append(into, plain...)
}
