package exposition

import "io"

// Packed is a compressed page. It does not change until it is released, may be
// written by several at the same time, and has its pieces in common with the [Packer]
// that made it: the page is nowhere in one.
type Packed struct {
	head, tail []byte
	pieces     []*piece
	size       int
}

// Whole is a page that is there already, which must not change any more.
func Whole(page []byte) *Packed { return &Packed{head: page, size: len(page)} }

// newPacked puts the pieces of a page together, which it holds.
func newPacked(e Encoding, pieces []*piece) *Packed {
	p := &Packed{pieces: pieces}
	if e == Gzip {
		p.head, p.tail = []byte(gzipHead), gzipTail(pieces)
	}
	p.size = len(p.head) + len(p.tail)
	for _, one := range pieces {
		one.hold()
		p.size += len(one.data)
	}
	return p
}

// Release gives the memory of the page back, once, when nobody writes it any more. A
// page that is never released is forgotten like anything else.
func (p *Packed) Release() {
	for _, one := range p.pieces {
		one.release()
	}
	p.pieces = nil
}

// Len is the length of the page in bytes.
func (p *Packed) Len() int { return p.size }

// Write writes the page. The buffer is scratch memory and is returned for the next
// page.
func (p *Packed) Write(w io.Writer, buf []byte) ([]byte, error) {
	if len(p.pieces) == 0 && len(p.tail) == 0 {
		_, err := w.Write(p.head)
		return buf, err
	}
	buf = append(buf[:0], p.head...)
	for _, one := range p.pieces {
		if len(buf)+len(one.data) > flushAt && len(buf) > 0 {
			if _, err := w.Write(buf); err != nil {
				return buf, err
			}
			buf = buf[:0]
		}
		buf = append(buf, one.data...)
	}
	_, err := w.Write(append(buf, p.tail...))
	return buf, err
}
