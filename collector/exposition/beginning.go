package exposition

import "bytes"

// Beginning says whether a body is the beginning of the last good page, values
// apart, and how many samples it has: the same lines in the same order, and no
// sample of the name with which that page ended. False when it is not, or when
// the cache has no page to compare with. Call it before the body is parsed.
func (c *Cache) Beginning(body []byte) (samples int, begins bool) {
	if !c.table.usable {
		return 0, false
	}
	text, pos := c.table.text, 0
	var before []byte
	for i, length := range c.table.consts {
		piece, rest := text[:length], body[pos:]
		if len(rest) < len(piece) {
			return i, bytes.HasPrefix(piece, rest) && !bytes.Equal(nameIn(before), nameIn(c.table.last()))
		}
		if !bytes.HasPrefix(rest, piece) {
			return 0, false
		}
		text, before = text[length:], piece
		pos += len(piece)
		end, _ := scan(body, pos)
		if end < 0 {
			return 0, false
		}
		pos = end
	}
	return 0, false
}

// last is the piece before the last value.
func (t *table) last() []byte {
	var end, length uint32
	for _, length = range t.consts {
		end += length
	}
	return t.text[end-length : end]
}

// nameIn is the name of the series with which a piece before a value ends.
func nameIn(piece []byte) []byte {
	line := piece[bytes.LastIndexByte(piece, '\n')+1:]
	if end := bytes.IndexAny(line, "{ \t"); end >= 0 {
		return line[:end]
	}
	return line
}
