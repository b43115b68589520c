package collector

import (
	"net/url"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
)

// apiBase is the base of an API at an address, in the pool's protocol; scheme
// is http or https.
func apiBase(c *config.Pool, scheme, address string) string {
	if c.APIProtocol == config.ProtocolGRPC {
		scheme = map[string]string{"http": scrape.SchemeGRPC, "https": scrape.SchemeGRPCS}[scheme]
	}
	return scheme + "://" + address
}

// apiAt is the base of the server's own API where neither target nor pool say
// it, given the URL of its page and the port there; empty for none.
func apiAt(c *config.Pool, e engine.Engine, page *url.URL, metrics int) string {
	port, grpc := e.GRPCPort(metrics)
	if grpc = grpc && c.APIProtocol == config.ProtocolGRPC; !grpc {
		port = e.APIPort(metrics)
	}
	switch {
	case port <= 0:
		return ""
	case grpc:
		return apiBase(c, page.Scheme, hostPort(page.Hostname(), port))
	}
	return page.Scheme + "://" + hostPort(page.Hostname(), port)
}

// leave closes what was kept open to the replica's API when its loop ends.
func (r *replica) leave() {
	if _, _, base, ok := r.api(); ok {
		r.pool.client.Leave(base)
	}
}
