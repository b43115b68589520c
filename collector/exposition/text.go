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
		for j := range f.refs {
			r := &f.refs[j]
			buf = r.append(buf, blocks[r.block])
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
		size := int64(0)
		for j := range f.refs {
			r := &f.refs[j]
			size += int64(blocks[r.block].sizes[r.family])
		}
		if size > 0 {
			total += size + int64(len(f.text))
		}
	}
	return total
}
