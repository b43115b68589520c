package exposition

const (
	LargePageBytes  = largePageBytes
	MaxPatternBytes = maxPatternBytes
)

// Samples returns the number of lines of the block with a value.
func (b *Block) Samples() (n int) {
	for _, i := range b.shape.indexes {
		if s := b.spans[i]; s.end > s.start {
			n++
		}
	}
	return n
}
