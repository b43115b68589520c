package exposition

import "hash/maphash"

const (
	// largePageBytes is the maximum size of a page whose pattern is cached at once. It
	// exceeds most pages.
	largePageBytes = 256 << 10
	// maxPatternBytes is the maximum size of a page whose pattern is cached at all.
	maxPatternBytes = 4 << 20
)

// largePage is a hash of the text around the values of a large page. The pattern of a
// large page is cached when it occurs a second time, so that a page that changes every
// time takes no memory.
type largePage struct {
	seed maphash.Seed
	sum  uint64
	// shape is nil if it depends on the values of the page.
	shape *Shape
}

// patternOf returns the pattern to cache of the body just read.
func (c *Cache) patternOf(r *pageReader, shape *Shape) pattern {
	if len(r.body) <= largePageBytes {
		c.large = largePage{}
		return r.pattern(shape)
	}
	previous := c.large
	if c.large = r.hash(previous.seed); !r.valueDrops {
		c.large.shape = shape
	}
	if previous.shape == nil || c.large.shape == nil || c.large.sum != previous.sum {
		return pattern{shape: shape, format: r.format}
	}
	c.large.shape = previous.shape
	if len(r.body) > maxPatternBytes {
		return pattern{shape: previous.shape, format: r.format}
	}
	return r.pattern(previous.shape)
}

// hash hashes the text around the values.
func (r *pageReader) hash(seed maphash.Seed) largePage {
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
	_ = h.WriteByte(byte(r.format))
	return largePage{seed: h.Seed(), sum: h.Sum64()}
}
