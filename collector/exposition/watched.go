package exposition

// ValueIndex is where the value of one watched series is in the blocks of one shape.
type ValueIndex uint32

// WatchedIndex is the place of watched series i.
func (s *Shape) WatchedIndex(i int) ValueIndex { return ValueIndex((*s.watched)[i].value) }

// TextAt is the text at a place of the block's shape, as the page will show it;
// nil when absent. The bytes belong to the block.
func (b *Block) TextAt(p ValueIndex) []byte {
	s := b.spans[p]
	return b.data[s.start:s.end]
}

// ValueIndexes are the places of lines of a computed block, to read single numbers.
func (s *Shape) ValueIndexes(lines []int) []ValueIndex {
	places := make([]ValueIndex, len(lines))
	for i, n := range lines {
		places[i] = ValueIndex(s.at[n])
	}
	return places
}

// CopyText gives series n of a computed block the value at a place of a page.
func (b *Block) CopyText(n int, page *Block, p ValueIndex) { b.Took(n, append(b.data, page.TextAt(p)...)) }

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
