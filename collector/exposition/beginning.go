package exposition

import "strings"

// Truncated reports whether a body is the beginning of the last good page, values
// apart, and how many samples it has: the same lines in the same order, and no
// sample of the name with which that page ended. False when it is not, or when
// the cache has no page to compare with. Call it before the body is parsed.
func (c *Cache) Truncated(body []byte) (samples int, begins bool) {
	if !c.table.usable {
		return 0, false
	}
	pos := 0
	before := ""
	for i := range *c.table.consts {
		one := &(*c.table.consts)[i]
		piece, rest := c.table.piece(one), body[pos:]
		if len(rest) < len(piece) {
			return i, strings.HasPrefix(piece, string(rest)) && nameIn(before) != nameIn(c.table.last())
		}
		if string(rest[:len(piece)]) != piece {
			return 0, false
		}
		before = piece
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
func (t *table) last() string {
	consts := *t.consts
	return t.piece(&consts[len(consts)-1])
}

// nameIn is the name of the series with which a piece before a value ends.
func nameIn(piece string) string {
	line := piece[strings.LastIndexByte(piece, '\n')+1:]
	if end := strings.IndexAny(line, "{ \t"); end >= 0 {
		return line[:end]
	}
	return line
}
