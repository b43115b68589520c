package scrape

import (
	"context"
	"net/http"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape/lane"
)

// Scraper asks the servers of one pool, for their pages and for what their APIs
// say: a [Client], or what takes its place in a test. It is safe for concurrent use.
type Scraper interface {
	engine.Asker

	// Scrape asks for one page; see [Client.Scrape].
	Scrape(ctx context.Context, url string, buf []byte) (Page, error)
	// Pass is Do over connections that are not kept; see [Client.Pass].
	Pass(ctx context.Context, method, url string, body []byte, limit int64) (int, http.Header, []byte, error)
	// Open asks for an answer that is read as it comes; see [Client.Open].
	Open(ctx context.Context, method, url string, body []byte) (*http.Response, error)
	// PageLane and QuestionLane return fast ways to ask the same thing again and
	// again; nil where there is none. See [Client.PageLane].
	PageLane(url string, timeout time.Duration) *lane.Lane
	QuestionLane(url string, keep bool) *lane.Lane
	// Leave closes what is kept open to an API that will not be asked again.
	Leave(base string)
	// Close closes idle connections; scrapes that run go on.
	Close()
}
