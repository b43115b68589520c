package exposition

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
)

// longestExemplar is the most characters that names and values of an exemplar's
// labels may have together.
const longestExemplar = 128

var (
	errLastComma     = errors.New("a comma behind the last label")
	errEarlyMetadata = errors.New("HELP, TYPE and UNIT come before the samples of their family")
	errTwice         = errors.New("said twice of one family")
	errLongExemplar  = fmt.Errorf("the labels of an exemplar have more than %d characters", longestExemplar)
)

// strictReader holds a page in OpenMetrics against the rules of the standard
// that a tokeniser does not know: what a family may have, in which order, with
// which labels and values. Most of them are about values, so that every page is
// read whole, the fast path notwithstanding.
type strictReader struct {
	at pageReader
	// clashes are the sample names of the families that are complete.
	clashes map[string]bool
	family  strictFamily
}

// strict says which rule of OpenMetrics a page breaks, nil for none.
func strict(body []byte) error {
	if cap(body) == len(body) {
		body = append(make([]byte, 0, len(body)+1), body...)
	}
	s := strictReader{at: pageReader{kind: kindOpenMetrics, body: body}, clashes: make(map[string]bool)}
	p := s.at.parser()
	for {
		entry, err := p.Next()
		switch {
		case errors.Is(err, io.EOF):
			if err := s.at.rest(); err != nil {
				return err
			}
			return s.refusal(s.complete())
		case err == nil:
			err = s.entry(p, entry)
		}
		if err != nil {
			return s.refusal(err)
		}
	}
}

// refusal puts an error on the line that is read.
func (s *strictReader) refusal(err error) error {
	if err == nil {
		return nil
	}
	return &ParseError{Line: s.at.line(), Err: err}
}

// entry reads one line.
func (s *strictReader) entry(p textparse.Parser, entry textparse.Entry) error {
	var name []byte
	var err error
	switch entry {
	case textparse.EntryHelp:
		name, _ = p.Help()
		err = s.metadata(name, saysHelp)
	case textparse.EntryType:
		var typ model.MetricType
		name, typ = p.Type()
		err = s.metadata(name, saysType)
		s.family.typ = typ
	case textparse.EntryUnit:
		var unit []byte
		name, unit = p.Unit()
		err = s.metadata(name, saysUnit)
		s.family.unit = string(unit)
	case textparse.EntrySeries:
		name, _, _ = p.Series()
		err = s.sample(p)
	default:
		return nil
	}
	if err == nil {
		s.at.passed(name)
	}
	return err
}

// metadata reads HELP, TYPE or UNIT of a name.
func (s *strictReader) metadata(text []byte, says metadataLine) error {
	name := unescape(text)
	if f := &s.family; f.name != name || !f.open {
		if err := s.complete(); err != nil {
			return err
		}
		s.begin(name)
	}
	f := &s.family
	switch {
	case f.samples > 0:
		return fmt.Errorf("%q: %w", name, errEarlyMetadata)
	case f.said&says != 0:
		return fmt.Errorf("%q: %w", name, errTwice)
	}
	f.said |= says
	return nil
}

// begin begins a family.
func (s *strictReader) begin(name string) {
	s.family = strictFamily{name: name, open: true, groups: make(map[string]bool), series: make(map[string]bool)}
}

// complete ends the family that is read, none at the beginning.
func (s *strictReader) complete() error {
	f := &s.family
	if !f.open {
		return nil
	}
	for _, name := range f.names() {
		if s.clashes[name] {
			return fmt.Errorf("%q is a name of an earlier family too", name)
		}
		s.clashes[name] = true
	}
	return f.end()
}

// sample reads one sample.
func (s *strictReader) sample(p textparse.Parser) error {
	text, ts, value := p.Series()
	if bytes.HasSuffix(text, []byte(",}")) {
		return errLastComma
	}
	lset, err := s.at.split.labels(text)
	if err != nil {
		return err
	}
	one := strictSample{name: lset.Get(model.MetricNameLabel), labels: lset, value: value, at: ts}
	if !s.family.takes(one.name) {
		if err := s.complete(); err != nil {
			return err
		}
		s.begin(one.name)
	}
	var e exemplar.Exemplar
	if one.exemplar = p.Exemplar(&e); one.exemplar && characters(e.Labels) > longestExemplar {
		return errLongExemplar
	}
	return s.family.sample(&one)
}

// characters counts those of names and values.
func characters(lset labels.Labels) int {
	n := 0
	lset.Range(func(l labels.Label) {
		n += utf8.RuneCountInString(l.Name) + utf8.RuneCountInString(l.Value)
	})
	return n
}
