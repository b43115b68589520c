package exposition

import (
	"math"
	"slices"
)

// Span is the range of a value in the data of a block; it is empty for an absent value.
type Span struct{ start, end uint32 }

// ValueIndex is the index of a value in the blocks of one shape.
type ValueIndex uint32

// Block holds the series of one scrape or one derivation: a shape and the text of
// its values. A published block never changes, so it may be shared.
type Block struct {
	shape *Shape
	data  []byte
	spans []Span
	// numbers are the parsed values of a page, NaN for those that are not finite; nil in a computed block.
	numbers []float64
	// plausible is the result of [Block.Plausible].
	plausible bool
}

// Shape returns the constant part of the block.
func (b *Block) Shape() *Shape { return b.shape }

func (b *Block) allocate(values, size int) {
	b.data = make([]byte, 0, size)
	b.spans, b.numbers, b.plausible = make([]Span, values), make([]float64, values), true
}

func (b *Block) setParsed(n uint32, text []byte, v float64) {
	start := uint32(len(b.data))
	b.data = append(b.data, text...)
	b.spans[n], b.numbers[n] = Span{start, uint32(len(b.data))}, finite(v)
	b.plausible = b.plausible && v >= 0 && v < Overflow
}

// Text returns the value of a line as written on the page, nil if absent. The bytes
// belong to the block.
func (b *Block) Text(line int) []byte { return b.TextAt(ValueIndex(b.shape.indexes[line])) }

// TextAt is [Block.Text] for the value at an index.
func (b *Block) TextAt(i ValueIndex) []byte {
	s := b.spans[i]
	return b.data[s.start:s.end]
}

// Value returns the number on a line. It reports false if the line has none.
func (b *Block) Value(line int) (float64, bool) { return number(b.Text(line)) }

// WatchedValue returns the number of watched series i.
func (b *Block) WatchedValue(i int) (float64, bool) { return number(b.TextAt(b.shape.WatchedIndex(i))) }

// Number returns the number at an index, NaN if it is absent or not finite.
func (b *Block) Number(i ValueIndex) float64 {
	if b.numbers != nil {
		return b.numbers[i]
	}
	return b.written(i)
}

// written returns the number that the text of a computed block says.
func (b *Block) written(i ValueIndex) float64 {
	v, ok := number(b.TextAt(i))
	if !ok {
		return math.NaN()
	}
	return finite(v)
}

// finite returns a number, NaN in place of an infinity.
func finite(v float64) float64 {
	if math.IsInf(v, 0) {
		return math.NaN()
	}
	return v
}

// Numbers stores the numbers at the given indexes in row, which has the same length.
func (b *Block) Numbers(indexes []ValueIndex, row []float64) {
	for n, i := range indexes {
		row[n] = b.Number(i)
	}
}

// Overflow is the least value that nothing reaches but a number of 64 bits that fell below 0.
const Overflow = 1 << 63

// Plausible reports whether every value of the page is finite, not negative and below [Overflow], so that
// readers need not check each value.
func (b *Block) Plausible() bool { return b.plausible }

// CopyText sets series n of a computed block to the text of a value of a page.
func (b *Block) CopyText(n int, page *Block, i ValueIndex) {
	b.setAppended(n, append(b.data, page.TextAt(i)...))
}

// With returns a copy of a page in which some values are others.
func (b *Block) With(values map[ValueIndex]float64) *Block {
	c := *b
	c.data, c.spans, c.numbers = slices.Clone(b.data), slices.Clone(b.spans), slices.Clone(b.numbers)
	for i, v := range values {
		c.setAppended(int(i), AppendFloat(c.data, v))
		c.numbers[i] = v
	}
	return &c
}

// Repeat sets series n of a computed block to the value of another series, if any.
func (b *Block) Repeat(n, other int) { b.spans[n] = b.spans[other] }

// Unset removes the value of series n of a computed block.
func (b *Block) Unset(n int) { b.spans[n] = Span{} }

// setAppended sets series n of a computed block to the text appended to its data.
func (b *Block) setAppended(n int, data []byte) {
	b.spans[n] = Span{uint32(len(b.data)), uint32(len(data))}
	b.data = data
}

// AppendFamily appends the lines of family i in text format.
func (b *Block) AppendFamily(dst []byte, i int) []byte {
	seg := b.shape.segment(i)
	return seg.append(dst, b, 0, len(seg.lines))
}

// append appends lines [from, end) of the segment with the values of b, a block of its shape.
func (s *segment) append(dst []byte, b *Block, from, end int) []byte {
	for i := from; i < end; i++ {
		if v := b.spans[s.indexes[i]]; v.end > v.start {
			dst = s.appendPrefix(dst, &s.lines[i])
			dst = append(dst, b.data[v.start:v.end]...)
			dst = append(dst, '\n')
		}
	}
	return dst
}
