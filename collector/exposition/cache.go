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

// Page is a page that was read and refers to its body. The series of a new page are neither labeled
// nor rendered yet, which takes most of its memory, see [Page.Cost].
type Page struct {
	// matched is the block of a page with the series of the previous one, read the text of a new
	// page.
	matched *Block
	read    *pageReader
}

// Parse reads a page and adds it, see [Cache.Match], [Cache.Read] and [Cache.Add]. The block does not
// refer to the body, which the caller may reuse.
func (c *Cache) Parse(body []byte, contentType string, label *Labeler) (*Block, error) {
	page, ok := c.Match(body, contentType, label)
	if !ok {
		var err error
		if page, err = c.Read(body, contentType, nil); err != nil {
			return nil, err
		}
	}
	return c.Add(&page, label)
}

// Match reads a page that has the series, and their labeler, of the previous page. It reports false
// for any other page. An empty content type is treated as text.
func (c *Cache) Match(body []byte, contentType string, label *Labeler) (Page, bool) {
	format, err := formatOf(contentType)
	if err != nil || c.label != label {
		return Page{}, false
	}
	b := &Block{}
	return Page{matched: b}, c.pattern.match(b, body, format)
}

// Read reads a page that does not match the previous one. Series and HELP in which secret, which may be
// nil, finds what must not be shown are left out: pages that match this one later have the same text, and
// need not be searched. Values and bounds are numbers.
func (c *Cache) Read(body []byte, contentType string, secret Secret) (Page, error) {
	format, err := formatOf(contentType)
	if err != nil {
		return Page{}, err
	}
	r, err := readBody(body, format, secret, &c.opts)
	return Page{read: r}, err
}

// New reports whether the page is new.
func (p *Page) New() bool { return p.matched == nil }

// Cost returns what determines the memory of a new page.
func (p *Page) Cost() Cost { return p.read.cost() }

// Watched returns only the watched series of a new page, at half the cost of [Cache.Add]. It is
// used to read the identity of a server from its page before its series can be labeled. The block
// has no lines to write. It may accept a page that Add rejects.
func (p *Page) Watched() (*Block, error) {
	drop := func(labels.Labels) Labeled { return Labeled{} }
	return p.read.block(&seriesRenderer{
		opts:  p.read.opts,
		label: drop,
	})
}

// Add returns the block of a page and caches its shape. It labels the series of a new page, unless
// label is nil. On error the cache is unchanged, except that it forgets pages with another labeler.
func (c *Cache) Add(p *Page, label *Labeler) (*Block, error) {
	if !p.New() {
		c.series, p.matched.shape = nil, c.pattern.shape
		return p.matched, nil
	}
	if c.label != label {
		c.pattern, c.series = pattern{}, nil
	}
	c.label = label
	return c.add(p.read)
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
