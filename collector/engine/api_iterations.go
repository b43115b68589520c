package engine

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"
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

// Iterations holds what was read of a server's iterations. It is immutable except for counter,
// which belongs to the current reading.
type Iterations struct {
	IterationSums

	// Read is true once rows were read. Failures counts the readings without an answer.
	Read     bool
	Failures uint64
	// foreign is when another reader was last noticed. complete is false after a reading without
	// an answer, whose rows are lost.
	foreign  time.Time
	complete bool
	counter  *iterationCounter
}

// ForeignReader reports whether another reader was noticed recently.
func (i *Iterations) ForeignReader() bool { return time.Since(i.foreign) < foreignReaderTime }

// IterationReading is the result of one request for iterations.
type IterationReading struct {
	Err error

	sums     IterationSums
	previous Iterations
}

// BeginReading begins a reading of the iterations since the previous one. Readings must not
// overlap, since they would take rows from each other.
func (a *Answers) BeginReading() IterationReading {
	if a.Iterations == nil {
		return IterationReading{previous: Iterations{complete: true, counter: &iterationCounter{}}}
	}
	return IterationReading{previous: *a.Iterations}
}

// Iterations completes a reading with the server's answer.
func (p *Endpoint) Iterations(ctx context.Context, path string, r IterationReading) IterationReading {
	ctx, cancel := context.WithTimeout(ctx, max(p.target.Timeout, minIterationTimeout))
	defer cancel()
	status, _, text, err := p.client.Do(ctx, http.MethodGet, p.base+path, nil, maxIterationAnswer)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("the server answers %d %s", status, http.StatusText(status))
	}
	if err == nil {
		r.sums, err = r.previous.counter.Add(text, r.previous.complete)
	}
	r.Err = err
	return r
}

// AddReading adds the result of a reading.
func (a *Answers) AddReading(r IterationReading, log *slog.Logger) {
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
	if r.sums.Foreign {
		if !now.ForeignReader() {
			log.Warn("Another reader takes iteration statistics of this server", "missing_total", r.sums.Missing)
		}
		now.foreign = time.Now()
	}
	now.IterationSums, now.Read, now.complete = r.sums, r.sums.Iterations > 0, true
}
