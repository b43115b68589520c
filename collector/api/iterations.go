package api

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

const (
	// iterationPatience is the shortest time an answer is waited for; several
	// releases wait two seconds for more before they answer.
	iterationPatience = 5 * time.Second
	// iterationLimit bounds an answer: 1000 rows are about 1 MB, those with
	// statistics of requests far more.
	iterationLimit = 16 << 20
	// foreignFor is how long the sign of another reader stays.
	foreignFor = 5 * time.Minute
)

// Iterations are what was read of a server's iterations. They are immutable but
// for the book, which belongs to the reading that is under way.
type Iterations struct {
	engine.IterationSums

	// Read is true when rows were read at least once; Failures counts the
	// readings without an answer.
	Read     bool
	Failures uint64
	// foreign is when another reader was last noticed.
	foreign time.Time
	// complete is false after a reading without an answer: what it took is lost.
	complete bool
	book     *engine.Iterations
}

// ForeignReader reports whether another reader was noticed a short time ago.
func (i *Iterations) ForeignReader() bool { return time.Since(i.foreign) < foreignFor }

// Reading is what one question for iterations brought.
type Reading struct {
	Sums engine.IterationSums
	Err  error

	before Iterations
}

// Reading begins a reading of the iterations since the one before; one may be
// under way at a time, for two would take rows from each other.
func (a *Answers) Reading() Reading {
	if a.Iterations == nil {
		return Reading{before: Iterations{complete: true, book: &engine.Iterations{}}}
	}
	return Reading{before: *a.Iterations}
}

// Iterations completes a reading by asking the server.
func (p *Endpoint) Iterations(ctx context.Context, from *engine.IterationStats, r Reading) Reading {
	ctx, cancel := context.WithTimeout(ctx, max(p.Target.Timeout, iterationPatience))
	defer cancel()
	status, _, text, err := p.Scraper.Do(ctx, http.MethodGet, p.Base+from.Path, nil, iterationLimit)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("the server answers %d %s", status, http.StatusText(status))
	}
	if err == nil {
		r.Sums, err = r.before.book.Add(from, text, r.before.complete)
	}
	r.Err = err
	return r
}

// Read takes over what a reading brought.
func (a *Answers) Read(r Reading, log *slog.Logger) {
	now := r.before
	a.Iterations = &now
	if r.Err != nil {
		if now.Failures == 0 {
			log.Warn("Iteration statistics were not read", "err", r.Err)
		}
		now.Failures++
		now.Queued, now.Active, now.complete = nil, nil, false
		return
	}
	if r.Sums.Foreign {
		if time.Since(now.foreign) > foreignFor {
			log.Warn("Another reader takes iteration statistics of this server", "missing_total", r.Sums.Missing)
		}
		now.foreign = time.Now()
	}
	now.IterationSums, now.Read, now.complete = r.Sums, now.Read || r.Sums.Iterations > 0, true
}
