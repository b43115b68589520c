package collector

import (
	"context"
	"net/url"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
)

// moved looks again at a server that failed before and answers now, with a
// page or without one: another kind of server may stand there. True when it
// does, so that the page has to be asked for anew. The server is asked no more
// often than about its identity.
func (r *replica) moved(ctx context.Context, body []byte, failed error) bool {
	if r.kind == engine.Unknown || !r.doubt || r.target.Engine != config.EngineAuto || !answering(failed) {
		return false
	}
	u, err := url.Parse(r.target.MetricsURL)
	if err != nil || !pathless(u) {
		// The operator's path stays; recognise sees what its page shows.
		return false
	}
	if seen := engine.FromPage(body); seen != engine.Unknown && engine.Alike(r.kind, seen) {
		r.doubt = false
		return false
	}
	if time.Since(r.looked) < time.Duration(r.pool.cfg.IdentityInterval) {
		return false
	}
	r.looked = time.Now()
	u.Path = ""
	kind, path := engine.Detect(ctx, r.pool.client, u.String())
	if kind == engine.Unknown {
		return false
	}
	r.doubt = false
	if kind == r.kind {
		return false
	}
	r.become(kind)
	r.url = u.String() + path
	return true
}

// answering says whether a server answered at all, be it with a failure.
func answering(failed error) bool {
	if failed == nil {
		return true
	}
	switch scrape.ReasonOf(failed) { //nolint:exhaustive // The others say nothing of who answers.
	case scrape.ReasonHTTPStatus, scrape.ReasonContentType, scrape.ReasonRedirect, scrape.ReasonEmpty:
		return true
	}
	return false
}

// pathless says whether the target leaves the path of its page to the engine.
func pathless(u *url.URL) bool { return u.Path == "" || u.Path == "/" }
