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
	// patience is how long an answer may write before its reader counts as slow: slow
	// readers cost memory, and are cut, the oldest first, when they hold too much.
	patience = 250 * time.Millisecond
	// grace is how long any answer may write before it is cut for another that
	// finds too many open.
	grace = patience / 5
	// writersPerSlot bounds the answers that are being written, as a multiple of those
	// at work.
	writersPerSlot = 8
	// longestWait is how long a request waits for a slot: most of what Prometheus
	// gives a scrape at the shortest intervals in use.
	longestWait = 3 * time.Second
	// heldShare is the part of the memory limit that the answers may have which
	// slow readers hold, maxHeld and leastHeld bound it in bytes.
	heldShare, maxHeld, leastHeld = 8, 64 << 20, 4 << 20
)

// gate bounds the requests at work, each of which has a slot. At its first byte an
// answer gives the slot to the next, for writing costs memory and not a processor, so
// that readers who take their time cannot shut the others out.
type gate struct {
	slots chan struct{}
	// waiting is how many wait for one.
	waiting atomic.Int64

	mu sync.Mutex
	// writers are the answers of which only writing is left, the oldest first.
	writers []*admission
}

func newGate(slots int) *gate { return &gate{slots: make(chan struct{}, slots)} }

// admission is one admitted request.
type admission struct {
	gate *gate
	// writing says that the slot was given back, since when, bytes is what is written,
	// cut cuts it off.
	writing bool
	since   time.Time
	bytes   int64
	cut     func()
	slow    *time.Timer
}

// enter waits for a slot; nil when there is none for longestWait, too many wait, or too
// many answers are being written.
func (g *gate) enter(ctx context.Context) *admission {
	g.mu.Lock()
	full := len(g.writers) >= writersPerSlot*cap(g.slots) && !g.cutOldest(grace)
	g.mu.Unlock()
	defer g.waiting.Add(-1)
	if waiting := g.waiting.Add(1); full || waiting > int64(connectionsPerSlot*cap(g.slots)) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, longestWait)
	defer cancel()
	select {
	case g.slots <- struct{}{}:
		return &admission{gate: g}
	case <-ctx.Done():
		return nil
	}
}

// write gives the slot back when only writing so many bytes is left, and says how to
// cut it off.
func (p *admission) write(bytes int64, cut func()) {
	if p.writing {
		return
	}
	p.writing, p.since, p.bytes, p.cut = true, time.Now(), bytes, cut
	g := p.gate
	g.mu.Lock()
	g.writers = append(g.writers, p)
	g.mu.Unlock()
	p.slow = time.AfterFunc(patience, g.trim)
	<-g.slots
}

// leave ends the request.
func (p *admission) leave() {
	if !p.writing {
		<-p.gate.slots
		return
	}
	p.slow.Stop()
	p.gate.mu.Lock()
	defer p.gate.mu.Unlock()
	p.gate.writers = slices.DeleteFunc(p.gate.writers, func(o *admission) bool { return o == p })
}

// trim cuts the oldest slow readers as long as all hold too much.
func (g *gate) trim() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for len(g.writers) > 1 {
		held := int64(0)
		for _, w := range g.writers {
			held += w.bytes
		}
		if held <= heldOf(debug.SetMemoryLimit(-1)) || !g.cutOldest(patience) {
			return
		}
	}
}

// heldOf is how many bytes slow readers may hold by the memory limit of the process.
func heldOf(limit int64) int64 { return min(max(limit/heldShare, leastHeld), maxHeld) }

// cutOldest ends the answer that has written longest, if it is of that age.
func (g *gate) cutOldest(age time.Duration) bool {
	if len(g.writers) == 0 || time.Since(g.writers[0].since) < age {
		return false
	}
	g.writers[0].cut()
	g.writers = slices.Delete(g.writers, 0, 1)
	return true
}

// gated serves a route that costs work.
func (s *Server) gated(w *answer, r *http.Request, serve func(http.ResponseWriter, *http.Request)) {
	w.pass = s.gate.enter(r.Context())
	if w.pass == nil {
		w.Header().Set("Retry-After", "1")
		http.Error(w, "Too many requests at once; try again in a second", http.StatusServiceUnavailable)
		return
	}
	defer w.pass.leave()
	serve(w, r)
	if r.Method != http.MethodHead && w.Header().Get("Content-Length") != "" {
		w.flush()
	}
}
