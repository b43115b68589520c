package exposition

const (
	// pieceSize is about how much text is compressed at one time, so little that
	// it stays in the processor's cache.
	pieceSize = 256 << 10
	// ownPiece is how much text a family has that shares no piece with others: it
	// may stay the same where they change.
	ownPiece = 16 << 10
)

// stretch are the lines of a family from one ref to before another; without a
// family it is the end of the page.
type stretch struct {
	family   *mergedFamily
	from, to int
}

// stretches divide the page into pieces. They depend on the layout alone, so that
// lines which are the same on the next page are in the same piece.
func (l *Layout) stretches() [][]stretch {
	l.pieces.once.Do(func() { l.pieces.all = l.cut() })
	return l.pieces.all
}

// cut divides the page.
func (l *Layout) cut() [][]stretch {
	var pieces [][]stretch
	var piece []stretch
	size := 0
	end := func() {
		if len(piece) > 0 {
			pieces = append(pieces, piece)
		}
		piece, size = nil, 0
	}
	for i := range l.families {
		f := &l.families[i]
		total := f.around()
		if total >= ownPiece {
			end()
		}
		from := 0
		for j := range f.refs {
			if size += f.refs[j].around(); size >= pieceSize {
				piece = append(piece, stretch{f, from, j + 1})
				from = j + 1
				end()
			}
		}
		if from < len(f.refs) {
			piece = append(piece, stretch{f, from, len(f.refs)})
		}
		if total >= ownPiece {
			end()
		}
	}
	end()
	if l.in.openMetrics || len(pieces) == 0 {
		pieces = append(pieces, []stretch{{}})
	}
	return pieces
}

// around is about how much text the lines of the family have, values apart.
func (f *mergedFamily) around() (size int) {
	for i := range f.refs {
		size += f.refs[i].around()
	}
	return size
}

// around is about how much text the lines have, values apart.
func (s *segment) around() int { return len(s.text) + len(s.lines)*len(s.own) }

// appendPiece appends the text of one piece.
func (l *Layout) appendPiece(dst []byte, piece []stretch, blocks []*Block, only func(name string) bool) []byte {
	for _, s := range piece {
		if s.family == nil {
			return l.appendEnd(dst)
		}
		if !s.family.selected(only) {
			continue
		}
		if s.from == 0 && l.speaks(s.family, blocks, only) {
			dst = append(dst, s.family.text...)
		}
		for j := s.from; j < s.to; j++ {
			if r := &s.family.refs[j]; l.taken(s.family, r, only) {
				dst = l.appendRef(dst, s.family, r, blocks[r.block])
			}
		}
	}
	return dst
}

// speaks says whether a family has any lines: computed families may have nothing
// to say, and are then absent.
func (l *Layout) speaks(f *mergedFamily, blocks []*Block, only func(name string) bool) bool {
	var scratch []byte
	for i := range f.refs {
		r := &f.refs[i]
		if !l.taken(f, r, only) {
			continue
		}
		var size int64
		if size, scratch = l.length(r, blocks[r.block], scratch); size > 0 {
			return true
		}
	}
	return false
}
