package exposition

// ahead is how many refs are looked at together before their lines are written.
const ahead = 16

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

// lines are those of a family of a shape, until the next are asked for.
func (c *course) lines(s *Shape, family int32) *segment {
	if c.family != family || c.lists != s.list || s.list.families == nil {
		c.lists, c.family, c.last = s.list, family, s.segment(int(family))
	}
	c.last.own = s.own
	return &c.last
}

// lookAhead reads a byte of what each ref needs: its block, the place of its first
// value, that value, and the replica's own text. A page has a family of all targets
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
		b, seg := c.blocks[r.block], c.lines(c.shapes[r.block], r.family)
		if v := b.spans[seg.at[0]]; int(v.start) < len(b.data) {
			c.looked += b.data[v.start]
		}
		if len(seg.own) > 0 && seg.own[0] != "" {
			c.looked += seg.own[0][0]
		}
	}
}

// append appends the lines of a ref.
func (c *course) append(dst []byte, r *ref) []byte {
	b := c.blocks[r.block]
	if p := c.part(r); p != nil {
		return p.append(dst, b)
	}
	return c.lines(c.shapes[r.block], r.family).append(dst, b)
}
