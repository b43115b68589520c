package exposition

import (
	"errors"
	"fmt"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
)

// Limits limits the pages of a target; a zero field means no limit.
type Limits struct {
	Samples int `yaml:"samples"`
	// Labels is the maximum number of labels of a series, without the name.
	Labels int `yaml:"labels"`
	// LabelName and LabelValue limit the bytes of a label's name and value.
	LabelName  int `yaml:"label_name"`
	LabelValue int `yaml:"label_value"`
	Name       int `yaml:"name"`
	// Help limits the bytes of a HELP text; longer ones are truncated.
	Help int `yaml:"help"`
	// Output limits the share of the exporter's page that the series take: the largest families
	// are left out until the rest fits.
	Output Volume `yaml:"-"`
}

// DefaultLimits are the default limits.
var DefaultLimits = Limits{
	Samples:    50_000,
	Labels:     64,
	LabelName:  256,
	LabelValue: 4096,
	Name:       256,
	Help:       1024,
}

// Errors for which a whole page is rejected, besides [ParseError].
var (
	ErrSampleLimit = errors.New("sample limit exceeded")
	ErrLabelLimit  = errors.New("label limit exceeded")
	ErrSelfScrape  = errors.New("the target is this exporter itself")
	ErrContentType = errors.New("unsupported content type")
)

// ParseError is the syntax error of a page. Line counts from 1.
type ParseError struct {
	Line int
	Err  error
}

func (e *ParseError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

func (e *ParseError) Unwrap() error { return e.Err }

func (l *Limits) checkSeries(lset labels.Labels) error {
	name := lset.Get(model.MetricNameLabel)
	count, longestName, longestValue := 0, 0, 0
	lset.Range(func(lb labels.Label) {
		if lb.Name != model.MetricNameLabel {
			count++
			longestName, longestValue = max(longestName, len(lb.Name)), max(longestValue, len(lb.Value))
		}
	})
	switch {
	case l.Name > 0 && len(name) > l.Name:
		return fmt.Errorf("%w: the name %.50q... has %d bytes, limits.name is %d",
			ErrLabelLimit, name, len(name), l.Name)
	case l.Labels > 0 && count > l.Labels:
		return fmt.Errorf("%w: series of %.50q has %d labels, limits.labels is %d",
			ErrLabelLimit, name, count, l.Labels)
	case l.LabelName > 0 && longestName > l.LabelName:
		return fmt.Errorf("%w: a label name of %.50q has %d bytes, limits.label_name is %d",
			ErrLabelLimit, name, longestName, l.LabelName)
	case l.LabelValue > 0 && longestValue > l.LabelValue:
		return fmt.Errorf("%w: a label value of %.50q has %d bytes, limits.label_value is %d",
			ErrLabelLimit, name, longestValue, l.LabelValue)
	}
	return nil
}
