package exposition

const (
	LargePageBytes  = largePageBytes
	MaxPatternBytes = maxPatternBytes
)

// Paths returns the number of pages that took the fast and the slow path.
func (c *Cache) Paths() (fast, slow uint64) { return c.fast, c.slow }

// Samples returns the number of lines of the block with a value.
func (b *Block) Samples() (n int) {
	for _, i := range b.shape.indexes {
		if s := b.spans[i]; s.end > s.start {
			n++
		}
	}
	return n
}
