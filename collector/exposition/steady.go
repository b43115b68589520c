package exposition

import (
	"hash/maphash"
	"weak"
)

// steady knows which pieces were the same on the last two pages, and what values they
// have: while those stay the same, the text need not be written to see that it does
// too. Of pieces that change nothing is known, for it would cost and serve nobody.
type steady struct {
	coding Encoding
	layout weak.Pointer[Layout]
	pieces []steadyPiece
}

// steadyPiece is a piece that the packer keeps, nil for one that changes.
type steadyPiece struct {
	*piece

	values valueSum
}

// valueSum is equal for pieces of one layout with the same values, and for no others.
type valueSum struct {
	hash uint64
	size int
}

// begin forgets what is known when the page has other lines, or another coding, than
// the last.
func (s *steady) begin(e Encoding, l *Layout, pieces int) {
	if layout := weak.Make(l); s.coding != e || s.layout != layout {
		*s = steady{coding: e, layout: layout, pieces: make([]steadyPiece, pieces)}
	}
}

// valuesOf sums the values of a piece.
func (p *Packer) valuesOf(c *pieceCompressor, of *content, work []stretch) valueSum {
	c.values = of.appendValues(c.values[:0], work)
	return valueSum{maphash.Bytes(p.seed, c.values), len(c.values)}
}

// What is among the values and is not one. No value begins with any.
const (
	notAsked byte = iota
	headed
	headless
)

// appendValues appends what the text of a piece depends on besides the layout: the
// values, which families have a head, and what is not asked for. Whether a line is
// written at all depends on the values of its family and replica alone.
func (c *content) appendValues(dst []byte, piece []stretch) []byte {
	along := course{content: c}
	for _, s := range piece {
		if s.family == nil || !s.family.selected(c.only) {
			dst = append(dst, notAsked)
			continue
		}
		if s.from == 0 {
			dst = append(dst, c.heading(s.family))
		}
		for j := s.from; j < s.to; j++ {
			if (j-s.from)%ahead == 0 {
				along.lookAhead(s.family.refs[j:min(j+ahead, s.to)])
			}
			r := &s.family.refs[j]
			if !c.taken(s.family, r, c.only) {
				dst = append(dst, notAsked)
				continue
			}
			seg, data, spans := along.lines(r)
			dst = seg.appendValues(dst, data, spans)
		}
	}
	return dst
}

// heading says whether a family has a head.
func (c *content) heading(f *mergedFamily) byte {
	if c.speaks(f) {
		return headed
	}
	return headless
}

// appendValues appends the values of the segment's lines at their places in the data.
func (s *segment) appendValues(dst, data []byte, spans []Span) []byte {
	for _, at := range s.at[:len(s.lines)] {
		v := spans[at]
		dst = append(append(dst, data[v.start:v.end]...), '\n')
	}
	return dst
}
