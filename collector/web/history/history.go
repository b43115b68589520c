package history

import (
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Limits of the history of a replica.
const (
	// SampleInterval is the time between two samples of the numbers.
	SampleInterval = 5 * time.Second
	// maxSamples and maxMarks cover ten minutes.
	maxSamples     = 120
	markInterval   = 2 * time.Minute
	maxMarks       = 5
	maxChanges     = 20
	maxReasonBytes = 512
	// stateInterval is the time between two checks of the states.
	stateInterval = time.Second
)

// Change is a change of a replica's state.
type Change struct {
	Time                             time.Time
	State, Severity, Runbook, Reason string
}

// Failure is a failed scrape.
type Failure struct {
	Time         time.Time
	Reason, Text string
}

// Recent is a copy of the history of a replica.
type Recent struct {
	// Tokens and Waiting are samples, the oldest first, NaN if unknown.
	Tokens, Waiting []float64
	// Changes lists the changes of the state, the oldest first.
	Changes []Change
	// Failure is the last failed scrape, zero if none failed.
	Failure Failure
}

// track is the history of one replica.
type track struct {
	index *index
	// samples is a ring buffer once it has maxSamples; next is the oldest sample.
	samples []sample
	next    int
	// marks holds earlier counts of the objectives, the oldest first.
	marks   []map[string]Counts
	changes []Change
	// stateSince is Status.StateSince of the last change.
	stateSince time.Time
	failure    Failure
}

// sample holds the sampled numbers. They are float32 because there are many.
type sample struct{ tokens, waiting float32 }

// History keeps the history of all replicas of a store. It is safe for concurrent use.
type History struct {
	store *snapshot.Store

	mu     sync.Mutex
	tracks map[string]*track
}

// New returns an empty history.
func New(store *snapshot.Store) *History {
	return &History{store: store, tracks: make(map[string]*track)}
}

// Follow takes samples until ctx is done. It must not be called concurrently. A page that expires
// is a failure without a new snapshot; it is noticed with the next sample.
func (h *History) Follow(ctx context.Context) {
	tick := time.NewTicker(stateInterval)
	defer tick.Stop()
	for n, seen := 0, uint64(0); ; n++ {
		changes := h.store.Changes()
		if sampling := n%int(SampleInterval/stateInterval) == 0; sampling || changes != seen {
			h.look(sampling, n%int(markInterval/stateInterval) == 0)
			seen = changes
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// look records new states and failures and, when sampling, the numbers. It forgets removed
// replicas.
func (h *History) look(sampling, marking bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, slot := range h.store.Slots() {
		t, status := h.track(slot), slot.Status()
		t.observe(&status)
		if sampling {
			t.sample(slot.Derived(), marking)
		}
	}
	maps.DeleteFunc(h.tracks, func(key string, _ *track) bool { return h.store.Slot(key) == nil })
}

// Figures returns the current numbers of a replica.
func (h *History) Figures(slot *snapshot.Slot) Figures {
	b := slot.Derived()
	if b == nil {
		return Figures{}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.track(slot)
	x := t.indexOf(b.Shape())
	f := x.figures(b)
	f.Objectives = t.increase(x.counts(b))
	return f
}

// Recent returns the history of the replica with the given key.
func (h *History) Recent(key string) Recent {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.tracks[key]
	if t == nil {
		return Recent{}
	}
	r := Recent{Changes: slices.Clone(t.changes), Failure: t.failure}
	r.Tokens, r.Waiting = make([]float64, len(t.samples)), make([]float64, len(t.samples))
	for i := range t.samples {
		s := t.samples[(t.next+i)%len(t.samples)]
		r.Tokens[i], r.Waiting[i] = float64(s.tokens), float64(s.waiting)
	}
	return r
}

// Since returns when the current verdict on a replica began, zero if unknown.
func (h *History) Since(key, state, severity string) time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := h.tracks[key]; t != nil && len(t.changes) > 0 {
		if last := t.changes[len(t.changes)-1]; last.State == state && last.Severity == severity {
			return last.Time
		}
	}
	return time.Time{}
}

func (h *History) track(slot *snapshot.Slot) *track {
	key := slot.Target().Key()
	t := h.tracks[key]
	if t == nil {
		t = &track{}
		h.tracks[key] = t
	}
	return t
}

func (t *track) indexOf(shape *exposition.Shape) *index {
	if t.index == nil || t.index.shape != shape {
		t.index = &index{shape, map[string]map[string][]exposition.ValueIndex{}}
	}
	return t.index
}

// sample adds a sample of a block, replacing the oldest if the ring is full. A nil block is
// unknown.
func (t *track) sample(b *exposition.Block, marking bool) {
	s := sample{float32(math.NaN()), float32(math.NaN())}
	if b != nil {
		x := t.indexOf(b.Shape())
		s = sample{narrowed(x.number(b, tokensFamily, add)), narrowed(x.number(b, waitingFamily, add))}
		t.mark(x.counts(b), marking)
	}
	if len(t.samples) < maxSamples {
		t.samples = append(t.samples, s)
		return
	}
	t.samples[t.next] = s
	t.next = (t.next + 1) % maxSamples
}

// narrowed converts a number. A number out of range becomes unknown, since a graph cannot be
// scaled to infinity.
func narrowed(v float64) float32 {
	if math.Abs(v) > math.MaxFloat32 {
		return float32(math.NaN())
	}
	return float32(v)
}

// mark adds a mark, immediately for the first counts. A restarted server counts from 0 again.
func (t *track) mark(now map[string]Counts, marking bool) {
	last := len(t.marks) - 1
	switch {
	case len(now) == 0:
	case last >= 0 && restarted(now, t.marks[last]):
		t.marks = []map[string]Counts{{}}
	case marking || last < 0:
		t.marks = append(t.marks[max(len(t.marks)-maxMarks+1, 0):], now)
	}
}

// increase returns the increase of the counts since the oldest mark, nil if there are no counts.
func (t *track) increase(now map[string]Counts) map[string]Counts {
	marks := t.marks
	if len(marks) == 0 {
		marks = []map[string]Counts{now}
	}
	if restarted(now, marks[len(marks)-1]) {
		return now
	}
	for name, c := range now {
		earlier := marks[0][name]
		now[name] = Counts{c.Requests - earlier.Requests, c.Bad - earlier.Bad, c.BadAtMost - earlier.BadAtMost}
	}
	return now
}

// restarted reports whether a counter decreased.
func restarted(now, earlier map[string]Counts) bool {
	for name, c := range now {
		if c.Requests < earlier[name].Requests {
			return true
		}
	}
	return false
}

// observe records a failure and a change of the state.
func (t *track) observe(s *target.Status) {
	if s.LastError != "" {
		t.failure = Failure{Time: s.LastScrape, Reason: s.LastReason, Text: s.LastError}
	}
	if s.State == "" {
		return
	}
	change := Change{Time: s.StateSince, State: s.State, Severity: s.Severity, Runbook: s.Runbook, Reason: truncated(s.StateReason)}
	if n := len(t.changes); n > 0 && s.StateSince.Equal(t.stateSince) {
		if t.changes[n-1].Severity == change.Severity {
			return
		}
		// Only the severity changed, which has no timestamp and may change between scrapes.
		if change.Time = t.changes[n-1].Time; s.LastScrape.After(change.Time) {
			change.Time = s.LastScrape
		}
	}
	t.stateSince = s.StateSince
	if len(t.changes) == maxChanges {
		t.changes = slices.Delete(t.changes, 0, 1)
	}
	t.changes = append(t.changes, change)
}

func truncated(reason string) string {
	if len(reason) <= maxReasonBytes {
		return reason
	}
	return strings.ToValidUTF8(reason[:maxReasonBytes], "") + "…"
}
