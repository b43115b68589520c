package exposition

import (
	"io"
	"math"
)

// flushAt is how much text gathers before it is written out; large enough to
// keep writes few, small enough to stay in the processor's cache.
const flushAt = 256 << 10

// endOfPage is the last line of a page in OpenMetrics.
const endOfPage = "# EOF\n"

// WriteText writes the page of the blocks, in the order the layout was made
// for, in the text format that the layout is for; see [Layout.In]. The buffer is scratch memory and is returned for
// the next page.
func (l *Layout) WriteText(w io.Writer, blocks []*Block, buf []byte, only func(name string) bool) ([]byte, error) {
	buf = buf[:0]
	var err error
	for i := range l.families {
		f := &l.families[i]
		if !f.selected(only) {
			continue
		}
		if buf, err = l.writeFamily(w, f, blocks, buf, only); err != nil {
			return buf, err
		}
	}
	buf = l.appendEnd(buf)
	if len(buf) == 0 {
		return buf, nil
	}
	_, err = w.Write(buf)
	return buf, err
}

// writeFamily appends one family to what is to be written, and writes it out
// when it is enough.
func (l *Layout) writeFamily(w io.Writer, f *mergedFamily, blocks []*Block, buf []byte, only func(name string) bool) ([]byte, error) {
	head := len(buf)
	buf = append(buf, f.text...)
	empty := len(buf)
	wrote := false
	for j := range f.refs {
		r := &f.refs[j]
		if !l.taken(f, r, only) {
			continue
		}
		buf = l.appendLines(buf, r, blocks[r.block])
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
	return buf, nil
}

// appendLines appends the lines of a ref.
func (l *Layout) appendLines(dst []byte, r *ref, b *Block) []byte {
	if p := l.part(r); p != nil && p.judge != judgeNothing {
		return p.append(dst, b)
	}
	seg := l.segment(r)
	return seg.append(dst, b.data, b.spans)
}

// appendEnd appends what a page ends with.
func (l *Layout) appendEnd(dst []byte) []byte {
	if l.in.openMetrics {
		return append(dst, endOfPage...)
	}
	return dst
}

// taken says whether the lines of a ref are asked for, in a family that is.
func (l *Layout) taken(f *mergedFamily, r *ref, only func(name string) bool) bool {
	return !f.mixed || only == nil || only(l.asked(r))
}

// TextLength is the number of bytes that WriteText will write.
func (l *Layout) TextLength(blocks []*Block, only func(name string) bool) int64 {
	if only == nil && l.parts == nil && l.moved == nil {
		return l.wholeLength(blocks)
	}
	total := int64(0)
	for i := range l.families {
		f := &l.families[i]
		if !f.selected(only) {
			continue
		}
		if size := l.linesLength(f, blocks, only, math.MaxInt64); size > 0 {
			total += size + int64(len(f.text))
		}
	}
	return total + int64(len(l.appendEnd(nil)))
}

// wholeLength is that of a page with all lines of all blocks, each in the family of
// its shape: what is not known is which families have any.
func (l *Layout) wholeLength(blocks []*Block) int64 {
	total := int64(len(l.appendEnd(nil)))
	for _, b := range blocks {
		total += b.length
	}
	for i := range l.families {
		if f := &l.families[i]; l.linesLength(f, blocks, nil, 1) > 0 {
			total += int64(len(f.text))
		}
	}
	return total
}

// linesLength is the number of bytes of the lines of a family that are asked for,
// counted until there are enough.
func (l *Layout) linesLength(f *mergedFamily, blocks []*Block, only func(name string) bool, enough int64) (size int64) {
	var scratch []byte
	for i := 0; i < len(f.refs) && size < enough; i++ {
		r := &f.refs[i]
		if !l.taken(f, r, only) {
			continue
		}
		var more int64
		more, scratch = l.length(r, blocks[r.block], scratch)
		size += more
	}
	return size
}

// length is the number of bytes of the lines of a ref, which are written to the
// scratch memory where there is no other way to know it.
func (l *Layout) length(r *ref, b *Block, scratch []byte) (int64, []byte) {
	p := l.part(r)
	switch {
	case p == nil:
		return int64(b.sizes[r.family]), scratch
	case p.judge != judgeNothing:
		scratch = p.append(scratch[:0], b)
		return int64(len(scratch)), scratch
	case p.same >= 0:
		return int64(b.sizes[p.same]), scratch
	}
	return p.length(b), scratch
}

// selected says whether a family is asked for; nil asks for all.
func (f *mergedFamily) selected(only func(name string) bool) bool {
	return only == nil || f.mixed || only(f.Name)
}
