package exposition

import "hash/maphash"

const (
	// ordinary is the most bytes of a page whose text is kept from the first time
	// on, so that what differs from it in values alone takes the fast path. It is
	// more than most pages have.
	ordinary = 256 << 10
	// remembered is the most text that is kept of any page. What is longer takes
	// the slow path each time.
	remembered = 4 << 20
)

// hugeShape is a page over the ordinary size as a number, which costs nothing
// where series are others each time.
type hugeShape struct {
	seed maphash.Seed
	sum  uint64
	// shape is of that page; nil when it depends on its values.
	shape *Shape
}

// tableOf is what is kept of the body just read.
func (c *Cache) tableOf(r *pageReader, shape *Shape) table {
	if len(r.body) <= ordinary {
		c.huge = hugeShape{}
		return r.table(shape)
	}
	before := c.huge
	if c.huge = r.sum(before.seed); !r.valueDrops {
		c.huge.shape = shape
	}
	if before.shape == nil || c.huge.shape == nil || c.huge.sum != before.sum {
		return table{shape: shape, kind: r.kind}
	}
	c.huge.shape = before.shape
	if len(r.body) > remembered {
		return table{shape: before.shape, kind: r.kind}
	}
	return r.table(before.shape)
}

// sum hashes the text between the values.
func (r *pageReader) sum(seed maphash.Seed) hugeShape {
	var h maphash.Hash
	if seed != (maphash.Seed{}) {
		h.SetSeed(seed)
	}
	pos := uint32(0)
	for i := range r.samples {
		value := r.samples[i].value
		_, _ = h.Write(r.body[pos:value.start])
		_ = h.WriteByte(0)
		pos = value.end
	}
	_, _ = h.Write(r.body[pos:])
	_ = h.WriteByte(byte(r.kind))
	return hugeShape{seed: h.Seed(), sum: h.Sum64()}
}
