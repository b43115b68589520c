package collector

import (
	"errors"
	"fmt"
	"net/url"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
)

// The protocols that an API can be asked by.
const (
	ProtocolHTTP = "http"
	ProtocolGRPC = "grpc"
)

// validateProtocol says what is wrong with api_protocol.
func (c *PoolConfig) validateProtocol() error {
	if c.APIProtocol != ProtocolHTTP && c.APIProtocol != ProtocolGRPC {
		return fmt.Errorf("api_protocol: %q is unknown; use %s or %s", c.APIProtocol, ProtocolHTTP, ProtocolGRPC)
	}
	if c.APIProtocol == ProtocolHTTP {
		return nil
	}
	var errs []error
	if c.Engine != EngineAuto && !hasGRPC(c.Engine) {
		errs = append(errs, fmt.Errorf("api_protocol: servers of engine %s have no gRPC API; use %s", c.Engine, ProtocolHTTP))
	}
	if c.HTTP.Proxy.Proxy() != nil {
		errs = append(errs, errors.New("api_protocol: gRPC goes through no proxy; remove the proxy keys or use http"))
	}
	return errors.Join(errs...)
}

// hasGRPC says whether servers of a kind have a gRPC API.
func hasGRPC(kind string) bool {
	e, ok := engine.Of(kind)
	if !ok {
		return false
	}
	_, ok = e.GRPCPort(0)
	return ok
}

// apiBase is the base of an API at an address, in the pool's protocol; scheme
// is http or https.
func (c *PoolConfig) apiBase(scheme, address string) string {
	if c.APIProtocol == ProtocolGRPC {
		scheme = map[string]string{"http": scrape.SchemeGRPC, "https": scrape.SchemeGRPCS}[scheme]
	}
	return scheme + "://" + address
}

// apiAt is the base of the server's own API where neither target nor pool say
// it, given the URL of its page and the port there; empty for none.
func (c *PoolConfig) apiAt(e engine.Engine, page *url.URL, metrics int) string {
	port, grpc := e.GRPCPort(metrics)
	if grpc = grpc && c.APIProtocol == ProtocolGRPC; !grpc {
		port = e.APIPort(metrics)
	}
	switch {
	case port <= 0:
		return ""
	case grpc:
		return c.apiBase(page.Scheme, hostPort(page.Hostname(), port))
	}
	return page.Scheme + "://" + hostPort(page.Hostname(), port)
}

// leave closes what was kept open to the replica's API when its loop ends.
func (r *replica) leave() {
	if _, _, base, ok := r.api(); ok {
		r.pool.client.Leave(base)
	}
}
