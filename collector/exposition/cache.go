package exposition

import (
	"fmt"
	"mime"

	"github.com/prometheus/prometheus/model/labels"
)

// Labeled is what a [Labeler] makes of one series.
type Labeled struct {
	// Labels are the series' labels on our page, name included.
	Labels labels.Labels
	// Keep is false for a series that relabeling drops; Drop may say why, by
	// one of [DropReasons], DropRelabel when empty.
	Keep bool
	Drop string
	// Collisions counts labels of the target that had to give way to ours.
	Collisions int
}

// Labeler gives a series of the target its labels on our page. It is called
// once for each series of a new shape, from the goroutine that parses.
type Labeler func(labels.Labels) Labeled

// Options say how the pages of one target are read.
type Options struct {
	// Label attaches identity and relabels; nil leaves series as they are.
	Label Labeler
	// Watch names the samples whose values rules read; see [Shape.Watched].
	Watch func(name string) bool
	// Limits bound a page; zero fields are no limit.
	Limits Limits
	// Reserved are name prefixes a target may not use, because they are ours.
	Reserved []string
	// SelfMarker is a series text (name and labels) by which this process
	// knows its own page; a target that shows it is refused. Empty is off.
	SelfMarker string
	// Reserve is asked for the memory that a page will take before that is spent, when
	// its series are others than before; its error refuses the page. Nil has room for
	// all.
	Reserve func(Cost) error
}

// Cache reads the pages of one target and remembers their shape. It is not
// safe for concurrent use; the blocks it gives out are.
type Cache struct {
	opts  Options
	table table
	// known gives the rendered lines of the last body by the text of their
	// series. It is kept only while pages take the slow path one after the other,
	// so that a page that changes each time is relabeled once, and never holds more
	// than one page's series. A first page keeps none: the next one is usually the same.
	known map[string]known
	// huge is what the last huge page looked like, which is kept once it came
	// twice.
	huge hugeShape
	// values are how many the last good page has.
	values int
	// fast and slow count the pages that took each path.
	fast, slow uint64
}

// kind is the text format a body is in.
type kind uint8

const (
	kindText kind = iota
	kindOpenMetrics
)

// NewCache returns a cache that has seen no page.
func NewCache(opts Options) *Cache {
	return &Cache{opts: opts}
}

// SetLabeler makes the next page take the slow path with another Labeler, as
// when the identity of the target changed.
func (c *Cache) SetLabeler(label Labeler) {
	c.opts.Label = label
	c.table, c.known, c.huge = table{}, nil, hugeShape{}
}

// Paths says how many pages took the fast and the slow path.
func (c *Cache) Paths() (fast, slow uint64) { return c.fast, c.slow }

// Parse reads a page of the given content type. The block keeps of the body only
// the values: the caller may use its memory again. An empty content type is read as
// text. On error nothing of the page counts and the memory of earlier pages stays as
// it was.
func (c *Cache) Parse(body []byte, contentType string) (*Block, error) {
	k, err := kindOf(contentType)
	if err != nil {
		return nil, err
	}
	b := &Block{}
	if c.table.usable && c.table.kind == k && c.table.match(b, body) {
		c.fast++
		c.known = nil
	} else {
		c.slow++
		if err := c.parse(b, body, k); err != nil {
			return nil, err
		}
	}
	b.shape, c.values = c.table.shape, len(b.spans)
	return b, nil
}

// ParseWatched reads only the series of a page that are watched, without labels of ours, at
// half of what Parse takes for a first page: what a page says of its server has to be
// known before its series can be labelled. The block shows no series, and the next Parse
// of a page is as if this had not been. A page that Parse refuses may be taken.
func (c *Cache) ParseWatched(body []byte, contentType string) (*Block, error) {
	k, err := kindOf(contentType)
	if err != nil {
		return nil, err
	}
	b := &Block{}
	opts := c.opts
	opts.Label = func(labels.Labels) Labeled { return Labeled{} }
	_, b.shape, err = slowly(b, body, k, &liner{opts: &opts})
	if err != nil {
		return nil, err
	}
	canonicalise(b)
	return b, nil
}

// kindOf reads a content type. Servers say "text/plain" with and without a
// version, or nothing; HTML and JSON are never a page.
func kindOf(contentType string) (kind, error) {
	switch contentType {
	case "", "text/plain; charset=utf-8", "text/plain; version=0.0.4; charset=utf-8":
		return kindText, nil
	}
	// Odd parameters do not matter, and a header without any media type is
	// treated as a missing one.
	media, _, _ := mime.ParseMediaType(contentType)
	switch media {
	case "", "text/plain":
		return kindText, nil
	case "application/openmetrics-text":
		return kindOpenMetrics, nil
	}
	return 0, fmt.Errorf("%w %q: a page is text/plain or application/openmetrics-text", ErrContentType, contentType)
}

// IsOpenMetrics reports whether pages of a content type end with a line that says so,
// as those of OpenMetrics do: then one without samples is whole.
func IsOpenMetrics(contentType string) bool {
	k, err := kindOf(contentType)
	return err == nil && k == kindOpenMetrics
}

// canonicalise gives NaN and infinities the documented spelling.
func canonicalise(b *Block) {
	for i, s := range b.spans {
		if s.end == s.start {
			continue
		}
		if word := canonical(b.data[s.start:s.end]); word != "" && word != string(b.data[s.start:s.end]) {
			start := uint32(len(b.data))
			b.data = append(b.data, word...)
			b.spans[i] = Span{start, start + uint32(len(word))}
		}
	}
}
