package api

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Endpoint is the API of one server. It is immutable.
type Endpoint struct {
	Scraper scrape.Scraper
	Target  *target.Target
	Engine  engine.Engine
	Place
	// Elsewhere is where else it may be, asked when nothing of the kind answers
	// here; nil for nowhere.
	Elsewhere *Endpoint
}

// Place is where an API is.
type Place struct {
	Base string
	// Given says that it is not guessed: the operator says it, or the kind has page
	// and API side by side.
	Given bool
}

// URL is where the API is, empty for none.
func (p *Endpoint) URL() string {
	if p == nil {
		return ""
	}
	return p.Base
}

// passing asks over connections that are not kept.
type passing struct{ scrape.Scraper }

// Do implements engine.Asker.
func (p passing) Do(ctx context.Context, method, address string, body []byte, limit int64) (int, http.Header, []byte, error) {
	return p.Pass(ctx, method, address, body, limit)
}

// Kept reports whether connections to the API are kept: those to an API that has a
// port of its own are not, for a server that ends might wait for them and speak
// on over them as if it did not. One that shares the page's port shares its
// connections.
func (p *Endpoint) Kept() bool {
	page, err := url.Parse(p.Target.MetricsURL)
	if err != nil {
		return false
	}
	at := page.Scheme + "://" + page.Host
	return p.Base == at || strings.HasPrefix(p.Base, at+"/")
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

// placesOf are where the API of a target's server may be, of the kind that is there;
// grpc prefers gRPC where the kind has that. Next to the page comes before the root
// of its host. There are none where there is none to ask.
func placesOf(t *target.Target, e engine.Engine, grpc bool) []Place {
	page, err := url.Parse(t.MetricsURL)
	switch {
	case e.Kind() == engine.Unknown:
		return nil
	case t.APIURL != "":
		return []Place{{t.APIURL, true}}
	case err != nil:
		return nil
	}
	metrics, err := strconv.Atoi(page.Port())
	if err != nil {
		metrics = map[string]int{"http": 80, "https": 443}[page.Scheme]
	}
	at := func(port int) string { return net.JoinHostPort(page.Hostname(), strconv.Itoa(port)) }
	if port, has := e.GRPCPort(metrics); grpc && has && port > 0 {
		return []Place{{Base: Base(grpc, page.Scheme, at(port))}}
	}
	var places []Place
	before := engine.BasePath(e, page.Path)
	if before != "" {
		places = append(places, Place{Base(false, page.Scheme, page.Host) + before, e.SamePort()})
	}
	if port := e.APIPort(metrics); port > 0 {
		places = append(places, Place{Base(false, page.Scheme, at(port)), before == "" && e.SamePort()})
	}
	return places
}
