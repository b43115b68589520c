package collector

import "sync"

// bodies are buffers that pages are read into. A page is needed only until it
// is parsed, and few replicas read one at the same moment, so all share them.
//
//nolint:gochecknoglobals // memory only; it says nothing of any replica.
var bodies = sync.Pool{New: func() any { return new(bodyBuffer) }}

// bodyBuffer is memory for the body of one page.
type bodyBuffer struct{ memory []byte }

// borrowBody lends a buffer for one page.
func borrowBody() *bodyBuffer {
	b, _ := bodies.Get().(*bodyBuffer)
	return b
}

// grown takes the memory over that a page was read into.
func (b *bodyBuffer) grown(body []byte) {
	if cap(body) > cap(b.memory) {
		b.memory = body[:0]
	}
}

// giveBack ends the use of the buffer and of the page in it.
func (b *bodyBuffer) giveBack() { bodies.Put(b) }
