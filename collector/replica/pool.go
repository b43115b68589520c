package replica

import (
	"sync/atomic"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/canary"
	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
)

// Pool is what the replicas of one pool have in common. They only read it.
type Pool struct {
	Scraper scrape.Scraper
	// Kinds holds the kinds that the servers may be of now; nil means the built-in ones. A server
	// that was recognised keeps its kind.
	Kinds *atomic.Pointer[engine.Kinds]
	// Starts limits how many replicas of all pools start, or request fresh pages, at once; nil means
	// no limit. If a thousand started together, each would hold several connections while none made
	// progress, and pages would not wait for the answers that their labels need.
	Starts *scrape.Budget
	// Resources sets a limit on the memory of pages; nil means no limit.
	Resources *scrape.Resources
	// Origin is the zero of page times on the monotonic clock.
	Origin time.Time
	// Marker is a text that only the exporter's own page contains.
	Marker string
	// Panicked is called for each recovered panic, from any goroutine.
	Panicked func()

	// Window is how far derived series look back, StallAfter how long requests may be in flight
	// without progress.
	Window, StallAfter time.Duration
	// FailingMin is the number of requests in a row that must fail before a replica counts as
	// failing.
	FailingMin int
	// Page selects the published vocabularies, Limits limit the series of one page, and
	// Output what one replica may add to /metrics.
	Page   exposition.Config
	Limits exposition.Limits
	Output derive.Output
	Labels assess.Labels

	// StartBudget is how long a replica may take to start before it had a page.
	StartBudget time.Duration
	Expect      assess.Expectations
	Objectives  []derive.Objective

	// IdentityInterval is the time between two queries for versions and models.
	IdentityInterval time.Duration
	// EngineDir is the directory of the TensorRT engine, if the exporter can read it.
	EngineDir string
	// GRPC enables the API over gRPC, IterationStats the statistics of iterations, if the server
	// has them.
	GRPC, IterationStats bool
	Canary               canary.Config
}

func (p *Pool) kinds() *engine.Kinds {
	if p.Kinds == nil {
		return engine.BuiltIn()
	}
	return p.Kinds.Load()
}

// limits returns the limits of the page. If it is published, it may use three quarters of the
// output, so that a huge page leaves room for the series derived from it.
func (p *Pool) limits() exposition.Limits {
	limits := p.Limits
	if p.Page.Raw != exposition.RawNone {
		limits.Output = p.Output.Volume
		limits.Output.Series = (3*limits.Output.Series + 3) / 4
		limits.Output.Bytes = (3*limits.Output.Bytes + 3) / 4
	}
	return limits
}
