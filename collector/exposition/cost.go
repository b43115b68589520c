package exposition

import "bytes"

// Cost is what determines the memory of a page: the number of its metric names and
// series, and the length of their text.
type Cost struct{ Names, Series, Text int }

// Bytes estimates the memory of the page, erring on the high side. The factors were measured on
// pages of 50,000 series.
func (c Cost) Bytes() int64 { return int64(c.Names)*1200 + int64(c.Series)*400 + int64(c.Text) }

// cost returns the cost of the page without what the output limits leave out.
func (r *pageReader) cost() (c Cost) {
	names := make(map[string]bool)
	for i := range r.samples {
		text := r.samples[i].series
		c.Text += len(text)
		if name := rawName(text); !names[string(name)] {
			names[string(name)] = true
		}
	}
	c.Names, c.Series = len(names), len(r.samples)
	limit := r.opts.Limits.Output
	if limit.Bytes > 0 && c.Text > limit.Bytes {
		c.Series, c.Text = int(int64(c.Series)*int64(limit.Bytes)/int64(c.Text)), limit.Bytes
	}
	if limit.Series > 0 {
		c.Series = min(c.Series, limit.Series)
	}
	c.Names = min(c.Names, c.Series)
	return c
}

// rawName returns the escaped name of a series, or the first quoted text in its braces.
func rawName(series []byte) []byte {
	name, rest, _ := bytes.Cut(series, []byte{'{'})
	if len(bytes.TrimSpace(name)) > 0 || len(rest) == 0 || rest[0] != '"' {
		return name
	}
	return upToQuote(rest[1:])
}
