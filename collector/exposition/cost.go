package exposition

import "bytes"

// Cost is what a page takes of memory, as far as that is known before its series are
// read: how many there are, of how many names, and how long the text is.
type Cost struct{ Names, Series, Text int }

// Measured on pages of 50,000 series: what a page takes for each name, for each series
// besides its text, and for the text, in bytes.
const (
	costOfName, costOfSeries = 1200, 400
	costOfText               = 1
)

// Bytes is about how much memory that is, rather more than less.
func (c Cost) Bytes() int64 {
	return int64(c.Names)*costOfName + int64(c.Series)*costOfSeries + int64(c.Text)*costOfText
}

// cost is that of the page. What the limits of the output leave out costs nothing.
func (r *pageReader) cost() (c Cost) {
	names := make(map[string]struct{})
	var last []byte
	for i := range r.samples {
		text := r.samples[i].series
		name := nameOf(text)
		if c.Text += len(text); bytes.Equal(name, last) {
			continue
		}
		last = name
		if _, seen := names[string(name)]; !seen {
			names[string(name)] = struct{}{}
		}
	}
	c.Names, c.Series = len(names), len(r.samples)
	most := r.opts.Limits.Output
	if most.Bytes > 0 && c.Text > most.Bytes {
		c.Series, c.Text = int(int64(c.Series)*int64(most.Bytes)/int64(c.Text)), most.Bytes
	}
	if most.Series > 0 {
		c.Series = min(c.Series, most.Series)
	}
	c.Names = min(c.Names, c.Series)
	return c
}

// nameOf is the name of a series, or what is before it in the quotes of its labels.
func nameOf(series []byte) []byte {
	name, rest, _ := bytes.Cut(series, []byte{'{'})
	if len(bytes.TrimSpace(name)) > 0 || len(rest) == 0 || rest[0] != '"' {
		return name
	}
	return upToQuote(rest[1:])
}
