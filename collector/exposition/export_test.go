package exposition

// The bounds of what is kept of a page.
const (
	Ordinary   = ordinary
	Remembered = remembered
)

// Samples is the number of lines of the block that carry a value.
func (b *Block) Samples() (n int) {
	for _, at := range b.shape.at {
		if s := b.spans[at]; s.end > s.start {
			n++
		}
	}
	return n
}
