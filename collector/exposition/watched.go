package exposition

import "math"

// Place is where the value of one watched series is in the blocks of one shape.
type Place uint32

// Place is the place of watched series i.
func (s *Shape) Place(i int) Place { return Place((*s.watched)[i].value) }

// At is the text at a place of the block's shape, as the page will show it;
// nil when absent. The bytes belong to the block.
func (b *Block) At(p Place) []byte {
	s := b.spans[p]
	return b.data[s.start:s.end]
}

// Filler gives a block its values, once, when it is first needed.
type Filler interface {
	// Fill sets values of out, which the caller seals; the values may be those
	// of page.
	Fill(page, out *Block)
}

// Glancer is a filler that can give single numbers too.
type Glancer interface {
	// Glance reads the numbers of some series, by their numbers in the blocks it
	// fills, NaN for those that have none and for parts of histograms. They may be
	// more exact than what Fill sets. Series is the same slice as long as the
	// shape is the same.
	Glance(page *Block, series []int, into []float64)
}

// spare is how many bytes the text of later pages may have more than that of the
// page for which room was made: counters get longer.
const spare = 128

// Over lends a block as [Computed.Block] does, whose values by gives it when it
// is settled, see [Block.Settle]; they may be those of page, see [Block.Show].
// The block goes on behind the page's own text, where room bytes are made for
// what it adds, so that nothing is copied, and holds a reference on the page
// until it is released. The caller holds the page's one other reference; the
// text of a page that more hold is copied, for another block may be going on
// behind it.
func (c *Computed) Over(page *Block, room int, by Filler) *Block {
	b := overBlocks.get(c.shape.values)
	b.shape, b.under, b.by = c.shape, page, by
	shared := page.refs.Load() == 1
	page.Retain()
	b.data = page.data[:page.end]
	if !shared || cap(b.data) < page.end+room {
		b.data = append(make([]byte, 0, page.end+room+spare), b.data...)
	}
	if shared {
		// What the memory has grown to serves the next page as well.
		page.data = b.data
	}
	return b
}

// Settle gives a block that [Computed.Over] lent its values, if it has not got
// them yet. Only one may settle a block at a time, and none show it before.
func (b *Block) Settle() {
	by := b.by
	if by == nil {
		return
	}
	b.by = nil
	b.Clear()
	by.Fill(b.under, b)
	b.Seal()
}

// Series are the numbers by which who gives blocks of computed series their
// values knows lines.
func (s *Shape) Series(lines []int) []int {
	series := make([]int, len(lines))
	for i, n := range lines {
		series[i] = int(s.at[n])
	}
	return series
}

// Glance reads the numbers of some series of a computed block into as long a row,
// NaN for none, without settling it if it can be helped: see [Shape.Series] and [Glancer].
// Only one may glance at a block that is not settled, or settle it, at a time.
func (b *Block) Glance(series []int, into []float64) {
	if by, ok := b.by.(Glancer); ok {
		by.Glance(b.under, series, into)
		return
	}
	b.Settle()
	for i, n := range series {
		v, ok := number(b.At(Place(n)))
		if !ok {
			v = math.NaN()
		}
		into[i] = v
	}
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
	to, from, data, plain := b.spans, page.spans, b.data, page.plain
	for ; i < len(shown); i++ {
		s := &shown[i]
		if !open[s.Gate] {
			continue
		}
		span := from[s.At]
		if !plain && (span.start == span.end || data[span.start]-'0' > 9) {
			return i
		}
		to[s.Series] = span
	}
	return i
}

// Show gives series n of a block the value at a place of the page it was lent
// over.
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
