package exposition

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
)

// sample is one sample of a body on the slow path.
type sample struct {
	series []byte
	value  Span
	// place is the number of the value in blocks, see [pageReader.number].
	place       uint32
	conflicting bool
	// count says that the value is a number of observations.
	count bool
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
	split   seriesSplitter
	// valueDrops says that a series is left out for its value's sake, so that
	// the shape does not serve pages with other values.
	valueDrops bool
}

// parse is the slow path: it reads the whole body, builds a new shape and
// table, and commits them only when all of it is good.
func (c *Cache) parse(b *Block, body []byte, k kind) error {
	lines := &liner{opts: &c.opts, old: c.known}
	if len(body) <= ordinary && c.table.shape != nil {
		lines.fresh = make(map[string]known, c.values)
	}
	r, shape, err := slowly(b, body, k, lines)
	if err != nil {
		return err
	}
	c.table, c.known = c.tableOf(r, shape), lines.fresh
	canonicalise(b)
	return nil
}

// usualLine is about how many bytes of a page a sample has, HELP and TYPE included,
// and mostRoom for how many samples room is made before there are so many.
const usualLine, mostRoom = 100, 1024

// slowly reads a body that is not known yet into a block.
func slowly(b *Block, body []byte, k kind, lines *liner) (*pageReader, *Shape, error) {
	// The parser appends a newline; room for it keeps the body in place, so
	// that offsets follow from capacities.
	if cap(body) == len(body) {
		body = append(make([]byte, 0, len(body)+1), body...)
	}
	r := &pageReader{kind: k, body: body, opts: lines.opts, meta: metadata{longest: lines.opts.Limits.Help}}
	r.samples = make([]sample, 0, min(len(body)/usualLine, mostRoom))
	if err := r.read(); err != nil {
		return nil, nil, err
	}
	if lines.opts.Reserve != nil {
		if err := lines.opts.Reserve(r.cost()); err != nil {
			return nil, nil, err
		}
	}
	shape, err := r.shape(lines)
	if err != nil {
		return nil, nil, err
	}
	b.room(len(r.samples))
	for i := range r.samples {
		text := body[r.samples[i].value.start:r.samples[i].value.end]
		v, ok := number(text)
		if ok && len(text) > longestValue {
			// It takes far more than the value needs.
			text = AppendFloat(nil, v)
		}
		b.take(r.samples[i].place, text, v)
	}
	return r, shape, nil
}

// read walks the body with the parser and notes metadata and samples.
func (r *pageReader) read() error {
	p := r.parser()
	for {
		entry, err := p.Next()
		if errors.Is(err, io.EOF) {
			return r.rest()
		}
		if err != nil {
			return &ParseError{Line: r.line(), Err: err}
		}
		switch entry {
		case textparse.EntryHelp:
			name, text := p.Help()
			r.passed(name)
			r.drops.HelpConflicts += r.meta.help(unescape(name), string(text))
		case textparse.EntryType:
			name, typ := p.Type()
			r.passed(name)
			r.drops.Conflicts += r.meta.typ(unescape(name), typ)
		case textparse.EntryUnit:
			name, unit := p.Unit()
			r.passed(name)
			r.meta.unit(unescape(name), string(unit))
		case textparse.EntryComment:
			r.passed(p.Comment())
		case textparse.EntrySeries:
			if err := r.sample(p); err != nil {
				return err
			}
		default:
			// Text formats carry no native histograms.
		}
	}
}

// passed notes that the parser has read the line on which part begins.
func (r *pageReader) passed(part []byte) {
	at := offset(r.body, part)
	if end := bytes.IndexByte(r.body[at:], '\n'); end >= 0 {
		r.last = at + end
		return
	}
	r.last = len(r.body)
}

// errNUL is a page that textparse takes for finished at a NUL byte.
var errNUL = errors.New("NUL byte between lines")

// rest refuses a page that the parser left before its end, which it does
// without a word at a NUL byte: half a page is no page.
func (r *pageReader) rest() error {
	if at := bytes.IndexByte(r.body[r.last:], 0); at >= 0 {
		return &ParseError{Line: 1 + bytes.Count(r.body[:r.last+at], []byte{'\n'}), Err: errNUL}
	}
	return nil
}

// parser returns textparse's parser for the body's format, reading in place.
func (r *pageReader) parser() textparse.Parser {
	symbols := labels.NewSymbolTable()
	if r.kind == kindOpenMetrics {
		return textparse.NewOpenMetricsParser(r.body, symbols)
	}
	return textparse.NewPromParser(r.body, symbols, false)
}

// offset gives the place of part in body, given that part is a slice of the
// same array whose capacity was not cut.
func offset(body, part []byte) int { return min(cap(body)-cap(part), len(body)) }

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

// sample notes one sample: its series text and the place of its value.
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
		conflicting: r.meta.conflicts > 0 && r.meta.conflicting(r.kind, r.name(series)),
	})
	return nil
}

// name is the metric name of a series text.
func (r *pageReader) name(series []byte) string {
	lset, err := r.split.labels(series)
	if err != nil {
		return ""
	}
	return lset.Get(model.MetricNameLabel)
}

// isSpace ends a value in both text formats.
func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' }
