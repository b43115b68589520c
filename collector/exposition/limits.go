package exposition

import (
	"errors"
	"fmt"
	"slices"
)

// Why a series of a target does not reach the page; the values of label
// "reason" of trtllm_exporter_target_series_dropped_total.
const (
	DropDuplicate        = "duplicate"
	DropInvalidLabels    = "invalid_labels"
	DropReservedLabel    = "reserved_label"
	DropReservedName     = "reserved_name"
	DropTypeConflict     = "type_conflict"
	DropRelabel          = "relabel"
	DropInvalidName      = "invalid_name"
	DropInvalidHistogram = "invalid_histogram"
	DropInvalidSummary   = "invalid_summary"
)

// DropReasons lists every reason in the order of [Drops].
func DropReasons() []string {
	return []string{
		DropDuplicate, DropInvalidLabels, DropReservedLabel, DropReservedName,
		DropTypeConflict, DropRelabel, DropInvalidName,
		DropInvalidHistogram, DropInvalidSummary,
	}
}

// Drops counts what is odd about one page.
type Drops struct {
	// ByReason counts the series left out, in the order of [DropReasons].
	ByReason [9]uint32
	// Collisions are the identity labels that the target tried to speak for.
	Collisions uint32
	// Timestamps are the samples whose timestamps were stripped.
	Timestamps uint32
	// Conflicts and HelpConflicts are the families whose TYPE or HELP is said
	// twice and differently.
	Conflicts, HelpConflicts uint32
}

// Total is the number of dropped series, whatever the reason.
func (d *Drops) Total() uint64 {
	total := uint64(0)
	for _, n := range d.ByReason {
		total += uint64(n)
	}
	return total
}

// add counts one dropped series.
func (d *Drops) add(reason string) {
	if i := slices.Index(DropReasons(), reason); i >= 0 {
		d.ByReason[i]++
	}
}

// The ways in which a whole page fails, besides errors of the parser itself.
var (
	ErrSampleLimit = errors.New("sample limit exceeded")
	ErrLabelLimit  = errors.New("label limit exceeded")
	ErrSelfScrape  = errors.New("the target is this exporter itself")
	ErrContentType = errors.New("unsupported content type")
)

// ParseError is a page that is not in the format; Line counts from 1.
type ParseError struct {
	Line int
	Err  error
}

// Error says where and what.
func (e *ParseError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap gives the parser's own error.
func (e *ParseError) Unwrap() error { return e.Err }

// checkLabels applies the limits of one series.
func (l *Limits) checkLabels(name string, count, longestName, longestValue int) error {
	switch {
	case l.Name > 0 && len(name) > l.Name:
		return fmt.Errorf("%w: the name %.50q... has %d bytes, limits.name is %d", ErrLabelLimit, name, len(name), l.Name)
	case l.Labels > 0 && count > l.Labels:
		return fmt.Errorf("%w: series of %.50q has %d labels, limits.labels is %d", ErrLabelLimit, name, count, l.Labels)
	case l.LabelName > 0 && longestName > l.LabelName:
		return fmt.Errorf("%w: a label name of %.50q has %d bytes, limits.label_name is %d", ErrLabelLimit, name, longestName, l.LabelName)
	case l.LabelValue > 0 && longestValue > l.LabelValue:
		return fmt.Errorf("%w: a label value of %.50q has %d bytes, limits.label_value is %d", ErrLabelLimit, name, longestValue, l.LabelValue)
	}
	return nil
}
