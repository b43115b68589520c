package api

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"strconv"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Scraper puts questions to servers. It is safe for concurrent use.
type Scraper interface {
	engine.Asker

	// Pass is Do over connections that are not kept; see [scrape.Client.Pass].
	Pass(ctx context.Context, method, url string, body []byte, limit int64) (int, http.Header, []byte, error)
	// Leave closes what is kept open to an API that will not be asked again.
	Leave(base string)
}

// Endpoint is the API of one server. It is immutable.
type Endpoint struct {
	Scraper Scraper
	Target  *target.Target
	Engine  engine.Engine
	// Base is where it is, see [BaseOf].
	Base string
}

// passing asks over connections that are not kept.
type passing struct{ Scraper }

// Do implements engine.Asker.
func (p passing) Do(ctx context.Context, method, address string, body []byte, limit int64) (int, http.Header, []byte, error) {
	return p.Pass(ctx, method, address, body, limit)
}

// Kept says whether connections to the API are kept: those to an API that has a
// port of its own are not, for a server that ends might wait for them and speak
// on over them as if it did not. One that shares the page's port shares its
// connections.
func (p *Endpoint) Kept() bool {
	page, err := url.Parse(p.Target.MetricsURL)
	return err == nil && p.Base == page.Scheme+"://"+page.Host
}

// asker puts the questions.
func (p *Endpoint) asker() engine.Asker {
	if p.Kept() {
		return p.Scraper
	}
	return passing{p.Scraper}
}

// rarely puts questions that are not asked at each interval: connections that
// are kept for them would be most of the memory of a target.
func (p *Endpoint) rarely() engine.Asker { return passing{p.Scraper} }

// Base is the base of an API at an address, over gRPC or not; scheme is http or
// https.
func Base(grpc bool, scheme, address string) string {
	if grpc {
		scheme = map[string]string{"http": scrape.SchemeGRPC, "https": scrape.SchemeGRPCS}[scheme]
	}
	return scheme + "://" + address
}

// BaseOf is the base of the API of a target's server, of the kind that is there;
// grpc prefers gRPC where the kind has that. It is empty where there is none to
// ask.
func BaseOf(t *target.Target, e engine.Engine, grpc bool) string {
	if e.Kind() == engine.Unknown {
		return ""
	}
	if t.APIURL != "" {
		return t.APIURL
	}
	page, err := url.Parse(t.MetricsURL)
	if err != nil {
		return ""
	}
	metrics, err := strconv.Atoi(page.Port())
	if err != nil {
		metrics = map[string]int{"http": 80, "https": 443}[page.Scheme]
	}
	at := func(port int) string { return net.JoinHostPort(page.Hostname(), strconv.Itoa(port)) }
	if port, has := e.GRPCPort(metrics); grpc && has && port > 0 {
		return Base(grpc, page.Scheme, at(port))
	}
	if port := e.APIPort(metrics); port > 0 {
		return Base(false, page.Scheme, at(port))
	}
	return ""
}
