package engine

import (
	"math"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// Process is what a page says of the process that shows it; the zero value is of a
// page that says nothing.
type Process struct {
	// ID is what it calls itself, Started when it began as a Unix time; empty and 0
	// where the page does not say.
	ID      string
	Started float64
}

// startJitter is by how many seconds two readings of one start may differ: some
// clients compute it for each page, from a clock that is being set.
const startJitter = 2

// Is reports whether another page is of the same process; known is false where both
// together do not say. Starts that are close say nothing: workers of one server
// begin together.
func (p Process) Is(other Process) (same, known bool) {
	switch {
	case p.ID != "" && other.ID != "":
		return p.ID == other.ID, true
	case p.Started > 0 && other.Started > 0:
		return false, math.Abs(p.Started-other.Started) >= startJitter
	}
	return false, false
}

// anyProcess are the meanings of what the pages of every kind may have: Prometheus'
// clients show it under one name (client_python process_collector.py, client_golang
// process_collector.go). Where python shows the sum of several processes it is not
// there.
func anyProcess() []Meaning {
	return []Meaning{{Name: "process_start_time_seconds", Signal: ProcessStarted, Scope: OfServer, Combine: Max}}
}

// processSigns are the series that say which process a page is of.
type processSigns struct {
	started []int
	ids     []string
}

// read takes one series in.
func (s *processSigns) read(m *Indexed, at int, lset labels.Labels) {
	switch m.Signal { //nolint:exhaustive // Only these say it.
	case ProcessStarted:
		s.started = append(s.started, at)
	case ProcessUptime:
		s.ids = append(s.ids, lset.Get(m.Dims[0]))
	}
}

// Process is what a block of the page's shape says of its process: nothing where it
// speaks of several.
func (p *Page) Process(b *exposition.Block) Process {
	var of Process
	if len(p.process.ids) == 1 {
		of.ID = p.process.ids[0]
	}
	if len(p.process.started) == 1 {
		of.Started, _ = b.WatchedValue(p.process.started[0])
	}
	return of
}
