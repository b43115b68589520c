package web

import (
	"context"
	"net/http"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// patience is how long a client may take to read an answer before it counts as slow. When
	// slow clients hold too much memory, the oldest answers are cut off.
	patience = 250 * time.Millisecond
	// grace is the minimum age of an answer that is cut off when too many are being written.
	grace = patience / 5
	// writersPerSlot limits the answers being written as a multiple of concurrent requests.
	writersPerSlot = 8
	// maxWait is how long a request waits for a slot: most of the timeout of a scrape at the
	// shortest intervals in use.
	maxWait = 3 * time.Second
	// memoryShare is the part of the memory limit that slow clients may hold, between minMemory and
	// maxMemory bytes.
	memoryShare, maxMemory, minMemory = 8, 64 << 20, 4 << 20
)

// gate limits concurrent requests, each of which has a slot. An answer releases its slot at its
// first byte: writing costs memory but no CPU, so that slow clients cannot block the others.
type gate struct {
	slots chan struct{}
	// waiting counts the requests that wait for a slot.
	waiting atomic.Int64

	mu sync.Mutex
	// writers are the answers being written, the oldest first.
	writers []*admission
}

func newGate(slots int) *gate { return &gate{slots: make(chan struct{}, slots)} }

// admission is an admitted request.
type admission struct {
	gate *gate
	// writing reports that the slot was released, at time since; cut makes writes of the answer,
	// which has that many bytes, fail.
	writing bool
	since   time.Time
	bytes   int64
	cut     func()
	slow    *time.Timer
}

// enter waits for a slot. It returns nil when none is free within maxWait, or when too many
// requests wait or too many answers are being written.
func (g *gate) enter(ctx context.Context) *admission {
	g.mu.Lock()
	full := len(g.writers) >= writersPerSlot*cap(g.slots) && !g.cutOldest(grace)
	g.mu.Unlock()
	defer g.waiting.Add(-1)
	if waiting := g.waiting.Add(1); full || waiting > int64(connectionsPerSlot*cap(g.slots)) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	select {
	case g.slots <- struct{}{}:
		return &admission{gate: g}
	case <-ctx.Done():
		return nil
	}
}

// write releases the slot when only writing the answer remains.
func (a *admission) write(bytes int64, cut func()) {
	if a.writing {
		return
	}
	a.writing, a.since, a.bytes, a.cut = true, time.Now(), bytes, cut
	g := a.gate
	g.mu.Lock()
	g.writers = append(g.writers, a)
	g.mu.Unlock()
	a.slow = time.AfterFunc(patience, g.trim)
	<-g.slots
}

func (a *admission) leave() {
	if !a.writing {
		<-a.gate.slots
		return
	}
	a.slow.Stop()
	a.gate.mu.Lock()
	defer a.gate.mu.Unlock()
	a.gate.writers = slices.DeleteFunc(a.gate.writers, func(o *admission) bool { return o == a })
}

// trim cuts off the oldest answers to slow clients while all together hold too much memory.
func (g *gate) trim() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for len(g.writers) > 1 {
		held := int64(0)
		for _, w := range g.writers {
			held += w.bytes
		}
		if held <= sharedMemory() || !g.cutOldest(patience) {
			return
		}
	}
}

// sharedMemory returns how many bytes answers to slow clients, and shared pages, may have each.
func sharedMemory() int64 { return min(max(debug.SetMemoryLimit(-1)/memoryShare, minMemory), maxMemory) }

// cutOldest cuts off the oldest answer if it has that age, and reports whether it has.
func (g *gate) cutOldest(age time.Duration) bool {
	if len(g.writers) == 0 || time.Since(g.writers[0].since) < age {
		return false
	}
	g.writers[0].cut()
	g.writers = slices.Delete(g.writers, 0, 1)
	return true
}

// gated serves a route with a slot of the gate.
func (s *Server) gated(w *answer, r *http.Request, serve func(http.ResponseWriter, *http.Request)) {
	w.admission = s.gate.enter(r.Context())
	if w.admission == nil {
		w.Header().Set("Retry-After", "1")
		http.Error(w, "Too many requests at once; try again in a second", http.StatusServiceUnavailable)
		return
	}
	defer w.admission.leave()
	serve(w, r)
	if r.Method != http.MethodHead && w.Header().Get("Content-Length") != "" {
		w.flush()
	}
}
