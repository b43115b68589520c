package derive

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

// asQuery says by which query Prometheus has the values of a gauge itself.
func (f Family) asQuery(query string) Family {
	f.InPromQL.Query = query
	return f
}

// noQuery says why none has.
func (f Family) noQuery(why string) Family {
	f.InPromQL.Why = why
	return f
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

// The queries of what histograms and counters give over a window.
func meanQuery(histogram string) string {
	of := Prefix + histogram
	return "rate(" + of + "_sum[1m]) / rate(" + of + "_count[1m])"
}

func quantileQuery(histogram string) string {
	return "histogram_quantile(0.95, rate(" + Prefix + histogram + "_bucket[1m]))"
}

func aboveQuery(histogram string) string {
	of := Prefix + histogram
	return "1 - max without (le) (rate(" + of + `_bucket{le!="+Inf"}[1m])) / rate(` + of + "_count[1m])"
}

func rateQuery(counter string) string { return "rate(" + Prefix + counter + "[1m])" }

func shareQuery(part, whole string) string {
	return "clamp_max(" + rateQuery(part) + " / " + rateQuery(whole) + ", 1)"
}
