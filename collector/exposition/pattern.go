package exposition

import (
	"bytes"
	"slices"
	"strings"
	"unique"
)

// pattern is the text around the values of the last valid body, by which the fast path recognizes
// the next one. Targets whose pages differ only in values and GPUs share its pieces.
type pattern struct {
	shape *Shape
	// usable is false if the text does not show where values begin.
	usable bool
	format bodyFormat
	pieces *[]piece
	// tail is the text after the last value.
	tail string
	// valueBytes is the length of all values of the last page.
	valueBytes int
	gpus       []string
}

// piece is the text before one value.
type piece struct {
	// text is interned, so that replicas that list the same series in different orders share it.
	text unique.Handle[pieceText]
	// index is the index of the value in blocks.
	index uint32
	// gpu is the number, from 1, of the GPU in the text among the GPUs of the pattern; 0 means
	// none.
	gpu uint16
	// count is true for a number of observations; if negative, the page takes the slow path.
	count bool
}

// pieceText is the text before a value, without the GPU, which belongs at cut.
type pieceText struct {
	text string
	cut  uint32
}

// maxPatternBytes limits the bodies whose pattern is cached, and so the memory of a target.
const maxPatternBytes = 4 << 20

func (r *pageReader) pattern(shape *Shape) pattern {
	p := pattern{
		shape:      shape,
		usable:     !r.valueDrops,
		format:     r.format,
		valueBytes: r.valueBytes(),
	}
	if len(r.body) > maxPatternBytes {
		p.usable = false
		return p
	}
	pieces, pos := make([]piece, len(r.samples)), uint32(0)
	for i := range r.samples {
		s := &r.samples[i]
		prefix := r.body[pos:s.value.start]
		pc := piece{
			index: s.index,
			count: s.count,
		}
		text := pieceText{string(prefix), uint32(len(prefix))}
		if gpu, start := cutGPU(prefix); len(gpu) > 0 {
			if pc.gpu = uint16(addLocal(&p.gpus, gpu)); pc.gpu > 0 {
				text = pieceText{text.text[:start] + text.text[start+len(gpu):], uint32(start)}
			}
		}
		pc.text = unique.Make(text)
		pieces[i] = pc
		// textparse reads a value in "up+1", but in "up1" the digit at the same position belongs
		// to the name.
		last := r.body[s.value.start-1]
		p.usable = p.usable && (isSpace(last) || last == '}')
		pos = s.value.end
	}
	p.tail, p.gpus = unique.Make(string(r.body[pos:])).Value(), slices.Clip(p.gpus)
	p.pieces = intern(&internedPieces, pieces)
	return p
}

func cutGPU(text []byte) (gpu []byte, start int) {
	const label = LabelGPU + `="`
	i := bytes.LastIndex(text, []byte(label))
	if i < 0 {
		return nil, 0
	}
	start = i + len(label)
	return text[start : start+max(bytes.IndexByte(text[start:], '"'), 0)], start
}

// match parses a body on the fast path: it compares the text around the values with the
// pattern and parses the values into the block. It returns false if they do not match.
func (p *pattern) match(b *Block, body []byte, format bodyFormat) bool {
	if !p.usable || p.format != format {
		return false
	}
	n, pos, words := p.values(b, body)
	if n < len(*p.pieces) || string(body[pos:]) != p.tail {
		return false
	}
	if words {
		canonicalize(b)
	}
	p.valueBytes = len(b.data)
	return true
}

// values parses values into the block while the text before them matches. It returns their number
// and where the last one ends; words is true if some may be spelled in letters.
func (p *pattern) values(b *Block, body []byte) (n, pos int, words bool) {
	pieces := *p.pieces
	b.allocate(len(pieces), p.valueBytes+p.valueBytes/16)
	for n < len(pieces) {
		pc := &pieces[n]
		length := p.prefixLen(pc, body[pos:])
		if length == 0 {
			break
		}
		start := pos + length
		end, v := scan(body, start)
		if end < 0 || end-start > maxValueBytes || v < 0 && pc.count {
			break
		}
		words = words || body[end-1] > '9'
		b.setParsed(pc.index, body[start:end], v)
		n, pos = n+1, end
	}
	return n, pos, words
}

// prefixLen returns the length of a piece if the body begins with it, else 0.
func (p *pattern) prefixLen(pc *piece, body []byte) int {
	if pc.gpu > 0 {
		return p.prefixLenGPU(pc, body)
	}
	text := pc.text.Value().text
	if n := len(text); len(body) >= n && string(body[:n]) == text {
		return n
	}
	return 0
}

// prefixLenGPU is prefixLen for a piece with a GPU. It is rarely called; inlined, it would take
// registers from the loop.
//
//go:noinline
func (p *pattern) prefixLenGPU(pc *piece, body []byte) int {
	gpu, template := p.gpus[pc.gpu-1], pc.text.Value()
	text, cut := template.text, int(template.cut)
	n := len(text) + len(gpu)
	end := cut + len(gpu)
	if len(body) < n ||
		string(body[:cut]) != text[:cut] ||
		string(body[cut:end]) != gpu ||
		string(body[end:n]) != text[cut:] {
		return 0
	}
	return n
}

// text returns the text before value i.
func (p *pattern) text(i int) string {
	pc := &(*p.pieces)[i]
	text := pc.text.Value()
	if pc.gpu == 0 {
		return text.text
	}
	return text.text[:text.cut] + p.gpus[pc.gpu-1] + text.text[text.cut:]
}

// Truncated reports whether a body may be a truncated copy of the last valid page: it has the
// same lines in the same order and ends before the last family. It also returns the number of
// samples that remain. It must be called before the body is parsed.
func (c *Cache) Truncated(body []byte) (samples int, truncated bool) {
	p := &c.pattern
	if !p.usable {
		return 0, false
	}
	samples, pos, _ := p.values(&Block{}, body)
	if samples == len(*p.pieces) || !strings.HasPrefix(p.text(samples), string(body[pos:])) {
		return 0, false
	}
	return samples, samples == 0 || p.name(samples-1) != p.name(len(*p.pieces)-1)
}

// name returns the name of the series before value i.
func (p *pattern) name(i int) string {
	text := p.text(i)
	line := text[strings.LastIndexByte(text, '\n')+1:]
	if end := strings.IndexAny(line, "{ \t"); end >= 0 {
		return line[:end]
	}
	return line
}
