package exposition

import "slices"

// Reasons why a series of a target is dropped: the values of the label "reason" of
// trtllm_exporter_target_series_dropped_total.
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
	DropSecret           = "secret"
)

// DropReasons lists the reasons in the order of [Drops].
func DropReasons() []string {
	return []string{
		DropDuplicate, DropInvalidLabels, DropReservedLabel, DropReservedName,
		DropTypeConflict, DropRelabel, DropInvalidName,
		DropInvalidHistogram, DropInvalidSummary, DropSecret,
	}
}

// Drops counts the anomalies of one page.
type Drops struct {
	// ByReason counts the dropped series in the order of [DropReasons].
	ByReason [10]uint32
	// Collisions is the sum of [Labeled].Collisions.
	Collisions uint32
	// Timestamps counts the samples whose timestamps were removed.
	Timestamps uint32
	// Conflicts counts the families with contradictory TYPE lines.
	Conflicts uint32
}

// Total returns the number of dropped series.
func (d *Drops) Total() uint64 {
	total := uint64(0)
	for _, n := range d.ByReason {
		total += uint64(n)
	}
	return total
}

func (d *Drops) add(reason string) {
	if i := slices.Index(DropReasons(), reason); i >= 0 {
		d.ByReason[i]++
	}
}
