package derive

import "github.com/trtllm-exporter/trtllm_exporter/collector/engine"

// InPromQL says whether a query has what a family has without the family: one of
// both is set.
type InPromQL struct {
	// Query gives the same from other series of the page, over a window of one
	// minute; of percentiles the 95th. It has a value where the family has one; where
	// a quantile is beyond the last bound it has that bound, and the family none.
	Query string
	// Why no query does, or none that is true of every server.
	Why string
}

// Reasons for which no query has the values of a family.
const (
	whyShown  = "it is what the server counts or shows"
	whyBeyond = "it is of answers of the server's API, of the configuration or of what the exporter does"
	whyByKind = "of what it is made differs from kind to kind and from release to release"
	whyOnce   = "failures of an ensemble, which it counts twice, are counted once with those of its steps"
	whyPages  = "it is made of each page of the window, and Prometheus has fewer of them"
	whyModels = "of which models it is true is in their configuration, which is on no page"
)

// rateQuery is the query of the growth a second of a counter.
func rateQuery(signal engine.Signal) string { return "rate(" + Prefix + string(signal) + "[1m])" }
