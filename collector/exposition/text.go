package exposition

import (
	"io"
	"sync"

	"github.com/prometheus/common/model"
)

// flushAt is how much text is buffered before it is written: large enough for few writes, small
// enough to stay in the CPU cache.
const flushAt = 256 << 10

// linesAtOnce is the number of lines between two checks of the buffer.
const linesAtOnce = 1024

// buffers holds unused buffers of pages. Without them the page of one target takes twice as long
// and 200 kB, see BenchmarkPage.
//
//nolint:gochecknoglobals // memory only.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// WriteText writes the page of the blocks, which must be in the order of the layout. If only is
// not nil, it selects families by name.
func (l *Layout) WriteText(w io.Writer, blocks []*Block, only func(name string) bool) (err error) {
	buffer := buffers.Get().(*[]byte) //nolint:forcetypeassert // the pool holds nothing else.
	defer buffers.Put(buffer)
	buf := (*buffer)[:0]
	for i := range l.families {
		f := &l.families[i]
		if only != nil && !f.renamed && !only(f.name) {
			continue
		}
		if buf, err = f.write(w, blocks, buf, only); err != nil {
			break
		}
	}
	if err == nil && len(buf) > 0 {
		_, err = w.Write(buf)
	}
	*buffer = buf
	return err
}

// write appends the family to the buffer and writes the buffer when it is full.
func (f *mergedFamily) write(w io.Writer, blocks []*Block, buf []byte, only func(name string) bool) ([]byte, error) {
	head := len(buf)
	buf = append(buf, f.head...)
	empty := len(buf)
	wrote := false
	for j := range f.refs {
		r := &f.refs[j]
		if !f.selected(r, only) {
			continue
		}
		seg := r.segment()
		for first := 0; first < len(seg.lines); first += linesAtOnce {
			buf = seg.append(buf, blocks[r.block], first, min(first+linesAtOnce, len(seg.lines)))
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
		// A computed family without values is absent.
		buf = buf[:head]
	}
	return buf, nil
}

func (f *mergedFamily) selected(r *familyRef, only func(name string) bool) bool {
	return !f.renamed || only == nil || only(r.selector())
}

// appendHead appends HELP and TYPE.
func appendHead(dst []byte, name string, typ model.MetricType, help string) []byte {
	if !model.LegacyValidation.IsValidMetricName(name) {
		name = string(appendQuoted(nil, name))
	}
	if help != "" {
		dst = append(dst, "# HELP "+name+" "+helpEscaper.Replace(help)+"\n"...)
	}
	word := string(typ)
	if typ == model.MetricTypeUnknown {
		word = "untyped"
	}
	return append(dst, "# TYPE "+name+" "+word+"\n"...)
}

// TextLength returns the number of bytes that WriteText writes, at the same cost.
func (l *Layout) TextLength(blocks []*Block, only func(name string) bool) int64 {
	text := lengthWriter{Writer: io.Discard}
	_ = l.WriteText(&text, blocks, only)
	return text.length
}
