package exposition

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
)

// metadataLine is a set of the lines that may say something of a family.
type metadataLine uint8

const (
	saysHelp metadataLine = 1 << iota
	saysType
	saysUnit
)

// strictSample is one sample as the page has it.
type strictSample struct {
	name     string
	labels   labels.Labels
	value    float64
	at       *int64
	exemplar bool
}

// strictFamily is a family of a page in OpenMetrics while it is read.
type strictFamily struct {
	name, unit string
	typ        model.MetricType
	said       metadataLine
	open       bool
	samples    int
	// group is the group of the last sample, whose time is at; groups are all of
	// them, and series those of the family.
	group          string
	at             *int64
	groups, series map[string]bool
	histogram      strictHistogram
}

var (
	errUnit       = errors.New("the unit is not the end of the name, or of a type that has none")
	errTwiceThere = errors.New("the series comes twice")
	errGroups     = errors.New("samples of one group are apart from each other")
	errTimes      = errors.New("some samples of a group have a time, or times go backwards")
	errExemplar   = errors.New("only buckets and counters have exemplars")
	errStateset   = errors.New("a state has no label with the name of its family, or is neither 0 nor 1")
	errInfo       = errors.New("an info is not 1")
	errBound      = errors.New("a bucket has no bound, or one that is no number or is not spelled +Inf")
	errQuantile   = errors.New("a quantile is not between 0 and 1, or its value is below 0")
	errCount      = errors.New("what is counted is negative or no number, or is no whole number of observations")
)

// suffixes are what the samples of the family have behind its name.
func (f *strictFamily) suffixes() []string {
	switch f.typ {
	case model.MetricTypeCounter:
		return []string{"_total", "_created"}
	case model.MetricTypeSummary:
		return []string{"", "_count", "_sum", "_created"}
	case model.MetricTypeHistogram:
		return []string{"_bucket", "_count", "_sum", "_created"}
	case model.MetricTypeGaugeHistogram:
		return []string{"_bucket", "_gcount", "_gsum"}
	case model.MetricTypeInfo:
		return []string{"_info"}
	default:
		return []string{""}
	}
}

// takes says whether a sample of that name belongs to the family.
func (f *strictFamily) takes(name string) bool {
	suffix, ok := strings.CutPrefix(name, f.name)
	return ok && f.open && slices.Contains(f.suffixes(), suffix)
}

// names are all that no other family may have: those of the samples and its own.
func (f *strictFamily) names() []string {
	names := []string{f.name}
	for _, suffix := range f.suffixes() {
		if suffix != "" {
			names = append(names, f.name+suffix)
		}
	}
	return names
}

// sample reads one sample that belongs to the family.
func (f *strictFamily) sample(s *strictSample) error {
	suffix := strings.TrimPrefix(s.name, f.name)
	err := f.judge(s, suffix)
	if err == nil {
		err = f.place(s)
	}
	if err == nil && f.distribution() {
		err = f.histogram.sample(s, suffix)
	}
	if err != nil {
		return fmt.Errorf("%q: %w", s.name, err)
	}
	f.samples++
	return nil
}

// distribution says whether the family has buckets.
func (f *strictFamily) distribution() bool {
	return f.typ == model.MetricTypeHistogram || f.typ == model.MetricTypeGaugeHistogram
}

// judge holds labels and value of a sample against the type of the family.
func (f *strictFamily) judge(s *strictSample, suffix string) error {
	bucket := f.distribution() && suffix == "_bucket"
	switch {
	case s.exemplar && !bucket && (f.typ != model.MetricTypeCounter || suffix != "_total"):
		return errExemplar
	case f.typ == model.MetricTypeStateset && (!s.labels.Has(f.name) || s.value != 0 && s.value != 1):
		return errStateset
	case f.typ == model.MetricTypeInfo && s.value != 1:
		return errInfo
	case bucket && !boundOf(s.labels.Get(model.BucketLabel)):
		return errBound
	case f.typ == model.MetricTypeSummary && suffix == "" && (!quantileOf(s.labels.Get(model.QuantileLabel)) || s.value < 0):
		return errQuantile
	case !counted(suffix, s.value):
		return errCount
	}
	return nil
}

// boundOf says whether a text is a bound.
func boundOf(text string) bool {
	bound, err := strconv.ParseFloat(text, 64)
	return err == nil && !math.IsNaN(bound) && (!math.IsInf(bound, 1) || text == "+Inf")
}

// quantileOf says whether a text is a quantile.
func quantileOf(text string) bool {
	q, err := strconv.ParseFloat(text, 64)
	return err == nil && q >= 0 && q <= 1
}

// counted says whether a sample with that suffix may have the value.
func counted(suffix string, value float64) bool {
	switch suffix {
	case "_bucket", "_count", "_gcount":
		return value >= 0 && wholeNumber(value)
	case "_total", "_sum":
		return value >= 0
	case "_gsum":
		return !math.IsNaN(value)
	}
	return true
}

// place holds a sample against those before it.
func (f *strictFamily) place(s *strictSample) error {
	group := string(s.labels.BytesWithoutLabels(nil, f.apart()...))
	same := f.samples > 0 && f.group == group
	switch {
	case !same && f.groups[group]:
		return errGroups
	case same && f.typ != model.MetricTypeInfo && !follows(f.at, s.at):
		return errTimes
	}
	// Of an info some samples may have a time and others none.
	if f.distribution() && (!same || f.at != nil && *f.at != *s.at) {
		if err := f.histogram.end(); err != nil {
			return err
		}
		f.histogram = strictHistogram{}
	}
	series := string(s.labels.Bytes(nil))
	if f.series[series] && s.at == nil {
		return errTwiceThere
	}
	f.group, f.at, f.groups[group], f.series[series] = group, s.at, true, true
	return nil
}

// apart are the labels, sorted, by which the samples of one group differ.
func (f *strictFamily) apart() []string {
	apart := []string{model.MetricNameLabel}
	switch f.typ {
	case model.MetricTypeSummary:
		apart = append(apart, model.QuantileLabel)
	case model.MetricTypeHistogram, model.MetricTypeGaugeHistogram:
		apart = append(apart, model.BucketLabel)
	case model.MetricTypeStateset:
		apart = append(apart, f.name)
	default:
		// Its samples differ in nothing but their names.
	}
	slices.Sort(apart)
	return apart
}

// follows says whether a sample of a group may have a time behind that of
// another.
func follows(before, at *int64) bool {
	if before == nil || at == nil {
		return before == at
	}
	return *at >= *before
}

// end ends the family.
func (f *strictFamily) end() error {
	if f.unit != "" && (!strings.HasSuffix(f.name, "_"+f.unit) || f.typ == model.MetricTypeInfo || f.typ == model.MetricTypeStateset) {
		return fmt.Errorf("%q: %w", f.name, errUnit)
	}
	if err := f.histogram.end(); err != nil {
		return fmt.Errorf("%q: %w", f.name, err)
	}
	return nil
}
