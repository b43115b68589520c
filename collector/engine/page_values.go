package engine

import (
	"math"
	"strconv"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// Refresh reads the values that say something from a further page of the same
// shape; true when any of them changed what is known.
func (p *Page) Refresh(b *exposition.Block) bool {
	changed := p.compareRanks(b)
	for signal, series := range p.watched {
		most := 0.0
		for _, at := range series {
			if v, ok := b.WatchedValue(at); ok && !math.IsNaN(v) {
				most = max(most, v)
			}
		}
		switch signal { //nolint:exhaustive // Of all others the value counts.
		case EngineLastIter:
			most = unitOf(most)
		case GenerationTokens, RequestsFinished, RequestDuration:
			most = min(most, 1) // Whether there ever was any.
		}
		if was, known := p.values[signal]; !known || was != most {
			changed, p.values[signal] = true, most
		}
	}
	return changed
}

// compareRanks sees whether several ranks share their requests; true when that is
// known from now on, or otherwise than before.
func (p *Page) compareRanks(b *exposition.Block) bool {
	if p.stated != 0 {
		return false
	}
	batches := make([]float64, len(p.batches))
	for i, at := range p.batches {
		v, ok := b.WatchedValue(at)
		if !ok {
			return false
		}
		batches[i] = v
	}
	was := p.together.found
	p.together.see(batches)
	if p.together.found == was {
		return false
	}
	p.reread()
	return true
}

// The units of timestamps, of which only that is kept: their values change with each
// page. A server that writes none has neither.
const seconds, microseconds = 1, 2

// unitOf is the unit of a timestamp.
func unitOf(timestamp float64) float64 {
	const micros = 1e12
	switch {
	case timestamp <= 0:
		return 0
	case timestamp < micros:
		return seconds
	}
	return microseconds
}

// Unrouted says that the page speaks of models and that requests for none of
// them can be sent anywhere.
func (p *Page) Unrouted() bool { return p.Has(ModelRoutable) && p.values[ModelRoutable] <= 0 }

// ended reports whether requests ended.
func (p *Page) ended() bool { return p.values[RequestsFinished] > 0 || p.values[RequestDuration] > 0 }

// tokenless reports whether requests ended and no token was ever generated: the model
// answers with something else, as one that embeds or ranks does.
func (p *Page) tokenless() bool {
	return p.Has(GenerationTokens) && p.values[GenerationTokens] <= 0 && p.ended()
}

// KVBlockTokens is how many tokens a block of the KV cache holds; false while
// the page does not say, as before the first iteration.
func (p *Page) KVBlockTokens() (float64, bool) { return p.value(KVBlockTokens) }

// RequestsLimit is how many requests the executor admits at once.
func (p *Page) RequestsLimit() (float64, bool) { return p.value(RequestsLimit) }

func (p *Page) value(s Signal) (float64, bool) {
	if p == nil {
		return 0, false
	}
	v := p.values[s]
	return v, v > 0
}

// Buckets are the bounds of the page's histograms by family.
func (p *Page) Buckets() map[string]string {
	if p == nil {
		return nil
	}
	return p.buckets
}

// GPU describes the GPUs, as far as the page says: their name, else how many
// there are and the memory of the largest.
func (p *Page) GPU() (string, bool) {
	if p == nil {
		return "", false
	}
	if p.gpuType != "" {
		return strconv.Itoa(max(p.gpus, 1)) + "x " + p.gpuType, true
	}
	if v, ok := p.value(GPUMemoryTotal); ok {
		return strconv.Itoa(len(p.watched[GPUMemoryTotal])) + "x " + strconv.FormatFloat(v, 'f', -1, 64) + " bytes", true
	}
	return "", false
}

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
