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
	writers []*answer
}

func newGate(slots int) *gate { return &gate{slots: make(chan struct{}, slots)} }

// enter waits for a slot. It returns false when none is free within maxWait, or when too many
// requests wait.
func (g *gate) enter(ctx context.Context) bool {
	defer g.waiting.Add(-1)
	if g.waiting.Add(1) > int64(connectionsPerSlot*cap(g.slots)) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	select {
	case g.slots <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// write releases the slot of an answer when only writing it remains.
func (g *gate) write(a *answer) {
	a.since, a.slow = time.Now(), time.AfterFunc(patience, g.trim)
	g.mu.Lock()
	g.writers = append(g.writers, a)
	g.mu.Unlock()
	<-g.slots
}

func (g *gate) leave(a *answer) {
	if a.slow == nil {
		<-g.slots
		return
	}
	a.slow.Stop()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.writers = slices.DeleteFunc(g.writers, func(o *answer) bool { return o == a })
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
		if held <= sharedMemory() || time.Since(g.writers[0].since) < patience {
			return
		}
		g.writers[0].cut()
		g.writers = slices.Delete(g.writers, 0, 1)
	}
}

// sharedMemory returns how many bytes answers to slow clients, and shared pages, may have each.
func sharedMemory() int64 {
	return min(max(debug.SetMemoryLimit(-1)/memoryShare, minMemory), maxMemory)
}

func (s *Server) gated(w *answer, r *http.Request, serve func(http.ResponseWriter, *http.Request)) {
	if !s.gate.enter(r.Context()) {
		w.Header().Set("Retry-After", "1")
		http.Error(w, "Too many requests at once; try again in a second", http.StatusServiceUnavailable)
		return
	}
	w.gate = s.gate
	defer s.gate.leave(w)
	serve(w, r)
	if r.Method != http.MethodHead && w.Header().Get("Content-Length") != "" {
		w.flush()
	}
}
