package exposition

// The bounds of what is kept of a page.
const (
	Ordinary   = ordinary
	Remembered = remembered
)

// Strict says which rule of OpenMetrics a page breaks.
func Strict(page string) error { return strict([]byte(page)) }

// ManyWriters is a packer that has other processors help with any page.
func ManyWriters() *Packer { return &Packer{each: 1} }

// Kept are the compressed pieces that a packer keeps, each by its first byte in
// memory.
func (p *Packer) Kept() map[*byte]bool {
	all := make(map[*byte]bool)
	for _, one := range p.kept {
		all[&one.data[0]] = true
	}
	return all
}

// Steady is how many pieces a packer knows by their values.
func (p *Packer) Steady() (n int) {
	for _, one := range p.pieces {
		if one.piece != nil {
			n++
		}
	}
	return n
}

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
