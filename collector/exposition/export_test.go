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

// Size is the length of all lines as the block has measured them.
func (b *Block) Size() (size int) {
	for _, one := range b.sizes {
		size += int(one)
	}
	return size
}
