package exposition_test

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
)

// openMetricsFault returns the rule of OpenMetrics that a page violates and that
// Prometheus' parser does not check; nil if there is none. Every family needs a TYPE.
func openMetricsFault(page string) error {
	p := textparse.NewOpenMetricsParser([]byte(page), labels.NewSymbolTable())
	o := openMetricsPage{names: make(map[string]bool)}
	for {
		entry, err := p.Next()
		if errors.Is(err, io.EOF) {
			return o.end()
		}
		if err != nil {
			return err
		}
		var name []byte
		switch entry { //nolint:exhaustive // A page has no others.
		case textparse.EntryHelp:
			name, _ = p.Help()
		case textparse.EntryUnit:
			name, _ = p.Unit()
		case textparse.EntryType:
			name, o.declared = p.Type()
		case textparse.EntrySeries:
			var lset labels.Labels
			p.Labels(&lset)
			_, _, v := p.Series()
			if err := o.sample(lset, v); err != nil {
				return fmt.Errorf("%s: %w", lset, err)
			}
			continue
		}
		if err := o.head(unescaper.Replace(string(name)), entry == textparse.EntryType); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
}

// openMetricsPage is the state of checking a page.
type openMetricsPage struct {
	// names are the names of all families and their samples.
	names    map[string]bool
	declared model.MetricType
	// family is the current family; started is set once it has samples.
	family  string
	typ     model.MetricType
	started bool
	// groups are the label sets of its groups; group is that of the last sample.
	groups map[string]bool
	series map[string]bool
	group  string
	values map[string]float64
	bound  float64
	last   float64
}

// unescaper unescapes quoted names.
var unescaper = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n")

var (
	errTwice    = errors.New("named twice")
	errStranger = errors.New("not a sample of its family")
	errGroups   = errors.New("a group in two places")
	errValue    = errors.New("a value that the type does not have")
	errBuckets  = errors.New("buckets that do not fit together")
)

// head checks HELP, TYPE or UNIT.
func (o *openMetricsPage) head(name string, typ bool) error {
	if name != o.family || o.started {
		if err := o.end(); err != nil {
			return err
		}
		*o = openMetricsPage{names: o.names, declared: o.declared, family: name, typ: model.MetricTypeUnknown, groups: make(map[string]bool), series: make(map[string]bool)}
	}
	if typ {
		o.typ = o.declared
	}
	return nil
}

// suffixes returns the sample suffixes of the family.
func (o *openMetricsPage) suffixes() []string {
	switch o.typ {
	case model.MetricTypeCounter:
		return []string{"_total", "_created"}
	case model.MetricTypeSummary:
		return []string{"", "_count", "_sum", "_created"}
	case model.MetricTypeHistogram:
		return []string{"_bucket", "_count", "_sum", "_created"}
	default:
		return []string{""}
	}
}

// end ends the family.
func (o *openMetricsPage) end() error {
	if o.family == "" {
		return nil
	}
	names := []string{o.family}
	for _, suffix := range o.suffixes() {
		if suffix != "" {
			names = append(names, o.family+suffix)
		}
	}
	for _, name := range names {
		if o.names[name] {
			return fmt.Errorf("%s: %w", name, errTwice)
		}
		o.names[name] = true
	}
	return o.endGroup()
}

// sample checks a sample.
func (o *openMetricsPage) sample(lset labels.Labels, v float64) error {
	suffix, ok := strings.CutPrefix(lset.Get(model.MetricNameLabel), o.family)
	if !ok || !slices.Contains(o.suffixes(), suffix) {
		return errStranger
	}
	o.started = true
	apart := []string{model.MetricNameLabel}
	switch o.typ { //nolint:exhaustive // Others have one label set a group.
	case model.MetricTypeHistogram:
		apart = append(apart, model.BucketLabel)
	case model.MetricTypeSummary:
		apart = append(apart, model.QuantileLabel)
	}
	group := string(lset.BytesWithoutLabels(nil, apart...))
	if group != o.group || o.values == nil {
		if err := o.endGroup(); err != nil {
			return err
		}
		if o.groups[group] {
			return errGroups
		}
		o.group, o.groups[group], o.values, o.bound, o.last = group, true, make(map[string]float64), math.Inf(-1), 0
	}
	key := string(lset.Bytes(nil))
	if o.series[key] {
		return errTwice
	}
	o.series[key] = true
	o.values[suffix] = v
	return o.value(lset, suffix, v)
}

// value checks a value against the type.
func (o *openMetricsPage) value(lset labels.Labels, suffix string, v float64) error {
	integer := v >= 0 && v == math.Trunc(v) && !math.IsInf(v, 0)
	switch {
	case suffix == "_created" && v != v, suffix == "_count" && !integer, slices.Contains([]string{"_total", "_sum"}, suffix) && !(v >= 0):
		return errValue
	case suffix == "_bucket":
		bound, err := strconv.ParseFloat(lset.Get(model.BucketLabel), 64)
		if err != nil || bound <= o.bound || !integer || v < o.last || lset.Get(model.BucketLabel) != labels.FormatOpenMetricsFloat(bound) {
			return errBuckets
		}
		o.bound, o.last = bound, v
	case suffix == "" && o.typ == model.MetricTypeSummary:
		if q, err := strconv.ParseFloat(lset.Get(model.QuantileLabel), 64); err != nil || !(q >= 0 && q <= 1) || v < 0 {
			return errValue
		}
	}
	return nil
}

// endGroup ends a group: the buckets of a histogram end at infinity, with the count.
func (o *openMetricsPage) endGroup() error {
	if o.typ != model.MetricTypeHistogram || o.values == nil {
		return nil
	}
	count, counted := o.values["_count"]
	_, summed := o.values["_sum"]
	if !math.IsInf(o.bound, 1) || counted != summed || counted && count != o.last {
		return errBuckets
	}
	return nil
}
