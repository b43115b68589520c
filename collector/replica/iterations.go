package replica

import (
	"context"
	"fmt"
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

// iterations are what was read of a replica's iterations. They are immutable
// but for the book, which belongs to the reading that is under way.
type iterations struct {
	engine.IterationSums

	// read is true when rows were read at least once; failures counts the
	// readings without an answer.
	read     bool
	failures uint64
	// foreign is when another reader was last noticed.
	foreign time.Time
	// complete is false after a reading without an answer: what it took is lost.
	complete bool
	book     *engine.Iterations
}

// reading is what one question for iterations brought.
type reading struct {
	sums engine.IterationSums
	err  error
}

// dueIterations reads the iterations since the last reading. One question is
// put at a time, for two would take rows from each other.
func (r *Replica) dueIterations(ctx context.Context, _ uint64) {
	base, from := r.apiURL(), r.server.Engine.Iterations()
	if base == "" || from == nil || r.jobs.iterations.running {
		return
	}
	before := iterations{complete: true, book: &engine.Iterations{}}
	if r.answers.iterations != nil {
		before = *r.answers.iterations
	}
	scraper, timeout := r.pool.Scraper, max(r.target.Timeout, iterationPatience)
	begin(ctx, r, &r.jobs.iterations, "iterations", func(ctx context.Context) (got reading) {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		status, _, text, err := scraper.Do(ctx, http.MethodGet, base+from.Path, nil, iterationLimit)
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("the server answers %s", http.StatusText(status))
		}
		if err == nil {
			got.sums, err = before.book.Add(from, text, before.complete)
		}
		got.err = err
		return got
	}, func(got reading, failed error) {
		if failed != nil {
			got.err = failed
		}
		r.iterated(before, got)
	})
}

// iterated takes over what a reading brought.
func (r *Replica) iterated(now iterations, got reading) {
	if got.err != nil {
		if now.failures == 0 {
			r.log.Warn("Iteration statistics were not read", "err", got.err)
		}
		now.failures++
		now.Queued, now.Active, now.complete = nil, nil, false
		r.answers.iterations = &now
		return
	}
	if got.sums.Foreign {
		if time.Since(now.foreign) > foreignFor {
			r.log.Warn("Another reader takes iteration statistics of this server", "missing_total", got.sums.Missing)
		}
		now.foreign = time.Now()
	}
	now.IterationSums, now.read, now.complete = got.sums, now.read || got.sums.Iterations > 0, true
	r.answers.iterations = &now
}
