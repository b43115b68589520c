package exposition

import (
	"io"
	"iter"
	"slices"
)

// flushAt is how much text gathers before it is written out; large enough to
// keep writes few, small enough to stay in the processor's cache.
const flushAt = 256 << 10

// linesAtOnce is how many lines gather before it is looked whether there is enough.
const linesAtOnce = 1024

// endOfPage is the last line of a page in OpenMetrics.
const endOfPage = "# EOF\n"

// WriteText writes the page of the blocks, in the order the layout was made
// for, in the text format that the layout is for; see [Layout.WithFormat]. The buffer is scratch memory and is returned for
// the next page.
func (l *Layout) WriteText(w io.Writer, blocks []*Block, buf []byte, only func(name string) bool) ([]byte, error) {
	buf = buf[:0]
	var err error
	for f := range l.shown(blocks, only) {
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
	buf = append(buf, f.head...)
	empty := len(buf)
	wrote := false
	for j := range f.refs {
		r := &f.refs[j]
		if !l.taken(f, r, only) {
			continue
		}
		seg := l.segment(r)
		for at := 0; at < len(seg.lines); at += linesAtOnce {
			buf = seg.append(buf, blocks[r.block], at, min(at+linesAtOnce, len(seg.lines)))
			if len(buf) < flushAt || !wrote && len(buf) == empty {
				continue
			}
			if _, err := w.Write(buf); err != nil {
				return buf, err
			}
			wrote = true
			buf = buf[:0]
		}
	}
	if !wrote && len(buf) == empty {
		// Computed families may have nothing to say; then they are absent.
		buf = buf[:head]
	}
	return buf, nil
}

// shown gives the families of a page that are asked for, or their lines by sample
// name where the values cannot be under the type.
func (l *Layout) shown(blocks []*Block, only func(name string) bool) iter.Seq[*mergedFamily] {
	return func(yield func(*mergedFamily) bool) {
		for i := range l.families {
			f := &l.families[i]
			if only != nil && !f.mixed && !only(f.name) {
				continue
			}
			families := l.families[i : i+1]
			if f.apart != nil && !f.carries(blocks) {
				families = f.apart()
			}
			for j := range families {
				if !yield(&families[j]) {
					return
				}
			}
		}
	}
}

// carries reports whether the values of all blocks can be under the type.
func (f *mergedFamily) carries(blocks []*Block) bool {
	return !slices.ContainsFunc(f.refs, func(r ref) bool { return !r.part.carries(f.typ, blocks[r.block]) })
}

// appendEnd appends what a page ends with.
func (l *Layout) appendEnd(dst []byte) []byte {
	if l.in.openMetrics {
		return append(dst, endOfPage...)
	}
	return dst
}

// taken reports whether the lines of a ref are asked for, in a family that is.
func (l *Layout) taken(f *mergedFamily, r *ref, only func(name string) bool) bool {
	return !f.mixed || only == nil || only(l.asked(r))
}

// TextLength is the number of bytes that WriteText will write.
func (l *Layout) TextLength(blocks []*Block, only func(name string) bool) int64 {
	total := int64(len(l.appendEnd(nil)))
	for f := range l.shown(blocks, only) {
		size := int64(0)
		for i := range f.refs {
			if r := &f.refs[i]; l.taken(f, r, only) {
				seg := l.segment(r)
				size += seg.length(blocks[r.block])
			}
		}
		if size > 0 {
			total += size + int64(len(f.head))
		}
	}
	return total
}
