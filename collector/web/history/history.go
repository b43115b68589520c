package history

import (
	"context"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// The bounds of what is kept of one replica.
const (
	// Every is the time between two samples of the numbers.
	Every = 5 * time.Second
	// samplesKept are ten minutes.
	samplesKept = 120
	changesKept = 20
	// reasonKept is how many bytes of a reason are kept with a change.
	reasonKept = 512
	// lookEvery is how often the states are looked at, which costs little.
	lookEvery = time.Second
)

// Change is a replica's state from a moment on.
type Change struct {
	At                      time.Time
	State, Severity, Reason string
}

// Failure is a scrape that failed.
type Failure struct {
	At           time.Time
	Reason, Text string
}

// Recent is what is kept of one replica. The caller owns it.
type Recent struct {
	// Tokens and Waiting are samples, the oldest first, NaN where the number was
	// not known. The last one is of the last moment at which samples were taken.
	Tokens, Waiting []float64
	// Changes are in the order in which they came, the last one holds.
	Changes []Change
	// Failure is the last one, maybe long past; zero when there was none.
	Failure Failure
}

// track is what is kept of one replica.
type track struct {
	places  *places
	samples []sample
	next    int
	changes []Change
	// since is when the state of the last change began.
	since   time.Time
	failure Failure
}

// sample is small, for there are many.
type sample struct{ tokens, waiting float32 }

// History keeps the last minutes of all replicas of a store. Its methods may be
// called concurrently.
type History struct {
	store *snapshot.Store

	mu     sync.Mutex
	tracks map[string]*track
}

// New returns a history of nothing yet.
func New(store *snapshot.Store) *History {
	return &History{store: store, tracks: make(map[string]*track)}
}

// Follow takes samples until ctx ends. One caller at a time follows a history.
func (h *History) Follow(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for n := 0; ; n++ {
		if n%int(Every/lookEvery) == 0 {
			h.sample()
		}
		h.look()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// sample adds the numbers of this moment, and forgets the replicas that are gone.
func (h *History) sample() {
	slots := h.store.Slots()
	known := make(map[string]bool, len(slots))
	for _, slot := range slots {
		f := h.Figures(slot)
		key := slot.Target().Key()
		known[key] = true
		h.mu.Lock()
		h.track(key).add(sample{float32(f.Tokens), float32(f.Waiting)})
		h.mu.Unlock()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for key := range h.tracks {
		if !known[key] {
			delete(h.tracks, key)
		}
	}
}

// look notes states and failures that are new.
func (h *History) look() {
	for _, slot := range h.store.Slots() {
		status := slot.Status()
		h.mu.Lock()
		h.track(slot.Target().Key()).note(&status)
		h.mu.Unlock()
	}
}

// Figures are the numbers of a replica now.
func (h *History) Figures(slot *snapshot.Slot) Figures {
	b := slot.Derived()
	if b == nil {
		return unknownFigures()
	}
	defer b.Release()
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.track(slot.Target().Key())
	if t.places == nil || t.places.shape != b.Shape() {
		t.places = find(b.Shape())
	}
	return t.places.read(b)
}

// Recent is what is kept of the replica of that key.
func (h *History) Recent(key string) Recent {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.tracks[key]
	if t == nil {
		return Recent{}
	}
	r := Recent{Changes: append([]Change(nil), t.changes...), Failure: t.failure}
	r.Tokens, r.Waiting = make([]float64, len(t.samples)), make([]float64, len(t.samples))
	for i := range t.samples {
		s := t.samples[(t.next+i)%len(t.samples)]
		r.Tokens[i], r.Waiting[i] = float64(s.tokens), float64(s.waiting)
	}
	return r
}

// track is that of a replica, made when it is new.
func (h *History) track(key string) *track {
	t := h.tracks[key]
	if t == nil {
		t = &track{}
		h.tracks[key] = t
	}
	return t
}

// add replaces the oldest sample once there are enough.
func (t *track) add(s sample) {
	if len(t.samples) < samplesKept {
		t.samples = append(t.samples, s)
		return
	}
	t.samples[t.next] = s
	t.next = (t.next + 1) % samplesKept
}

// note compares a status with what was seen last.
func (t *track) note(s *target.Status) {
	if s.LastError != "" {
		t.failure = Failure{At: s.LastScrape, Reason: s.LastReason, Text: s.LastError}
	}
	if s.State == "" {
		return
	}
	next := Change{At: s.StateSince, State: s.State, Severity: s.Severity, Reason: cut(s.StateReason)}
	if n := len(t.changes); n > 0 && s.StateSince.Equal(t.since) {
		if t.changes[n-1].Severity == next.Severity {
			return
		}
		// The state has not changed, and a status does not date its severity.
		next.At = s.LastScrape
	}
	t.since = s.StateSince
	if len(t.changes) == changesKept {
		t.changes = slices.Delete(t.changes, 0, 1)
	}
	t.changes = append(t.changes, next)
}

// cut bounds a reason.
func cut(reason string) string {
	if len(reason) <= reasonKept {
		return reason
	}
	return strings.ToValidUTF8(reason[:reasonKept], "") + "…"
}

// Known says whether a number is known.
func Known(v float64) bool { return !math.IsNaN(v) }
