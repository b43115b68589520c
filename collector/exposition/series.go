package exposition

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
)

// errInvalidLabel is a series that names one label twice, or a label by
// nothing or by what is not UTF-8; textparse lets all of these through.
var errInvalidLabel = errors.New("label named twice or without a valid name")

// errReservedLabel is a series that carries a label of the double underscore
// kind, which belongs to the scraper.
var errReservedLabel = errors.New("reserved label name")

// seriesSplitter cuts the text of one series, which a parser has accepted,
// into labels. It exists because textparse rewrites the values of le and
// quantile ("100" becomes "100.0"), and the page passes them as the server
// wrote them. It may be used again and is not safe for concurrent use.
type seriesSplitter struct {
	builder labels.ScratchBuilder
	names   []string
	ready   bool
}

// labels returns the sorted labels of the series, its name among them; empty
// values are left out, because they mean the same as no label.
func (s *seriesSplitter) labels(text []byte) (labels.Labels, error) {
	if !s.ready {
		s.builder, s.ready = labels.NewScratchBuilder(16), true
	}
	s.builder.Reset()
	s.names = s.names[:0]
	text = bytes.TrimLeft(text, " \t")
	brace := bytes.IndexByte(text, '{')
	name := text
	if brace >= 0 {
		name = text[:brace]
	}
	if name = bytes.TrimRight(name, " \t"); len(name) > 0 {
		s.builder.Add(model.MetricNameLabel, unescape(name))
	}
	var err error
	if brace >= 0 {
		err = s.pairs(text[brace+1:])
	}
	s.builder.Sort()
	return s.builder.Labels(), err
}

// pairs reads what is between the braces.
func (s *seriesSplitter) pairs(text []byte) error {
	var err error
	for {
		text = bytes.TrimLeft(text, " \t,")
		if len(text) == 0 || text[0] == '}' {
			return err
		}
		var name, value []byte
		name, text = cutName(text)
		text = bytes.TrimLeft(text, " \t")
		if len(text) == 0 || text[0] != '=' {
			s.builder.Add(model.MetricNameLabel, unescape(name))
			continue
		}
		text = bytes.TrimLeft(text[1:], " \t")
		value, text = cutQuoted(text)
		if e := s.add(unescape(name), unescape(value)); e != nil {
			err = e
		}
	}
}

// add takes one label, refusing what no well-behaved server sends.
func (s *seriesSplitter) add(name, value string) error {
	if slices.Contains(s.names, name) || !validName(name) {
		return errInvalidLabel
	}
	s.names = append(s.names, name)
	if strings.HasPrefix(name, model.ReservedLabelPrefix) {
		return errReservedLabel
	}
	if value != "" {
		s.builder.Add(name, value)
	}
	return nil
}

// cutName cuts a label name, quoted or not, off the front of text.
func cutName(text []byte) (name, rest []byte) {
	if text[0] == '"' {
		return cutQuoted(text)
	}
	end := bytes.IndexAny(text, "= \t,}")
	if end < 0 {
		end = len(text)
	}
	return text[:end], text[end:]
}

// cutQuoted cuts a quoted string off the front of text, without its quotes.
func cutQuoted(text []byte) (inside, rest []byte) {
	inside = upToQuote(text[1:])
	return inside, text[min(len(inside)+len(`""`), len(text)):]
}

// unescape resolves the three escapes of the format as textparse does.
func unescape(text []byte) string {
	if bytes.IndexByte(text, '\\') < 0 {
		return string(text)
	}
	return labelUnescaper.Replace(string(text))
}

var (
	labelUnescaper = strings.NewReplacer(`\"`, `"`, `\\`, `\`, `\n`, "\n")
	labelEscaper   = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
	helpEscaper    = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
)

// appendPrefix renders the series text and the space before its value. Names
// outside the legacy character set are quoted inside the braces.
func appendPrefix(dst []byte, lset labels.Labels) []byte {
	name := lset.Get(model.MetricNameLabel)
	open, wrote := false, false
	if model.LegacyValidation.IsValidMetricName(name) {
		dst = append(dst, name...)
	} else {
		dst = append(dst, '{')
		dst = appendQuoted(dst, name)
		open, wrote = true, true
	}
	lset.Range(func(l labels.Label) {
		if l.Name == model.MetricNameLabel {
			return
		}
		if !open {
			dst = append(dst, '{')
			open = true
		}
		if wrote {
			dst = append(dst, ',')
		}
		wrote = true
		if model.LegacyValidation.IsValidLabelName(l.Name) {
			dst = append(dst, l.Name...)
		} else {
			dst = appendQuoted(dst, l.Name)
		}
		dst = append(dst, '=')
		dst = appendQuoted(dst, l.Value)
	})
	if open {
		dst = append(dst, '}')
	}
	return append(dst, ' ')
}

// appendQuoted renders a string between quotes with the format's escapes.
func appendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	if strings.ContainsAny(s, "\\\n\"") {
		s = labelEscaper.Replace(s)
	}
	dst = append(dst, s...)
	return append(dst, '"')
}
