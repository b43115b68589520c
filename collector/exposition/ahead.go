package exposition

import "strings"

// ahead is how many refs are looked at together before their lines are written.
const ahead = 16

// source is what the lines of a block are written from, of the block and of its shape.
// A whole page goes through all blocks for each of its families, and so has this in
// one place, next to that of the following block; for few families that costs more
// than it saves.
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
	// single is one that is asked for by itself.
	single segment
	// looked has the compiler keep what lookAhead reads; it means nothing.
	looked byte
}

// lines are those of a ref, until the next are asked for, and their values.
func (c *course) lines(r *ref) (seg *segment, data []byte, spans []Span) {
	if c.sources == nil || c.part(r) != nil {
		b := c.blocks[r.block]
		c.single = c.segment(r)
		return &c.single, b.data, b.spans
	}
	from := &c.sources[r.block]
	if c.family != r.family || c.lists != from.lists || from.lists.families == nil {
		c.lists, c.family, c.last = from.lists, r.family, c.shapes[r.block].segment(int(r.family))
	}
	c.last.own = from.own
	return &c.last, from.data, from.spans
}

// lookAhead reads a byte of what each ref needs: the place of its first value, that
// value, and the replica's own text where it is not next to that of others. A page has
// a family of all targets after another, so none of it is in the processor's cache;
// read one after the other these are as many waits for memory, for each is behind the
// last, while those of several refs are waited for at the same time.
func (c *course) lookAhead(refs []ref) {
	if c.parts != nil {
		return
	}
	sum := byte(0)
	for i := range refs {
		switch r := &refs[i]; {
		case r.family < 0:
		case c.sources == nil:
			sum += lookAt(c.blocks[r.block], c.shapes[r.block], r.family)
		default:
			seg, data, spans := c.lines(r)
			if v := spans[seg.at[0]]; int(v.start) < len(data) {
				sum += data[v.start]
			}
		}
	}
	c.looked += sum
}

// lookAt does so for a family of one block.
func lookAt(b *Block, s *Shape, family int32) (sum byte) {
	if v := b.spans[s.at[s.families[family].first]]; int(v.start) < len(b.data) {
		sum = b.data[v.start]
	}
	if len(s.own) > 0 && s.own[0] != "" {
		sum += s.own[0][0]
	}
	return sum
}

// append appends the lines of a ref.
func (c *course) append(dst []byte, r *ref) []byte {
	if p := c.part(r); p != nil && p.judge != judgeNothing {
		return p.append(dst, c.blocks[r.block])
	}
	seg, data, spans := c.lines(r)
	return seg.append(dst, data, spans)
}
