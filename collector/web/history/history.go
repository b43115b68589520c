package history

import (
	"context"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
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
	At                               time.Time
	State, Severity, Runbook, Reason string
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

// Follow takes samples until ctx ends. One caller at a time follows a history. It
// waits for nothing as long as there is no replica.
func (h *History) Follow(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for n, seen := 0, uint64(0); ; n++ {
		news := h.store.Changes()
		if n%int(Every/lookEvery) == 0 {
			h.sample()
			seen = news - 1
		}
		if news != seen {
			// A page that is too old is a failure that nobody publishes: that is seen
			// with the samples.
			h.look()
			seen = news
		}
		if !h.wait(ctx, tick.C) {
			return
		}
	}
}

// wait waits for a tick, and before that for a replica, with nothing kept of those
// that are gone; false when ctx has ended.
func (h *History) wait(ctx context.Context, tick <-chan time.Time) bool {
	occupied := h.store.NonEmpty()
	select {
	case <-occupied:
	default:
		h.sample()
	}
	select {
	case <-ctx.Done():
		return false
	case <-occupied:
	}
	select {
	case <-ctx.Done():
		return false
	case <-tick:
		return true
	}
}

// sample adds the numbers of this moment, and forgets the replicas that are gone.
func (h *History) sample() {
	slots := h.store.Slots()
	known := make(map[string]bool, len(slots))
	for _, slot := range slots {
		key := slot.Target().Key()
		known[key] = true
		h.mu.Lock()
		t := h.track(key)
		t.add(t.sample(slot))
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
		return Figures{}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.track(slot.Target().Key()).in(b.Shape()).read(b)
}

// Recent is what is kept of the replica of that key.
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

// Since is when the present verdict on a replica began; zero when that was not seen.
func (h *History) Since(key, state, severity string) time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := h.tracks[key]; t != nil && len(t.changes) > 0 {
		if last := t.changes[len(t.changes)-1]; last.State == state && last.Severity == severity {
			return last.At
		}
	}
	return time.Time{}
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

// in is where the numbers are in blocks of a shape.
func (t *track) in(shape *exposition.Shape) *places {
	if t.places == nil || t.places.shape != shape {
		t.places = find(shape)
	}
	return t.places
}

// sample is that of a replica now.
func (t *track) sample(slot *snapshot.Slot) sample {
	b := slot.Derived()
	if b == nil {
		nan := float32(math.NaN())
		return sample{nan, nan}
	}
	return t.in(b.Shape()).sampled(b)
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
	next := Change{At: s.StateSince, State: s.State, Severity: s.Severity, Runbook: s.Runbook, Reason: cut(s.StateReason)}
	if n := len(t.changes); n > 0 && s.StateSince.Equal(t.since) {
		if t.changes[n-1].Severity == next.Severity {
			return
		}
		// The state has not changed, and a status does not date its severity, which may
		// be judged before the next scrape.
		if next.At = t.changes[n-1].At; s.LastScrape.After(next.At) {
			next.At = s.LastScrape
		}
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
