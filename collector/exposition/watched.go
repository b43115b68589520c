package exposition

// WatchedText is the text of watched series i of the block's shape, as the
// page will show it; nil when absent. The bytes belong to the block.
func (b *Block) WatchedText(i int) []byte {
	s := b.spans[b.shape.watched[i].value]
	return b.data[s.start:s.end]
}

// Repeat gives series n of a computed block the value that series of has, be
// it none.
func (b *Block) Repeat(n, of int) { b.spans[n] = b.spans[of] }

// Unset takes the value of series n of a computed block away again.
func (b *Block) Unset(n int) { b.spans[n] = Span{} }

// Append gives series n of a computed block the value whose text fill appends
// to the block's data.
func (b *Block) Append(n int, fill func(dst []byte) []byte) {
	start := uint32(len(b.data))
	b.data = fill(b.data)
	b.spans[n] = Span{start, uint32(len(b.data))}
}
