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

// content is what a page shows of blocks.
type content struct {
	*Layout

	blocks []*Block
	// sources are those of the blocks, nil where some families are asked for.
	sources []source
	only    func(name string) bool
}

func newContent(l *Layout, blocks []*Block, only func(name string) bool) *content {
	c := &content{Layout: l, blocks: blocks, only: only}
	if only == nil {
		c.sources = sources(blocks)
	}
	return c
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
		total := l.around(f)
		if total >= ownPiece {
			end()
		}
		from := 0
		for j := range f.refs {
			seg := l.segment(&f.refs[j])
			if size += seg.around(); size >= pieceSize {
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
func (l *Layout) around(f *mergedFamily) (size int) {
	for i := range f.refs {
		seg := l.segment(&f.refs[i])
		size += seg.around()
	}
	return size
}

// around is about how much text the lines have, values apart.
func (s *segment) around() (size int) {
	size = len(s.text)
	for i := range s.lines {
		size += int(s.lines[i].owns(s.own))
	}
	return size
}

// appendPiece appends the text of one piece.
func (c *content) appendPiece(dst []byte, piece []stretch) []byte {
	along := course{content: c}
	for i := range piece {
		var lines bool
		s := &piece[i]
		if dst, lines = c.begin(dst, s); !lines {
			continue
		}
		for j := s.from; j < s.to; j++ {
			if r := &s.family.refs[j]; c.taken(s.family, r, c.only) {
				dst = along.append(dst, r)
			}
		}
	}
	return dst
}

// begin appends what is before the lines of a stretch; false when there are none.
func (c *content) begin(dst []byte, s *stretch) (_ []byte, lines bool) {
	switch {
	case s.family == nil:
		return c.appendEnd(dst), false
	case !s.family.selected(c.only):
		return dst, false
	case s.from == 0 && c.speaks(s.family):
		dst = append(dst, s.family.text...)
	}
	return dst, true
}

// speaks says whether a family has any lines: computed families may have nothing
// to say, and are then absent.
func (c *content) speaks(f *mergedFamily) bool { return c.linesLength(f, c.blocks, c.only, 1) > 0 }

// repeatPiece writes the text of one piece, and makes the tokens of it; false
// when too little of it is known to repeat.
func (c *content) repeatPiece(rep *repeater, piece []stretch) bool {
	rep.reset()
	along := course{content: c}
	for i := range piece {
		var lines bool
		s := &piece[i]
		if rep.text, lines = c.begin(rep.text, s); !lines {
			continue
		}
		rep.family()
		for j := s.from; j < s.to; j++ {
			if (j-s.from)%ahead == 0 {
				along.lookAhead(s.family.refs[j:min(j+ahead, s.to)])
			}
			if r := &s.family.refs[j]; c.taken(s.family, r, c.only) {
				along.repeat(rep, r)
			}
		}
		if !rep.pays() {
			return false
		}
	}
	rep.close()
	return rep.pays()
}

// repeat writes the lines of a ref.
func (c *course) repeat(rep *repeater, r *ref) {
	if p := c.part(r); p != nil && p.judge != judgeNothing {
		rep.text = p.append(rep.text, c.blocks[r.block])
		return
	}
	seg, data, spans := c.lines(r)
	rep.append(seg, data, spans)
}

// mayRepeat says whether the families of a piece have lines of several replicas.
func mayRepeat(piece []stretch) bool {
	refs := 0
	for _, s := range piece {
		refs += s.to - s.from
	}
	return refs >= 3*len(piece)
}
