package exposition

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
)

// sample is one sample of a body on the slow path.
type sample struct {
	series      []byte
	value       Span
	conflicting bool
}

// pageReader is the slow path over one body.
type pageReader struct {
	kind    kind
	body    []byte
	opts    *Options
	samples []sample
	meta    metadata
	last    int
	drops   Drops
}

// parse is the slow path: it reads the whole body, builds a new shape and
// table, and commits them only when all of it is well.
func (c *Cache) parse(b *Block, k kind) error {
	body := b.data
	// The parser appends a newline; room for it keeps the body in place, so
	// that offsets can be told by capacity.
	if cap(body) == len(body) {
		body = append(make([]byte, 0, len(body)+1), body...)
		b.data = body
	}
	r := &pageReader{kind: k, body: body, opts: &c.opts}
	if err := r.read(); err != nil {
		return err
	}
	lines := &liner{opts: &c.opts, old: c.known, fresh: make(map[string]known, len(r.samples))}
	shape, err := r.shape(lines)
	if err != nil {
		return err
	}
	b.spans = b.spans[:0]
	for i := range r.samples {
		b.spans = append(b.spans, r.samples[i].value)
	}
	c.table, c.known = r.table(shape), lines.fresh
	canonicalise(b)
	return nil
}

// read walks the body with the parser and notes metadata and samples.
func (r *pageReader) read() error {
	p := r.parser()
	for {
		entry, err := p.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return &ParseError{Line: r.line(), Err: err}
		}
		switch entry {
		case textparse.EntryHelp:
			name, text := p.Help()
			r.last = offset(r.body, text)
			r.meta.help(string(name), string(text))
		case textparse.EntryType:
			name, typ := p.Type()
			r.last = offset(r.body, name)
			r.drops.Conflicts += r.meta.typ(string(name), typ)
		case textparse.EntryUnit:
			name, unit := p.Unit()
			r.meta.unit(string(name), string(unit))
		case textparse.EntrySeries:
			if err := r.sample(p); err != nil {
				return err
			}
		default:
			// Comments say nothing, and text formats carry no native
			// histograms.
		}
	}
}

// parser returns textparse's parser for the body's format, reading in place.
func (r *pageReader) parser() textparse.Parser {
	symbols := labels.NewSymbolTable()
	if r.kind == kindOpenMetrics {
		return textparse.NewOpenMetricsParser(r.body, symbols)
	}
	return textparse.NewPromParser(r.body, symbols, false)
}

// offset tells where part begins in body, given that part is a slice of the
// same array; other slices, such as an unescaped help text, give no place.
func offset(body, part []byte) int {
	at := cap(body) - cap(part)
	if at < 0 || at > len(body) {
		return 0
	}
	return at
}

// line is the line on which the parser stopped.
func (r *pageReader) line() int {
	rest := r.body[r.last:]
	end := r.last
	if i := bytes.IndexByte(rest, '\n'); i >= 0 && r.last > 0 {
		end += i + 1
	}
	for end < len(r.body) && r.body[end] == '\n' {
		end++
	}
	return 1 + bytes.Count(r.body[:end], []byte{'\n'})
}

// sample notes one sample: its series text and where its value stands.
func (r *pageReader) sample(p textparse.Parser) error {
	text, ts, _ := p.Series()
	start := offset(r.body, text)
	at := start + len(text)
	for at < len(r.body) && (r.body[at] == ' ' || r.body[at] == '\t') {
		at++
	}
	end := at
	for end < len(r.body) && !isSpace(r.body[end]) {
		end++
	}
	r.last = end
	if ts != nil {
		r.drops.Timestamps++
	}
	if limit := r.opts.Limits.Samples; limit > 0 && len(r.samples) >= limit {
		return fmt.Errorf("%w: the page has more than limits.samples = %d", ErrSampleLimit, limit)
	}
	series := r.body[start : start+len(text)]
	if marker := r.opts.SelfMarker; marker != "" && string(bytes.TrimLeft(series, " \t")) == marker {
		return ErrSelfScrape
	}
	r.samples = append(r.samples, sample{
		series:      series,
		value:       Span{uint32(at), uint32(end)},
		conflicting: r.meta.conflicting(seriesName(series)),
	})
	return nil
}

// isSpace ends a value in both text formats.
func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' }

// seriesName is the metric name at the front of a series text; quoted names
// inside braces give none and are resolved by their labels.
func seriesName(series []byte) string {
	series = bytes.TrimLeft(series, " \t")
	if end := bytes.IndexAny(series, "{ \t"); end >= 0 {
		series = series[:end]
	}
	return string(series)
}

// table keeps the constant bytes of the body just read.
func (r *pageReader) table(shape *Shape) table {
	t := table{shape: shape, kind: r.kind, consts: make([]uint32, len(r.samples))}
	size := len(r.body)
	for i := range r.samples {
		size -= int(r.samples[i].value.end - r.samples[i].value.start)
	}
	t.text = make([]byte, 0, size)
	pos := uint32(0)
	for i := range r.samples {
		s := &r.samples[i]
		t.consts[i] = s.value.start - pos
		t.text = append(t.text, r.body[pos:s.value.start]...)
		pos = s.value.end
	}
	t.text = append(t.text, r.body[pos:]...)
	return t
}
