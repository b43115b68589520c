package replica

import (
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/canary"
	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
)

// Pool is what the replicas of one pool have in common. They share it and only read
// it.
type Pool struct {
	// Scraper sends the requests to the servers.
	Scraper scrape.Scraper
	// Starts limits how many replicas of all pools start at once; nil is no limit. If a
	// thousand started together, each would hold several connections while none made
	// progress, and pages would not wait for the answers that their labels need.
	Starts *StartLimiter
	// Resources accounts for what all pools share of the process; nil sets no limit on
	// the memory of pages.
	Resources *scrape.Resources
	// Origin is the zero of page times on the monotonic clock.
	Origin time.Time
	// Marker is text that only the exporter's own page has.
	Marker string
	// Panicked is called for each recovered panic, from any goroutine.
	Panicked func()

	// Window is how far derived series look back, StallAfter how long work may
	// be in flight without progress.
	Window, StallAfter time.Duration
	// FailingMin is the number of requests in a row that must fail for a replica to be
	// failing.
	FailingMin int
	// Page selects the published vocabularies.
	Page exposition.Config
	// Limits limit the series of one page.
	Limits exposition.Limits
	// Output limits what one replica may add to /metrics.
	Output derive.Budget
	// Labels configures how series are labelled.
	Labels assess.Labels

	// StartBudget is how long a replica that never had a page may take to start.
	StartBudget time.Duration
	// Expect is what every replica is expected to be.
	Expect assess.Expectations
	// Objectives are the service level objectives of the pool.
	Objectives []derive.Objective

	// IdentityInterval is the time between two queries for versions and models.
	IdentityInterval time.Duration
	// EngineDir is the folder of the TensorRT engine, empty if the exporter cannot read
	// it.
	EngineDir string
	// GRPC uses the API over gRPC if the server has one.
	GRPC bool
	// IterationStats reads the statistics of iterations if the server has them.
	IterationStats bool
	// Canary configures the canary requests.
	Canary canary.Config
}

// limits returns the limits of the page. If it is published, it may use three
// quarters of the output, so that a huge page leaves room for the series derived
// from it.
func (p *Pool) limits() exposition.Limits {
	limits := p.Limits
	if p.Page.Raw {
		limits.Output = p.Output.Budget
		limits.Output.Series = (3*limits.Output.Series + 3) / 4
		limits.Output.Bytes = (3*limits.Output.Bytes + 3) / 4
	}
	return limits
}
