package dashboards

import (
	"fmt"
	"strings"
)

// A histogram knows of a percentile between which bounds it is. Between two of
// them the panels interpolate; below the first one and above the last one they
// say so ("p50 ≤", "p99 >") and draw that bound. The mean, which has no bounds,
// is shown with them.

// histogram is where the percentiles of a panel come from.
type histogram struct {
	// by are the labels of its percentiles, and legend names them.
	by, legend string
	// buckets are its cumulative buckets, by le and the labels, with matchers more.
	buckets func(matchers ...string) string
	mean    string
	// highest is the most of the buckets that have an end.
	highest string
}

// ofPoolModels is a recorded histogram of pools, by labels. Models of one pool may
// have buckets with other bounds: where models are added up, those bounds stay
// that all of them have.
func ofPoolModels(by, name string) histogram {
	h, byModel := histogram{by: by, legend: "{{pool_id}} {{model_id}}"}, strings.Contains(by, "model_id")
	h.mean = total(by, pool(name+"_sum:rate")) + " / (" + total(by, pool(name+"_count:rate")) + " > 0)"
	h.buckets = func(matchers ...string) string {
		of := func(more ...string) string { return pool(name+"_bucket:rate", append(more, matchers...)...) }
		le := union("le", by)
		if byModel {
			return fmt.Sprintf("sum by (%s) (%s)", le, of())
		}
		return fmt.Sprintf(`(sum by (%[1]s) (%[2]s) and (count by (%[1]s) (%[2]s) == on (%[3]s) group_left () count by (%[3]s) (%[4]s)))`,
			le, of(), by, pool(name+"_bucket:rate", `le="+Inf"`))
	}
	h.highest = h.ended("max")
	if byModel {
		h.highest = total(by, pool(name+"_bucket_ended:rate"))
	}
	return h
}

// newHistogram is a histogram by labels, of what sums its series: by other labels, of one
// of its suffixes, with matchers more.
func newHistogram(by, legend string, sum func(by, suffix string, matchers ...string) string) histogram {
	h := histogram{
		by: by, legend: legend, mean: sum(by, "_sum") + " / (" + sum(by, "_count") + " > 0)",
		buckets: func(matchers ...string) string { return sum("le, "+by, "_bucket", matchers...) },
	}
	h.highest = h.ended("max")
	return h
}

// ofPoolParts is a recorded histogram of the models that a Triton is made of.
func ofPoolParts(name string) histogram {
	return newHistogram("pool_id, model", "{{pool_id}} {{model}}", func(by, suffix string, matchers ...string) string {
		return total(by, fmt.Sprintf("pool_part:llm_server_model_%s%s:rate5m{%s}", name, suffix, with(ofPool, matchers)))
	})
}

// ofOneReplica is a histogram of replicas as they expose it; series are what it is
// of.
func ofOneReplica(series, name string) histogram {
	return newHistogram("pool_id, replica_id", "{{pool_id}} / {{replica_id}}", func(by, suffix string, matchers ...string) string {
		return fmt.Sprintf("sum by (%s) (max by (%s) (%s))", by, union(series, by), rate("llm_server_"+name+suffix, matchers...))
	})
}

// ofExporters is a histogram of exporters themselves.
func ofExporters(name, selector string) histogram {
	return newHistogram("instance", "{{instance}}", func(by, suffix string, matchers ...string) string {
		return fmt.Sprintf("sum by (%s) (rate(%s%s{%s}[$__rate_interval]))", by, name, suffix, with(selector, matchers))
	})
}

// ended is the most or the least of the buckets that have an end.
func (h *histogram) ended(which string) string {
	return fmt.Sprintf("%s by (%s) (%s)", which, h.by, h.buckets(`le!="+Inf"`))
}

// share is so many of all observations, where there are any.
func (h *histogram) share(q string) string {
	return fmt.Sprintf("%s * (%s > 0)", q, total(h.by, h.buckets(`le="+Inf"`)))
}

// within is true where a quantile is not in the last bucket, which has no end.
func (h *histogram) within(q string) string { return "(" + h.highest + " >= " + h.share(q) + ")" }

// inFirst is true where a quantile is in the first bucket, which has no beginning
// that anything was measured at.
func (h *histogram) inFirst(q string) string { return "(" + h.ended("min") + " >= " + h.share(q) + ")" }

// aboveMean keeps a 99th percentile that is at least the mean: below it, what
// makes the mean is beyond it, and it says nothing.
func (h *histogram) aboveMean(q, expr string) string {
	if q == "0.99" {
		return "(" + expr + ") >= " + h.mean
	}
	return expr
}

// quantile is a quantile that is between two bounds.
func (h *histogram) quantile(q string) string {
	return h.aboveMean(q, fmt.Sprintf("histogram_quantile(%s, %s) and %s unless %s", q, h.buckets(), h.within(q), h.inFirst(q)))
}

// atMost is the first bound where a quantile is not above it. The quantile of
// buckets that all hold the same is the first bound of them.
func (h *histogram) atMost(q string) string {
	return h.aboveMean(q, fmt.Sprintf("histogram_quantile(1, 0 * %s + 1) and %s", h.buckets(), h.inFirst(q)))
}

// beyond is the largest bound where a quantile is above it.
func (h *histogram) beyond(q string) string {
	return fmt.Sprintf("histogram_quantile(%s, %s) >= 0 unless %s", q, h.buckets(), h.within(q))
}

// bounds are the queries that say of a quantile on which side of a bound it is.
func (h *histogram) bounds(q, name string) []query {
	return []query{{h.atMost(q), h.legend + " " + name + " ≤"}, {h.beyond(q), h.legend + " " + name + " >"}}
}

// shown are the queries of a panel that shows some percentiles and the mean.
func (h *histogram) shown(percentiles ...string) []query {
	var values, bounds []query
	for _, p := range percentiles {
		q := "0." + p
		values = append(values, query{h.quantile(q), h.legend + " p" + p})
		bounds = append(bounds, h.bounds(q, "p"+p)...)
	}
	return append(append(values, query{h.mean, h.legend + " mean"}), bounds...)
}

// distribution are the buckets of a recorded histogram, all pools and models added
// up, for a heatmap. Grafana takes one bucket from the next, value by value, and
// so needs buckets of one layout with values at the same times: these are the
// bounds that every pool has at each time that is shown.
func distribution(name string) string {
	of := func(matchers ...string) string { return pool(name+"_bucket:rate", matchers...) }
	return fmt.Sprintf(`sum by (le) (%[1]s) and (sum by (le) (count_over_time(%[1]s[$__range] @ end())) == scalar(sum(count_over_time(%[2]s[$__range] @ end()))))`,
		of(), of(`le="+Inf"`))
}
