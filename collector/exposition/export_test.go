package exposition

const (
	LargePageBytes  = largePageBytes
	MaxPatternBytes = maxPatternBytes
)

// Fast reports whether a page with the labeler and format of the previous one takes the fast path.
func (c *Cache) Fast(body string) bool {
	return c.pattern.match(&Block{}, []byte(body), c.pattern.format)
}

// Samples returns the number of lines of the block with a value.
func (b *Block) Samples() (n int) {
	for _, i := range b.shape.indexes {
		if s := b.spans[i]; s.end > s.start {
			n++
		}
	}
	return n
}
