package exposition

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
)

// seriesSplitter splits the text of a series that was accepted by a parser into labels. textparse
// cannot be used for that: it rewrites the values of le and quantile ("100" becomes "100.0"). A
// splitter can be reused, but is not safe for concurrent use.
type seriesSplitter struct {
	// secret finds what must not be shown; nil if the page has nothing of it.
	secret  Secret
	builder labels.ScratchBuilder
	names   []string
}

// labels returns the sorted labels of the series, including the name, or the reason to drop it.
// Labels with empty values are left out.
func (s *seriesSplitter) labels(text []byte) (lset labels.Labels, drop string) {
	s.builder.Reset()
	s.names = s.names[:0]
	text = bytes.TrimLeft(text, " \t")
	name, pairs, _ := bytes.Cut(text, []byte{'{'})
	if name = bytes.TrimRight(name, " \t"); len(name) > 0 {
		drop = s.name(name)
	}
	drop = cmp.Or(s.pairs(pairs), drop)
	slices.Sort(s.names)
	if count := len(s.names); len(slices.Compact(s.names)) < count {
		drop = DropInvalidLabels // There is one twice.
	}
	s.builder.Sort()
	return s.builder.Labels(), drop
}

func (s *seriesSplitter) pairs(text []byte) (drop string) {
	for {
		text = bytes.TrimLeft(text, " \t,")
		if len(text) == 0 || text[0] == '}' {
			return drop
		}
		var name, value []byte
		name, text = cutName(text)
		text = bytes.TrimLeft(text, " \t")
		if len(text) == 0 || text[0] != '=' {
			drop = cmp.Or(s.name(name), drop)
			continue
		}
		text = bytes.TrimLeft(text[1:], " \t")
		value, text = cutQuoted(text)
		drop = cmp.Or(s.add(unescape(name), unescape(value)), drop)
	}
}

func (s *seriesSplitter) name(text []byte) (drop string) {
	name := unescape(text)
	s.builder.Add(model.MetricNameLabel, name)
	if s.secret.in(name) {
		return DropSecret
	}
	return ""
}

// add adds one label, or returns the reason to drop the series. textparse accepts
// duplicate and invalid label names.
func (s *seriesSplitter) add(name, value string) (drop string) {
	if !validName(name) {
		return DropInvalidLabels
	}
	s.names = append(s.names, name)
	if strings.HasPrefix(name, model.ReservedLabelPrefix) {
		return DropReservedLabel
	}
	if value != "" {
		s.builder.Add(name, value)
	}
	if s.secret.inLabel(name, value) {
		return DropSecret
	}
	return ""
}

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

// cutQuoted splits off the quoted string at the front of a text and removes its quotes.
func cutQuoted(text []byte) (inside, rest []byte) {
	inside = upToQuote(text[1:])
	return inside, text[min(len(inside)+len(`""`), len(text)):]
}

// unescape resolves the three escape sequences of the format as textparse does.
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

func parsePrefix(prefix []byte) labels.Labels {
	split := seriesSplitter{builder: labels.NewScratchBuilder(16)}
	lset, _ := split.labels(prefix[:len(prefix)-1])
	return lset
}

// appendPrefix appends the series text and the space before its value. Names outside
// the legacy character set are quoted inside the braces.
func appendPrefix(dst []byte, lset labels.Labels) []byte {
	name, separator := lset.Get(model.MetricNameLabel), byte('{')
	if model.LegacyValidation.IsValidMetricName(name) {
		dst = append(dst, name...)
	} else {
		dst = append(dst, '{')
		dst = appendQuoted(dst, name)
		separator = ','
	}
	lset.Range(func(l labels.Label) {
		if l.Name == model.MetricNameLabel {
			return
		}
		dst = append(dst, separator)
		separator = ','
		if model.LegacyValidation.IsValidLabelName(l.Name) {
			dst = append(dst, l.Name...)
		} else {
			dst = appendQuoted(dst, l.Name)
		}
		dst = append(dst, '=')
		dst = appendQuoted(dst, l.Value)
	})
	if separator == ',' {
		dst = append(dst, '}')
	}
	return append(dst, ' ')
}

// withBound returns the prefix of the labels with a bound in canonical form.
func withBound(prefix string, lset labels.Labels, label string, bound float64) string {
	canonical := labels.FormatOpenMetricsFloat(bound)
	if lset.Get(label) == canonical {
		return prefix
	}
	return string(appendPrefix(nil, labels.NewBuilder(lset).Set(label, canonical).Labels()))
}

func appendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	if strings.ContainsAny(s, "\\\n\"") {
		s = labelEscaper.Replace(s)
	}
	dst = append(dst, s...)
	return append(dst, '"')
}
