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
	// minIterationTimeout is the minimum timeout of a request: several releases wait two seconds
	// for more rows before they answer.
	minIterationTimeout = 5 * time.Second
	// maxIterationAnswer limits the size of an answer: 1000 rows are about 1 MB, and far more
	// with request statistics.
	maxIterationAnswer = 16 << 20
	// foreignReaderTime is how long a sign of another reader counts.
	foreignReaderTime = 5 * time.Minute
)

// Iterations holds what was read of a server's iterations. It is immutable except for book, which
// belongs to the current reading.
type Iterations struct {
	engine.IterationSums

	// Read is true once rows were read. Failures counts the readings without an answer.
	Read     bool
	Failures uint64
	// foreign is when another reader was last noticed. complete is false after a reading without
	// an answer, whose rows are lost.
	foreign  time.Time
	complete bool
	book     *engine.Iterations
}

// ForeignReader reports whether another reader was noticed recently.
func (i *Iterations) ForeignReader() bool { return time.Since(i.foreign) < foreignReaderTime }

// Reading is the result of one request for iterations.
type Reading struct {
	Sums engine.IterationSums
	Err  error

	previous Iterations
}

// BeginReading begins a reading of the iterations since the previous one. Readings must not
// overlap, since they would take rows from each other.
func (a *Answers) BeginReading() Reading {
	if a.Iterations == nil {
		return Reading{previous: Iterations{complete: true, book: &engine.Iterations{}}}
	}
	return Reading{previous: *a.Iterations}
}

// Iterations completes a reading with the server's answer.
func (p *Endpoint) Iterations(ctx context.Context, path string, r Reading) Reading {
	ctx, cancel := context.WithTimeout(ctx, max(p.Target.Timeout, minIterationTimeout))
	defer cancel()
	status, _, text, err := p.Scraper.Do(ctx, http.MethodGet, p.Base+path, nil, maxIterationAnswer)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("the server answers %d %s", status, http.StatusText(status))
	}
	if err == nil {
		r.Sums, err = r.previous.book.Add(text, r.previous.complete)
	}
	r.Err = err
	return r
}

// AddReading adds the result of a reading.
func (a *Answers) AddReading(r Reading, log *slog.Logger) {
	now := r.previous
	a.Iterations = &now
	if r.Err != nil {
		if now.Failures == 0 {
			log.Warn("Iteration statistics cannot be read", "err", r.Err)
		}
		now.Failures++
		now.Queued, now.Active, now.complete = nil, nil, false
		return
	}
	if r.Sums.Foreign {
		if time.Since(now.foreign) > foreignReaderTime {
			log.Warn("Another reader takes iteration statistics of this server", "missing_total", r.Sums.Missing)
		}
		now.foreign = time.Now()
	}
	now.IterationSums, now.Read, now.complete = r.Sums, now.Read || r.Sums.Iterations > 0, true
}
