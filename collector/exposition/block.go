package exposition

import "strconv"

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
	sizes []uint32
	// length is the sum of the sizes.
	length int64
	// numbers are those of the values as far as the fast path read them, NaN
	// where it did not; plain see [Block.Plain].
	numbers []float64
	plain   bool
}

// Shape is the constant part of the block; nil before a page was parsed.
func (b *Block) Shape() *Shape { return b.shape }

// usualValue is about how many bytes a value has.
const usualValue = 8

// room makes room for so many values and empties the block.
func (b *Block) room(values int) {
	if size := usualValue*values + scanned; cap(b.data) < size {
		b.data = make([]byte, 0, size)
	}
	if cap(b.spans) < values {
		b.spans, b.numbers = make([]Span, values), make([]float64, values)
	}
	b.data, b.numbers, b.plain = b.data[:0], b.numbers[:0], false
}

// Text is the value of a line as it is on the page, nil when absent. The
// bytes belong to the block.
func (b *Block) Text(line int) []byte { return b.At(Place(b.shape.at[line])) }

// Value is the number on a line; false when the line has none.
func (b *Block) Value(line int) (float64, bool) { return number(b.Text(line)) }

// WatchedValue is the number of watched series i of the block's shape.
func (b *Block) WatchedValue(i int) (float64, bool) { return number(b.At(b.shape.Place(i))) }

// number reads the text of a value; false for none.
func number(text []byte) (float64, bool) {
	if len(text) == 0 {
		return 0, false
	}
	if end, v := scan(text, 0); end == len(text) && v == v {
		return v, true
	}
	v, err := strconv.ParseFloat(string(text), 64)
	return v, err == nil
}

// AppendFamily appends the lines of family i in text format.
func (b *Block) AppendFamily(dst []byte, i int) []byte {
	seg := b.shape.segment(i)
	return seg.append(dst, b.data, b.spans)
}

// append appends the lines of the segment with the values at their places in the data
// of a block of the segment's shape.
func (s *segment) append(dst, data []byte, spans []Span) []byte {
	start := uint32(0)
	for i := range s.lines {
		line := &s.lines[i]
		if v := spans[s.at[i]]; v.end > v.start {
			dst = s.appendPrefix(dst, start, line)
			dst = append(dst, data[v.start:v.end]...)
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

// measure notes the length of each family's lines while their spans are
// still in the processor's cache, so that the length of a page costs one
// addition a block.
func (b *Block) measure() {
	s := b.shape
	if cap(b.sizes) < len(s.families) {
		b.sizes = make([]uint32, len(s.families))
	}
	b.sizes = b.sizes[:len(s.families)]
	spans, length := b.spans, int64(0)
	for i := range s.families { // Asking [segment.length] takes a quarter longer to read a page.
		f := &s.families[i]
		size, start := uint32(0), uint32(0)
		lines := s.lines[f.first:f.end]
		at := s.at[f.first:f.end][:len(lines)]
		for j := range lines {
			v, line := spans[at[j]], &lines[j]
			if length := v.end - v.start; length > 0 {
				size += line.end - start + length + 1 + line.owns(s.own)
			}
			start = line.end
		}
		b.sizes[i] = size
		length += int64(size)
	}
	b.length = length
}
