package replica

import (
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/canary"
	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
)

// Pool is what the replicas of one pool have in common. It is shared by all of
// them and only read.
type Pool struct {
	// Scraper asks the servers.
	Scraper scrape.Scraper
	// Starts limits how many replicas start at once, those of all pools together; nil
	// lets all start together. Of a thousand each would hold several connections while
	// none gets on, and pages would not wait for the answers that their labels are made
	// of.
	Starts *Starts
	// Resources are what the replicas of all pools share of the process; nil bounds
	// nothing of what is kept of pages.
	Resources *scrape.Resources
	// Origin is the moment from which pages are timed, by the monotonic clock.
	Origin time.Time
	// Marker is text that only the exporter's own page has.
	Marker string
	// Panicked is called for each panic that was kept to its replica, from any
	// goroutine.
	Panicked func()

	// Window is how far derived series look back, StallAfter how long work may
	// be in flight without progress.
	Window, StallAfter time.Duration
	// FailingMin is how many requests must fail in a row for a replica to be failing.
	FailingMin int
	// Page says which vocabularies are published.
	Page exposition.Config
	// Limits bound the series of one page.
	Limits exposition.Limits
	// Output bounds what the replica's page and the series derived from it may
	// take of ours.
	Output derive.Budget
	// Labels says how series are labelled.
	Labels assess.Labels
	// Promises are what the replicas are measured by.
	Promises
	Questions
	// Canary reports whether and what requests are sent.
	Canary canary.Config
}

// Promises are what the operator says of a pool's replicas.
type Promises struct {
	// StartBudget is how long a replica that was never seen may take to come up.
	StartBudget time.Duration
	// Expect is what is expected of every replica.
	Expect assess.Expectations
	// Objectives are those of the pool.
	Objectives []derive.Objective
}

// Questions say what is asked of the servers besides their pages.
type Questions struct {
	// IdentityInterval is the time between two rounds of questions about
	// versions and models.
	IdentityInterval time.Duration
	// EngineDir is the folder of the TensorRT engine; empty where it is not seen.
	EngineDir string
	// GRPC says that the API is asked over gRPC where the server has that.
	GRPC bool
	// IterationStats says that the statistics of iterations are read where the
	// server has them.
	IterationStats bool
}

// limits are those of the page: where it is shown, it may take three quarters of
// the output, so that a huge page leaves room for what is derived from it.
func (p *Pool) limits() exposition.Limits {
	limits := p.Limits
	if p.Page.Raw {
		limits.Output = p.Output.Budget
		limits.Output.Series = (3*limits.Output.Series + 3) / 4
		limits.Output.Bytes = (3*limits.Output.Bytes + 3) / 4
	}
	return limits
}
