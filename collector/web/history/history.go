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

// The limits of the history of a replica.
const (
	// SampleInterval is the time between two samples of the numbers.
	SampleInterval = 5 * time.Second
	// maxSamples are ten minutes.
	maxSamples     = 120
	maxChanges     = 20
	maxReasonBytes = 512
	// stateInterval is the time between two looks at the states, which cost little.
	stateInterval = time.Second
)

// Change is the state of a replica from a time on.
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
	// Tokens and Waiting are samples, the oldest first, NaN where the number was unknown.
	Tokens, Waiting []float64
	// Changes are the states, the oldest first.
	Changes []Change
	// Failure is the last failed scrape; zero if none failed.
	Failure Failure
}

// track is the history of one replica.
type track struct {
	index *index
	// samples are a ring once there are maxSamples; next is the oldest.
	samples []sample
	next    int
	changes []Change
	// since is Status.StateSince of the last change.
	since   time.Time
	failure Failure
}

// sample holds the sampled numbers as float32, as there are many.
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

// Follow takes samples until ctx ends. It must not be called concurrently. While there are no
// replicas it does not wake up.
func (h *History) Follow(ctx context.Context) {
	tick := time.NewTicker(stateInterval)
	defer tick.Stop()
	for n, seen := 0, uint64(0); ; n++ {
		news := h.store.Changes()
		sampling := n%int(SampleInterval/stateInterval) == 0
		if sampling {
			h.sample()
		}
		// A page that becomes too old is a failure that is not published; it is seen with the
		// samples.
		if sampling || news != seen {
			h.observe()
			seen = news
		}
		if !h.wait(ctx, tick.C) {
			return
		}
	}
}

// wait waits until there is a replica, forgetting those that were removed, and then for a tick.
// It returns false when ctx ends.
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

// sample takes a sample of each replica, and forgets the replicas that were removed.
func (h *History) sample() {
	slots := h.store.Slots()
	present := make(map[string]bool, len(slots))
	for _, slot := range slots {
		key := slot.Target().Key()
		present[key] = true
		h.mu.Lock()
		t := h.track(key)
		t.add(t.sample(slot))
		h.mu.Unlock()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	maps.DeleteFunc(h.tracks, func(key string, _ *track) bool { return !present[key] })
}

// observe records new states and failures.
func (h *History) observe() {
	for _, slot := range h.store.Slots() {
		status := slot.Status()
		h.mu.Lock()
		h.track(slot.Target().Key()).observe(&status)
		h.mu.Unlock()
	}
}

// Figures returns the current numbers of a replica.
func (h *History) Figures(slot *snapshot.Slot) Figures {
	b := slot.Derived()
	if b == nil {
		return Figures{}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.track(slot.Target().Key()).indexOf(b.Shape()).figures(b)
}

// Recent returns the history of the replica with a key.
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

// Since returns the time of the current verdict on a replica; zero if unknown.
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

// track returns the track of a replica, a new one for a new replica.
func (h *History) track(key string) *track {
	t := h.tracks[key]
	if t == nil {
		t = &track{}
		h.tracks[key] = t
	}
	return t
}

// indexOf returns the index of a shape, which is kept until the shape changes.
func (t *track) indexOf(shape *exposition.Shape) *index {
	if t.index == nil || t.index.shape != shape {
		t.index = newIndex(shape)
	}
	return t.index
}

func (t *track) sample(slot *snapshot.Slot) sample {
	b := slot.Derived()
	if b == nil {
		nan := float32(math.NaN())
		return sample{nan, nan}
	}
	return t.indexOf(b.Shape()).sample(b)
}

// add adds a sample, in place of the oldest one if there are enough.
func (t *track) add(s sample) {
	if len(t.samples) < maxSamples {
		t.samples = append(t.samples, s)
		return
	}
	t.samples[t.next] = s
	t.next = (t.next + 1) % maxSamples
}

// observe records a failure, and a state that changed.
func (t *track) observe(s *target.Status) {
	if s.LastError != "" {
		t.failure = Failure{Time: s.LastScrape, Reason: s.LastReason, Text: s.LastError}
	}
	if s.State == "" {
		return
	}
	change := Change{Time: s.StateSince, State: s.State, Severity: s.Severity, Runbook: s.Runbook, Reason: truncated(s.StateReason)}
	if n := len(t.changes); n > 0 && s.StateSince.Equal(t.since) {
		if t.changes[n-1].Severity == change.Severity {
			return
		}
		// Only the severity changed, which has no time of its own and may change before the next
		// scrape.
		if change.Time = t.changes[n-1].Time; s.LastScrape.After(change.Time) {
			change.Time = s.LastScrape
		}
	}
	t.since = s.StateSince
	if len(t.changes) == maxChanges {
		t.changes = slices.Delete(t.changes, 0, 1)
	}
	t.changes = append(t.changes, change)
}

// truncated limits a reason to maxReasonBytes.
func truncated(reason string) string {
	if len(reason) <= maxReasonBytes {
		return reason
	}
	return strings.ToValidUTF8(reason[:maxReasonBytes], "") + "…"
}
