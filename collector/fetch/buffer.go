package fetch

import "sync"

// buffers are lent to the scrapes that are under way. A page is needed only
// until it is parsed, and few replicas read one at the same moment, so all share
// them.
//
//nolint:gochecknoglobals // memory only; it says nothing of any replica.
var buffers = sync.Pool{New: func() any { return new(buffer) }}

// buffer is memory for the body of one page.
type buffer struct{ memory []byte }

// borrow lends a buffer for one page.
func borrow() *buffer {
	b, _ := buffers.Get().(*buffer)
	return b
}

// kept bounds the memory that is kept for the next page: that of larger bodies
// is bounded over all targets, and has to be free when they are done with.
const kept = 256 << 10

// keep takes the memory over that a page was read into.
func (b *buffer) keep(body []byte) {
	if cap(body) > cap(b.memory) && cap(body) <= kept {
		b.memory = body[:0]
	}
}
