package replica

import (
	"github.com/trtllm-exporter/trtllm_exporter/collector/api"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
)

// lanes are the fast ways to what the replica asks for at each moment; they are
// built when they are first needed, and again when the address is another.
type lanes struct{ page, ready lane }

// lane is the way to one address; nil where that has none.
type lane struct {
	*scrape.Lane

	url string
}

// to is the lane to an address.
func (l *lane) to(url string, build func() *scrape.Lane) *scrape.Lane {
	if l.url != url {
		l.close()
		l.url, l.Lane = url, build()
	}
	return l.Lane
}

// close gives up the lane, if there is one.
func (l *lane) close() {
	if l.Lane != nil {
		l.Close()
	}
}

// toPage is the lane to the server's page.
func (l *lanes) toPage(r *Replica) *scrape.Lane {
	return l.page.to(r.server.URL, func() *scrape.Lane { return r.pool.Scraper.PageLane(r.server.URL, r.target.Timeout) })
}

// readiness is the lane to the question whether the server is ready.
func (l *lanes) readiness(r *Replica, server *api.Endpoint) *scrape.Lane {
	url := server.ReadyURL()
	return l.ready.to(url, func() *scrape.Lane { return r.pool.Scraper.QuestionLane(url, r.target.Timeout, server.Kept()) })
}

// close gives up both.
func (l *lanes) close() {
	l.page.close()
	l.ready.close()
}
