package web

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
	// sampleInterval is the time between two samples of the numbers.
	sampleInterval = 5 * time.Second
	// maxSamples and maxMarks cover ten minutes.
	maxSamples     = 120
	markInterval   = 2 * time.Minute
	maxMarks       = 5
	maxChanges     = 20
	maxReasonBytes = 512
	// stateInterval is the time between two checks of the states.
	stateInterval = time.Second
)

// failedScrape describes a failed scrape.
type failedScrape struct {
	time         time.Time
	reason, text string
}

// recentHistory is a copy of the history of a replica.
type recentHistory struct {
	// tokens and waiting are samples, the oldest first, NaN if unknown.
	tokens, waiting []float64
	// changes lists the verdicts since their changes, the oldest first.
	changes []target.Assessment
	// failure is the last failed scrape, zero if none failed.
	failure failedScrape
}

// track is the history of one replica.
type track struct {
	index *figureIndex
	// samples is a ring buffer once it has maxSamples; next is the oldest sample.
	samples []sample
	next    int
	// marks holds earlier counts of the objectives, the oldest first.
	marks   []map[string]objectiveCounts
	changes []target.Assessment
	// stateSince is Status.StateSince of the last change.
	stateSince time.Time
	failure    failedScrape
}

// sample holds the sampled numbers. They are float32 because there are many.
type sample struct{ tokens, waiting float32 }

// history keeps the history of all replicas of a store. It is safe for concurrent use.
type history struct {
	store *snapshot.Store

	mu     sync.Mutex
	tracks map[string]*track
}

// newHistory returns an empty history.
func newHistory(store *snapshot.Store) *history {
	return &history{store: store, tracks: make(map[string]*track)}
}

// follow takes samples until ctx is done. It must not be called concurrently. A page that expires
// is a failure without a new snapshot; it is noticed with the next sample.
func (h *history) follow(ctx context.Context) {
	tick := time.NewTicker(stateInterval)
	defer tick.Stop()
	for n, seen := 0, uint64(0); ; n++ {
		changes := h.store.Changes()
		if sampling := n%int(sampleInterval/stateInterval) == 0; sampling || changes != seen {
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
func (h *history) look(sampling, marking bool) {
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

// figures returns the current numbers of a replica.
func (h *history) figures(slot *snapshot.Slot) Figures {
	b := slot.Derived()
	if b == nil {
		return Figures{}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.track(slot)
	x := t.indexOf(b.Shape())
	f := x.figures(b)
	f.objectives = t.increase(x.counts(b))
	return f
}

// recent returns the history of the replica with the given key.
func (h *history) recent(key string) recentHistory {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.tracks[key]
	if t == nil {
		return recentHistory{}
	}
	r := recentHistory{changes: slices.Clone(t.changes), failure: t.failure}
	r.tokens, r.waiting = make([]float64, len(t.samples)), make([]float64, len(t.samples))
	for i := range t.samples {
		s := t.samples[(t.next+i)%len(t.samples)]
		r.tokens[i], r.waiting[i] = float64(s.tokens), float64(s.waiting)
	}
	return r
}

// since returns when the current verdict on a replica began, zero if unknown.
func (h *history) since(key, state, severity string) time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := h.tracks[key]; t != nil && len(t.changes) > 0 {
		if last := t.changes[len(t.changes)-1]; last.State == state && last.Severity == severity {
			return last.StateSince
		}
	}
	return time.Time{}
}

func (h *history) track(slot *snapshot.Slot) *track {
	key := slot.Target().Key()
	t := h.tracks[key]
	if t == nil {
		t = &track{}
		h.tracks[key] = t
	}
	return t
}

func (t *track) indexOf(shape *exposition.Shape) *figureIndex {
	if t.index == nil || t.index.shape != shape {
		t.index = &figureIndex{shape, map[string]map[string][]exposition.ValueIndex{}}
	}
	return t.index
}

// sample adds a sample of a block, replacing the oldest if the ring is full. A nil block is
// unknown.
func (t *track) sample(b *exposition.Block, marking bool) {
	s := sample{float32(math.NaN()), float32(math.NaN())}
	if b != nil {
		x := t.indexOf(b.Shape())
		s = sample{narrowed(x.number(b, tokensFamily, plus)), narrowed(x.number(b, waitingFamily, plus))}
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
func (t *track) mark(now map[string]objectiveCounts, marking bool) {
	last := len(t.marks) - 1
	switch {
	case len(now) == 0:
	case last >= 0 && restarted(now, t.marks[last]):
		t.marks = []map[string]objectiveCounts{{}}
	case marking || last < 0:
		t.marks = append(t.marks[max(len(t.marks)-maxMarks+1, 0):], now)
	}
}

// increase returns the increase of the counts since the oldest mark, nil if there are no counts.
func (t *track) increase(now map[string]objectiveCounts) map[string]objectiveCounts {
	marks := t.marks
	if len(marks) == 0 {
		marks = []map[string]objectiveCounts{now}
	}
	if restarted(now, marks[len(marks)-1]) {
		return now
	}
	for name, c := range now {
		earlier := marks[0][name]
		now[name] = objectiveCounts{c.requests - earlier.requests, c.bad - earlier.bad, c.badAtMost - earlier.badAtMost}
	}
	return now
}

// restarted reports whether a counter decreased.
func restarted(now, earlier map[string]objectiveCounts) bool {
	for name, c := range now {
		if c.requests < earlier[name].requests {
			return true
		}
	}
	return false
}

// observe records a failure and a change of the state.
func (t *track) observe(s *target.Status) {
	if s.LastError != "" {
		t.failure = failedScrape{s.LastScrape, s.LastReason, s.LastError}
	}
	if s.State == "" {
		return
	}
	change := s.Assessment
	change.StateReason = truncated(s.StateReason)
	if n := len(t.changes); n > 0 && s.StateSince.Equal(t.stateSince) {
		if t.changes[n-1].Severity == change.Severity {
			return
		}
		// Only the severity changed, which has no timestamp and may change between scrapes.
		if change.StateSince = t.changes[n-1].StateSince; s.LastScrape.After(change.StateSince) {
			change.StateSince = s.LastScrape
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
