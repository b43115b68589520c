package exposition

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
)

type sample struct {
	series []byte
	// value is the range of the value in the body.
	value Span
	// index is the index of the value in blocks, see [pageReader.assignIndexes].
	index uint32
	// conflicting is true after a TYPE that contradicts the first one of the family.
	conflicting bool
	// count is true if the value is a number of observations.
	count bool
	// timestamp is in milliseconds, the largest number for a sample of the time of the scrape.
	timestamp int64
	// watched holds the labels as the server wrote them; empty unless the series is watched.
	watched labels.Labels
}

// after reports whether a sample is newer than another one.
func (s *sample) after(other *sample) bool { return s.timestamp > other.timestamp }

// pageReader parses one body on the slow path.
type pageReader struct {
	format bodyFormat
	body   []byte
	opts   *Options
	// secret finds what must not be shown; nil if the page has nothing of it.
	secret  Secret
	samples []sample
	meta    metadata
	// consumed is the offset up to which the parser has read.
	consumed int
	drops    Drops
	split    seriesSplitter
	// valueDrops is true if a series was dropped because of its value, so that the shape does not
	// fit pages with other values.
	valueDrops bool
}

// add labels and renders a page. The new shape and pattern replace the cached ones only if there
// is no error. The pattern of a large page takes as much memory as the page: one that changed has none
// until it comes again.
func (c *Cache) add(r *pageReader) (*Block, error) {
	renderer := &seriesRenderer{opts: &c.opts}
	if r.secret == nil {
		renderer.previous = c.series // What must not be shown may change from page to page.
	}
	if c.label != nil {
		renderer.label = *c.label
	}
	if len(r.body) <= largePageBytes && c.pattern.shape != nil {
		renderer.current = make(map[string]cachedSeries, c.pattern.shape.Lines())
	}
	b, err := r.block(renderer)
	if err != nil {
		return nil, err
	}
	previous := c.pattern.shape
	again := previous != nil && b.shape.equal(previous)
	if again {
		b.shape = previous
	}
	c.pattern, c.series = pattern{shape: b.shape}, renderer.current
	if previous == nil || again || len(r.body) <= largePageBytes {
		c.pattern = r.pattern(b.shape)
	}
	return b, nil
}

// typicalSampleBytes is the usual length of a sample with its share of HELP and TYPE.
// maxInitialSamples limits the memory allocated for samples in advance.
const typicalSampleBytes, maxInitialSamples = 100, 1024

// readBody reads a body on the slow path.
func readBody(body []byte, format bodyFormat, secret Secret, opts *Options) (*pageReader, error) {
	// The parser appends a newline. With spare capacity the body is not moved, which offset
	// relies on.
	if cap(body) == len(body) {
		body = append(make([]byte, 0, len(body)+1), body...)
	}
	r := &pageReader{
		format:  format,
		body:    body,
		opts:    opts,
		secret:  secret,
		samples: make([]sample, 0, min(len(body)/typicalSampleBytes, maxInitialSamples)),
		meta:    metadata{maxHelp: opts.Limits.Help},
		split:   seriesSplitter{secret: secret},
	}
	err := r.read()
	return r, err
}

// block renders the series of the body. It may be called again, with another renderer.
func (r *pageReader) block(renderer *seriesRenderer) (*Block, error) {
	renderer.split.secret = r.secret
	shape, err := r.shape(renderer)
	if err != nil {
		return nil, err
	}
	b := &Block{shape: shape}
	b.allocate(len(r.samples), r.valueBytes())
	for i := range r.samples {
		text := r.body[r.samples[i].value.start:r.samples[i].value.end]
		v, ok := number(text)
		if ok && len(text) > maxValueBytes {
			text = AppendFloat(nil, v)
		}
		b.setParsed(r.samples[i].index, text, v)
	}
	canonicalize(b)
	return b, nil
}

func (r *pageReader) valueBytes() (size int) {
	for i := range r.samples {
		size += min(int(r.samples[i].value.end-r.samples[i].value.start), maxValueBytes)
	}
	return size
}

func (r *pageReader) read() error {
	p, limit := r.parser(), r.opts.Limits.Samples
	for {
		// Families without samples take as much memory.
		if limit > 0 && max(len(r.samples), len(r.meta.byName)-len(r.samples)) > limit {
			return fmt.Errorf("%w: the page has more than limits.samples = %d samples, or families without samples",
				ErrSampleLimit, limit)
		}
		entry, err := p.Next()
		if errors.Is(err, io.EOF) {
			return r.checkEnd()
		}
		if err != nil {
			if r.secret != nil {
				err = errSecret
			}
			return &ParseError{
				Line: r.line(),
				Err:  err,
			}
		}
		switch entry {
		case textparse.EntryHelp:
			name, text := p.Help()
			r.advance(name)
			if !r.secret.in(string(text)) {
				r.meta.setHelp(unescape(name), string(text))
			}
		case textparse.EntryType:
			name, typ := p.Type()
			r.advance(name)
			r.drops.Conflicts += r.meta.setType(unescape(name), typ)
		case textparse.EntryUnit:
			name, _ := p.Unit()
			r.advance(name)
			r.meta.get(unescape(name)) // It declares the family; text has no units.
		case textparse.EntryComment:
			r.advance(p.Comment())
		case textparse.EntrySeries:
			if err := r.sample(p); err != nil {
				return err
			}
		default:
			// Text formats have no native histograms.
		}
	}
}

// advance moves consumed to the end of the line in which part begins.
func (r *pageReader) advance(part []byte) {
	start := offset(r.body, part)
	r.consumed = len(r.body)
	if end := bytes.IndexByte(r.body[start:], '\n'); end >= 0 {
		r.consumed = start + end
	}
}

// checkEnd returns an error if the parser stopped early: textparse silently treats a
// NUL byte as the end of the page.
func (r *pageReader) checkEnd() error {
	if i := bytes.IndexByte(r.body[r.consumed:], 0); i >= 0 {
		return &ParseError{
			Line: 1 + bytes.Count(r.body[:r.consumed+i], []byte{'\n'}),
			Err:  errors.New("NUL byte between lines"),
		}
	}
	return nil
}

func (r *pageReader) parser() textparse.Parser {
	symbols := labels.NewSymbolTable()
	if r.format == formatOpenMetrics {
		return textparse.NewOpenMetricsParser(r.body, symbols)
	}
	return textparse.NewPromParser(r.body, symbols, false)
}

// offset returns the position of part in body. Both must share an array and end with it.
func offset(body, part []byte) int { return min(cap(body)-cap(part), len(body)) }

func (r *pageReader) line() int {
	rest := r.body[r.consumed:]
	end := r.consumed
	if i := bytes.IndexByte(rest, '\n'); i >= 0 && r.consumed > 0 {
		end += i + 1
	}
	for end < len(r.body) && r.body[end] == '\n' {
		end++
	}
	return 1 + bytes.Count(r.body[:end], []byte{'\n'})
}

func (r *pageReader) sample(p textparse.Parser) error {
	text, ts, _ := p.Series()
	start := offset(r.body, text)
	value := start + len(text)
	for value < len(r.body) && (r.body[value] == ' ' || r.body[value] == '\t') {
		value++
	}
	end := value
	for end < len(r.body) && !isSpace(r.body[end]) {
		end++
	}
	r.consumed = end
	timestamp := int64(math.MaxInt64)
	if ts != nil {
		timestamp = *ts
		r.drops.Timestamps++
	}
	series := r.body[start : start+len(text)]
	if marker := r.opts.SelfMarker; marker != "" && string(bytes.TrimLeft(series, " \t")) == marker {
		return ErrSelfScrape
	}
	r.samples = append(r.samples, sample{
		series:      series,
		value:       Span{uint32(value), uint32(end)},
		timestamp:   timestamp,
		conflicting: r.meta.conflicts > 0 && r.meta.conflicting(r.format, r.nameOf(series)),
	})
	return nil
}

// nameOf returns the name of a series, empty if it will be dropped.
func (r *pageReader) nameOf(series []byte) string {
	lset, drop := r.split.labels(series)
	if drop != "" {
		return ""
	}
	return lset.Get(model.MetricNameLabel)
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' }
