package collector

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

const (
	// iterationEvery is the longest time between two readings: at 7 ms an
	// iteration a server keeps those of seven seconds.
	iterationEvery = 5 * time.Second
	// iterationPatience is the shortest time an answer is waited for; several
	// releases wait two seconds for more before they answer.
	iterationPatience = 5 * time.Second
	// iterationLimit bounds an answer: 1000 rows are about 1 MB, those with
	// statistics of requests far more.
	iterationLimit = 16 << 20
	// foreignFor is how long the sign of another reader stays.
	foreignFor = 5 * time.Minute
)

// validateIterations says what is wrong with iteration_stats.
func (c *PoolConfig) validateIterations() error {
	if !c.IterationStats || c.Engine == EngineAuto {
		return nil
	}
	var have []string
	for _, e := range engine.All() {
		if e.Iterations() != nil {
			have = append(have, string(e.Kind()))
		}
	}
	if slices.Contains(have, c.Engine) {
		return nil
	}
	return fmt.Errorf("iteration_stats: servers of engine %s have none; remove it, or set engine to %s", c.Engine, strings.Join(have, " or "))
}

// iterations are what was read of a replica's iterations, immutable.
type iterations struct {
	engine.IterationSums

	// read is true when rows were read at least once; failures counts the
	// readings without an answer.
	read     bool
	failures uint64
	// foreign is when another reader was last noticed.
	foreign time.Time
}

// runIterations reads the statistics of the replica's iterations until ctx
// ends. One goroutine does it, one question at a time, for two would take rows
// from each other.
func (r *replica) runIterations(ctx context.Context) {
	ticker := time.NewTicker(min(r.target.Interval, iterationEvery))
	defer ticker.Stop()
	var book engine.Iterations
	complete := true
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		_, e, base, ok := r.api()
		if !ok || e.Iterations() == nil {
			continue
		}
		_ = r.guard("iterations", func() { complete = r.readIterations(ctx, e.Iterations(), base, &book, complete) })
	}
}

// readIterations reads once; true when rows can not have been lost on the way.
func (r *replica) readIterations(life context.Context, from *engine.IterationStats, base string, book *engine.Iterations, complete bool) bool {
	ctx, cancel := context.WithTimeout(life, max(r.target.Timeout, iterationPatience))
	defer cancel()
	now := iterations{}
	before := r.iterated.Load()
	if before != nil {
		now = *before
	}
	status, _, text, err := r.pool.client.Do(ctx, http.MethodGet, base+from.Path, nil, iterationLimit)
	if life.Err() != nil {
		return complete
	}
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("the server answers %s", http.StatusText(status))
	}
	var sums engine.IterationSums
	if err == nil {
		sums, err = book.Add(from, text, complete)
	}
	if err != nil {
		now.failures++
		now.Queued, now.Active = nil, nil
		if before == nil || before.failures == 0 {
			r.log.Warn("Iteration statistics were not read", "err", err)
		}
		r.iterated.Store(&now)
		return false
	}
	if sums.Foreign {
		if time.Since(now.foreign) > foreignFor {
			r.log.Warn("Another reader takes iteration statistics of this server", "missing_total", sums.Missing)
		}
		now.foreign = time.Now()
	}
	now.IterationSums, now.read = sums, now.read || sums.Iterations > 0
	r.iterated.Store(&now)
	return true
}

// sayIterations says what was read of the iterations so far.
func (r *replica) sayIterations(id *labels.Builder) {
	now := r.iterated.Load()
	if now == nil {
		return
	}
	set := id.Labels()
	r.about.say("iteration_stats_failures_total", set, float64(now.failures))
	if !now.read {
		return
	}
	r.about.say("iteration_stats_read_total", set, float64(now.Iterations))
	r.about.say("iteration_stats_gaps_total", set, float64(now.Missing))
	r.about.say("iteration_stats_foreign_reader", set, flag(time.Since(now.foreign) < foreignFor))
	r.about.say("iteration_stats_generation_tokens_estimated_total", set, now.GeneratedTokens)
	r.about.say("iteration_stats_context_tokens_total", set, now.ContextTokens)
	r.about.say("iteration_stats_completed_requests_total", set, now.Completed)
	if now.Queued != nil {
		r.about.say("iteration_stats_queued_requests", set, *now.Queued)
	}
	if now.Active != nil {
		r.about.say("iteration_stats_active_requests", set, *now.Active)
	}
}
