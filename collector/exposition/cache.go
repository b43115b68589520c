package exposition

import (
	"fmt"
	"mime"

	"github.com/prometheus/prometheus/model/labels"
)

// Labeled is the result of a [Labeler] for one series.
type Labeled struct {
	// Labels are the labels of the series on the exporter's page, including the name.
	Labels labels.Labels
	// Keep is false if the series is dropped. Drop is the reason, one of [DropReasons]; empty
	// means DropRelabel.
	Keep bool
	Drop string
	// Collisions counts the target's labels that were renamed because the exporter sets
	// labels of the same name.
	Collisions int
}

// Labeler returns the labels that a series of the target has on the exporter's page.
// It is called once for each series of a new shape, from the goroutine that parses.
type Labeler func(labels.Labels) Labeled

// Options configures how the pages of a target are parsed.
type Options struct {
	// Watch selects by name the series that are read by rules; see [Shape.Watched].
	Watch  func(name string) bool
	Limits Limits
	// Reserved lists the name prefixes that belong to the exporter.
	Reserved []string
	// SelfMarker is the text of a series (name and labels) by which the exporter
	// recognizes its own page, which is rejected. Empty disables the check.
	SelfMarker string
	// Reserve is called with the memory that a page with new series will take, before it
	// is allocated; an error rejects the page.
	Reserve func(Cost) error
}

// Cache parses the pages of one target and caches their shape. It is not safe for
// concurrent use; the blocks it returns are.
type Cache struct {
	opts    Options
	label   *Labeler
	pattern pattern
	// series caches the rendered series of the last body by text. It is filled only while
	// consecutive pages take the slow path, so that series of a page that changes every time are
	// not relabeled again. The first page does not fill it, since the next one usually matches.
	series map[string]cachedSeries
}

type bodyFormat uint8

const (
	formatText bodyFormat = iota
	formatOpenMetrics
)

// NewCache returns an empty cache.
func NewCache(opts Options) *Cache {
	return &Cache{opts: opts}
}

// Parse parses a page and labels its series, unless label is nil. A page with another labeler than
// the previous one takes the slow path. The block does not refer to the body, which the caller may
// reuse. An empty content type is treated as text. On error the cache is unchanged, except that
// it forgets pages with another labeler.
func (c *Cache) Parse(body []byte, contentType string, label *Labeler) (*Block, error) {
	if c.label != label {
		c.label, c.pattern, c.series = label, pattern{}, nil
	}
	format, err := formatOf(contentType)
	if err != nil {
		return nil, err
	}
	b := &Block{}
	if c.pattern.match(b, body, format) {
		c.series = nil
	} else if err := c.parse(b, body, format); err != nil {
		return nil, err
	}
	b.shape = c.pattern.shape
	return b, nil
}

// ParseWatched parses only the watched series of a page, at half the cost of Parse. It is used to
// read the identity of a server from its page before its series can be labeled. The block has no
// lines to write, and the cache is unchanged. It may accept a page that Parse rejects.
func (c *Cache) ParseWatched(body []byte, contentType string) (*Block, error) {
	format, err := formatOf(contentType)
	if err != nil {
		return nil, err
	}
	b := &Block{}
	drop := func(labels.Labels) Labeled { return Labeled{} }
	_, b.shape, err = parseBody(b, body, format, &seriesRenderer{opts: &c.opts, label: drop})
	if err != nil {
		return nil, err
	}
	canonicalize(b)
	return b, nil
}

// formatOf returns the format of a content type. Servers send "text/plain" with or
// without a version, or nothing; HTML and JSON are rejected.
func formatOf(contentType string) (bodyFormat, error) {
	switch contentType {
	case "", "text/plain; charset=utf-8", "text/plain; version=0.0.4; charset=utf-8":
		return formatText, nil
	}
	// Malformed parameters are ignored, and a header without a media type counts as missing.
	media, _, _ := mime.ParseMediaType(contentType)
	switch media {
	case "", "text/plain":
		return formatText, nil
	case "application/openmetrics-text":
		return formatOpenMetrics, nil
	}
	return 0, fmt.Errorf("%w %q: a page is text/plain or application/openmetrics-text", ErrContentType, contentType)
}

// IsOpenMetrics reports whether the content type is OpenMetrics. Such a page ends with "# EOF",
// so that an empty one is known to be complete.
func IsOpenMetrics(contentType string) bool {
	format, err := formatOf(contentType)
	return err == nil && format == formatOpenMetrics
}

// canonicalize rewrites NaN and infinities to their documented spelling.
func canonicalize(b *Block) {
	for i, s := range b.spans {
		if s.end == s.start {
			continue
		}
		text := b.data[s.start:s.end]
		if spelling := canonical(text); spelling != "" && spelling != string(text) {
			b.setAppended(i, append(b.data, spelling...))
		}
	}
}
