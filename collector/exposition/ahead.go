package exposition

import "strings"

// ahead is how many refs are looked at together before their lines are written.
const ahead = 16

// source is what the lines of a block are written from, of the block and of its shape.
// A page goes through all blocks for each of its families, and so has this in one
// place, next to that of the following block.
type source struct {
	spans []Span
	data  []byte
	own   []string
	lists lists
}

// sources are those of the blocks of a page. The first of a replica's own texts is in
// nearly all of its lines, and so is next to that of the following replica too.
func sources(blocks []*Block) []source {
	count, size := 0, 0
	for _, b := range blocks {
		if count += len(b.shape.own); len(b.shape.own) > 0 {
			size += len(b.shape.own[0])
		}
	}
	all, own := make([]source, len(blocks)), make([]string, 0, count)
	var texts strings.Builder
	texts.Grow(size)
	for i, b := range blocks {
		first := len(own)
		if own = append(own, b.shape.own...); len(own) > first {
			texts.WriteString(own[first])
			own[first] = texts.String()[texts.Len()-len(own[first]):]
		}
		all[i] = source{b.spans, b.data, own[first:], b.shape.list}
	}
	return all
}

// course goes through the refs of a page and gives the segment of each. Most replicas
// of a family have the same lines, so it has them of the shape before. It is for one
// goroutine, and its zero value is at the beginning.
type course struct {
	*content

	lists  lists
	family int32
	last   segment
	// looked has the compiler keep what lookAhead reads; it means nothing.
	looked byte
}

// lines are those of a ref that is a family of its shape, until the next are asked for.
func (c *course) lines(r *ref) (*segment, *source) {
	from := &c.sources[r.block]
	if c.family != r.family || c.lists != from.lists || from.lists.families == nil {
		c.lists, c.family, c.last = from.lists, r.family, c.shapes[r.block].segment(int(r.family))
	}
	c.last.own = from.own
	return &c.last, from
}

// lookAhead reads a byte of what each ref needs: the place of its first value, and
// that value. A page has a family of all targets
// after another, so none of it is in the processor's cache; read one after the
// other these are as many waits for memory, for each is behind the last, while those
// of several refs are waited for at the same time.
func (c *course) lookAhead(refs []ref) {
	if c.parts != nil {
		return
	}
	for i := range refs {
		r := &refs[i]
		if r.family < 0 {
			continue
		}
		seg, from := c.lines(r)
		if v := from.spans[seg.at[0]]; int(v.start) < len(from.data) {
			c.looked += from.data[v.start]
		}
	}
}

// append appends the lines of a ref.
func (c *course) append(dst []byte, r *ref) []byte {
	if p := c.part(r); p != nil {
		return p.append(dst, c.blocks[r.block])
	}
	seg, from := c.lines(r)
	return seg.append(dst, from.data, from.spans)
}
