package exposition

import "io"

// flushAt is how much text gathers before it is written out; large enough to
// keep writes few, small enough to stay in the processor's cache.
const flushAt = 128 << 10

// WriteText writes the page of the blocks, in the order the layout was made
// for, in text format 0.0.4. The buffer is scratch memory and is returned for
// the next page.
func (l *Layout) WriteText(w io.Writer, blocks []*Block, buf []byte, only func(name string) bool) ([]byte, error) {
	buf = buf[:0]
	for i := range l.families {
		f := &l.families[i]
		if only != nil && !only(f.Name) {
			continue
		}
		head := len(buf)
		buf = append(buf, f.text...)
		empty := len(buf)
		wrote := false
		for _, r := range f.refs {
			buf = blocks[r.block].AppendFamily(buf, int(r.family))
			if len(buf) < flushAt || !wrote && len(buf) == empty {
				continue
			}
			if _, err := w.Write(buf); err != nil {
				return buf, err
			}
			wrote = true
			buf = buf[:0]
		}
		if !wrote && len(buf) == empty {
			// Computed families may have nothing to say; then they are absent.
			buf = buf[:head]
		}
	}
	if len(buf) == 0 {
		return buf, nil
	}
	_, err := w.Write(buf)
	return buf, err
}

// TextLength is the number of bytes that WriteText will write.
func (l *Layout) TextLength(blocks []*Block, only func(name string) bool) int64 {
	total := int64(0)
	for i := range l.families {
		f := &l.families[i]
		if only != nil && !only(f.Name) {
			continue
		}
		size := 0
		for _, r := range f.refs {
			size += blocks[r.block].familySize(int(r.family))
		}
		if size > 0 {
			total += int64(size + len(f.text))
		}
	}
	return total
}

// familySize is the length of what AppendFamily appends.
func (b *Block) familySize(i int) int {
	f := &b.shape.families[i]
	size, start := 0, uint32(0)
	if f.first > 0 {
		start = b.shape.lines[f.first-1].prefixEnd
	}
	for _, line := range b.shape.lines[f.first:f.end] {
		if s := b.spans[line.value]; s.end > s.start {
			size += int(line.prefixEnd-start) + int(s.end-s.start) + 1
		}
		start = line.prefixEnd
	}
	return size
}
