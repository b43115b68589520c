package engine

import (
	"math"
	"strconv"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// Refresh reads the values of another page of the same shape, and reports whether they changed what
// is known about the server.
func (p *Page) Refresh(b *exposition.Block) bool {
	changed := p.compareRanks(b)
	for signal, series := range p.valued {
		value := 0.0
		for _, i := range series {
			if v, ok := b.WatchedValue(i); ok && !math.IsNaN(v) {
				value = max(value, v)
			}
		}
		switch signal { //nolint:exhaustive // The others count as they are.
		case EngineLastIter:
			value = unitOf(value)
		case GenerationTokens, RequestsFinished, RequestDuration:
			value = min(value, 1) // Whether there ever was any.
		}
		if before, ok := p.values[signal]; !ok || before != value {
			changed, p.values[signal] = true, value
		}
	}
	return changed
}

// compareRanks compares the batches of several ranks, and reports whether this changed what is
// known about them.
func (p *Page) compareRanks(b *exposition.Block) bool {
	if p.stated != 0 {
		return false
	}
	batches := make([]float64, len(p.batches))
	for i, series := range p.batches {
		v, ok := b.WatchedValue(series)
		if !ok {
			return false
		}
		batches[i] = v
	}
	before := p.comparison.result
	p.comparison.add(batches)
	if p.comparison.result == before {
		return false
	}
	p.readContent()
	return true
}

// The units of timestamps. Only the unit is kept, since the values change with each page; it is 0
// if the server writes no timestamp.
const seconds, microseconds = 1, 2

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

// Unrouted reports whether the page lists models and none of them can be routed to.
func (p *Page) Unrouted() bool { return p.Has(ModelRoutable) && p.values[ModelRoutable] <= 0 }

// ended reports whether requests ended.
func (p *Page) ended() bool { return p.values[RequestsFinished] > 0 || p.values[RequestDuration] > 0 }

// tokenless reports whether requests ended without ever generating a token, as those to embedding
// and ranking models do.
func (p *Page) tokenless() bool {
	return p.Has(GenerationTokens) && p.values[GenerationTokens] <= 0 && p.ended()
}

// Value returns the latest value of one of the signals whose values a page keeps; false if it is
// not positive, as before the first iteration.
func (p *Page) Value(s Signal) (float64, bool) {
	if p == nil {
		return 0, false
	}
	v := p.values[s]
	return v, v > 0
}

// Buckets returns the bounds of the page's histograms by family.
func (p *Page) Buckets() map[string]string { return p.get().buckets }

// GPU describes the GPUs as far as the page shows them: their number and model, or else their
// number and the memory of the largest.
func (p *Page) GPU() (string, bool) {
	c := p.get()
	if c.gpuType != "" {
		return strconv.Itoa(max(c.gpus, 1)) + "x " + c.gpuType, true
	}
	if v, ok := p.Value(GPUMemoryTotal); ok {
		return strconv.Itoa(len(c.valued[GPUMemoryTotal])) + "x " + strconv.FormatFloat(v, 'f', -1, 64) + " bytes", true
	}
	return "", false
}

// Process identifies the process behind a page; it is zero if the page does not.
type Process struct {
	// ID is its own name, Started its start as a Unix time.
	ID      string
	Started float64
}

// startJitter is how far two readings of one start time may differ, in seconds: some clients
// compute it for each page from a clock that is being adjusted.
const startJitter = 2

// SameAs reports whether both are one process; known is false if they do not tell. Close start
// times tell nothing: the workers of one server start together.
func (p Process) SameAs(other Process) (same, known bool) {
	switch {
	case p.ID != "" && other.ID != "":
		return p.ID == other.ID, true
	case p.Started > 0 && other.Started > 0:
		return false, math.Abs(p.Started-other.Started) >= startJitter
	}
	return false, false
}

// processMeanings returns the meanings of series that pages of any kind may have. The client
// libraries share the name (client_python process_collector.py, client_golang
// process_collector.go); python omits it on pages that add up several processes.
func processMeanings() []Meaning {
	return []Meaning{{Name: "process_start_time_seconds", Signal: ProcessStarted, Scope: OfServer, Combine: Max}}
}

// Process returns the process behind a block of the page's shape; zero if the page shows several.
func (p *Page) Process(b *exposition.Block) Process {
	var process Process
	if len(p.processIDs) == 1 {
		process.ID = p.processIDs[0]
	}
	if len(p.starts) == 1 {
		process.Started, _ = b.WatchedValue(p.starts[0])
	}
	return process
}
