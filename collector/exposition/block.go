package exposition

import "math"

// Span is the place of a value in the data of a block; an empty span is a
// value that is absent.
type Span struct{ start, end uint32 }

// Block is what one scrape or one derivation adds to the page: a shape and
// the text of its values. A published block never changes, so it is shared without
// further care.
type Block struct {
	shape *Shape
	data  []byte
	spans []Span
	// numbers are those of the values of a page, nil for what is computed; plain
	// see [Block.NonNegative].
	numbers []float64
	plain   bool
}

// Shape is the constant part of the block; nil before a page was parsed.
func (b *Block) Shape() *Shape { return b.shape }

// usualValue is about how many bytes a value has.
const usualValue = 8

// room makes room for the values of a page.
func (b *Block) room(values int) {
	b.data = make([]byte, 0, usualValue*values)
	b.spans, b.numbers, b.plain = make([]Span, values), make([]float64, values), true
}

// Text is the value of a line as it is on the page, nil when absent. The
// bytes belong to the block.
func (b *Block) Text(line int) []byte { return b.TextAt(ValueIndex(b.shape.at[line])) }

// Value is the number on a line; false when the line has none.
func (b *Block) Value(line int) (float64, bool) { return number(b.Text(line)) }

// WatchedValue is the number of watched series i of the block's shape.
func (b *Block) WatchedValue(i int) (float64, bool) { return number(b.TextAt(b.shape.WatchedIndex(i))) }

// take gives a block of a page the value of that number, which is appended to its
// data.
func (b *Block) take(n uint32, text []byte, v float64) {
	start := uint32(len(b.data))
	b.data = append(b.data, text...)
	b.spans[n], b.numbers[n] = Span{start, uint32(len(b.data))}, v
	b.plain = b.plain && v >= 0 && v <= math.MaxFloat64
}

// Number is the number at a place of the block's shape, NaN for what is absent
// or not finite.
func (b *Block) Number(p ValueIndex) float64 {
	if b.numbers == nil {
		v, ok := number(b.TextAt(p))
		if !ok || math.IsInf(v, 0) {
			return math.NaN()
		}
		return v
	}
	if v := b.numbers[p]; !math.IsInf(v, 0) {
		return v
	}
	return math.NaN()
}

// Numbers reads the numbers at places into as long a row.
func (b *Block) Numbers(places []ValueIndex, row []float64) {
	for i, p := range places {
		row[i] = b.Number(p)
	}
}

// NonNegative reports that all values of the page are finite and none is below 0, so
// that none need be looked at for that.
func (b *Block) NonNegative() bool { return b.plain }

// AppendFamily appends the lines of family i in text format.
func (b *Block) AppendFamily(dst []byte, i int) []byte {
	seg := b.shape.segment(i)
	return seg.append(dst, b, 0, len(seg.lines))
}

// append appends the lines of the segment from one to another, with the values of a
// block of the segment's shape.
func (s *segment) append(dst []byte, b *Block, from, end int) []byte {
	start := uint32(0)
	if from > 0 {
		start = s.lines[from-1].end
	}
	for i := from; i < end; i++ {
		line := &s.lines[i]
		if v := b.spans[s.at[i]]; v.end > v.start {
			dst = s.appendPrefix(dst, start, line)
			dst = append(dst, b.data[v.start:v.end]...)
			dst = append(dst, '\n')
		}
		start = line.end
	}
	return dst
}

// length is the number of bytes that append appends.
func (s *segment) length(b *Block) int64 {
	size, start := int64(0), uint32(0)
	for i := range s.lines {
		line := &s.lines[i]
		if v := b.spans[s.at[i]]; v.end > v.start {
			size += int64(line.end-start) + int64(v.end-v.start) + 1 + int64(line.owns(s.own))
		}
		start = line.end
	}
	return size
}
