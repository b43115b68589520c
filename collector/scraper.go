package collector

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
)

// Scraper asks the servers of one pool, for their pages and for what their
// APIs say. It is safe for concurrent use.
type Scraper interface {
	engine.Asker

	// Scrape asks for one page; see [scrape.Client.Scrape].
	Scrape(ctx context.Context, url string, buf []byte) (scrape.Page, error)
	// Pass is Do over connections that are not kept; see [scrape.Client.Pass].
	Pass(ctx context.Context, method, url string, body []byte, limit int64) (int, http.Header, []byte, error)
	// Open asks for an answer that is read as it comes; see
	// [scrape.Client.Open].
	Open(ctx context.Context, method, url string, body []byte) (*http.Response, error)
	// Leave closes what is kept open to an API that will not be asked again.
	Leave(base string)
	// Close closes idle connections; scrapes that run go on.
	Close()
}

// passing asks over connections that are not kept.
type passing struct{ Scraper }

// Do implements engine.Asker.
func (p passing) Do(ctx context.Context, method, url string, body []byte, limit int64) (int, http.Header, []byte, error) {
	return p.Pass(ctx, method, url, body, limit)
}

// newScraper asks over the network.
func newScraper(cfg scrape.Config, log *slog.Logger) (Scraper, error) {
	return scrape.New(cfg, log)
}
