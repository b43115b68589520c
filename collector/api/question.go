package api

import (
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Of is the API of a target's server, which is of that kind; grpc prefers gRPC
// where the kind has that. It is nil where there is none to ask.
func Of(s Scraper, t *target.Target, kind string, grpc bool) *Endpoint {
	e, known := engine.Of(kind)
	if !known {
		return nil
	}
	base := BaseOf(t, e, grpc)
	if base == "" {
		return nil
	}
	return &Endpoint{Scraper: s, Target: t, Engine: e, Base: base}
}
