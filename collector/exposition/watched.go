package exposition

// Place is where the value of one watched series stands in the blocks of one
// shape.
type Place uint32

// Place is the place of watched series i.
func (s *Shape) Place(i int) Place { return Place(s.watched[i].value) }

// At is the text at a place of the block's shape, as the page will show it;
// nil when absent. The bytes belong to the block.
func (b *Block) At(p Place) []byte {
	s := b.spans[p]
	return b.data[s.start:s.end]
}

// Over lends a block as [Computed.Block] does, of which the values may be those
// of page as well; see [Block.Show]. It goes on behind the page's own text, so
// that nothing is copied, and holds a reference on the page until it is
// released. The caller holds the page's one other reference; a page that more
// hold is copied, for they may be reading.
func (c *Computed) Over(page *Block) *Block {
	b := c.Block()
	if page.refs.Load() != 1 {
		b.data = append(b.data, page.data[:page.end]...)
		return b
	}
	page.Retain()
	b.under, b.data = page, page.data[:page.end]
	return b
}

// Shown is a series of a block that shows the value at a place of the page
// under it while a gate is open.
type Shown struct {
	Series, Gate int32
	At           Place
}

// ShowNumbers gives the series from number i of shown on their values, those of
// which the gate is open, and stops at the first value that does not begin with
// a digit, which it returns the number of, or how many there are: it may not
// be a number that can be shown.
func (b *Block) ShowNumbers(page *Block, shown []Shown, open []bool, i int) int {
	to, from, data := b.spans, page.spans, b.data
	for ; i < len(shown); i++ {
		s := &shown[i]
		if !open[s.Gate] {
			continue
		}
		span := from[s.At]
		if span.start == span.end || data[span.start]-'0' > 9 {
			return i
		}
		to[s.Series] = span
	}
	return i
}

// Show gives series n of a block that [Computed.Over] lent the value at a place
// of the page it was lent over.
func (b *Block) Show(n int, page *Block, p Place) { b.spans[n] = page.spans[p] }

// Repeat gives series n of a computed block the value that series of has, be
// it none.
func (b *Block) Repeat(n, of int) { b.spans[n] = b.spans[of] }

// Unset takes the value of series n of a computed block away again.
func (b *Block) Unset(n int) { b.spans[n] = Span{} }

// Data lends the data of a computed block, to append a value to; give the
// result back with Took.
func (b *Block) Data() []byte { return b.data }

// Took gives series n of a computed block the value that was appended to its
// data.
func (b *Block) Took(n int, data []byte) {
	b.spans[n] = Span{uint32(len(b.data)), uint32(len(data))}
	b.data = data
}
