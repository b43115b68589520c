package dashboards

import (
	"fmt"
	"strings"
)

// Panels interpolate percentiles between two bounds of a histogram. Below the first and above the
// last bound they draw that bound instead, as "p50 ≤" and "p99 >". The mean is always shown as
// well.

// histogram builds the queries for the percentiles of a panel.
type histogram struct {
	// by lists the labels of its percentiles, legend names them.
	by, legend string
	// buckets returns its cumulative buckets, by le and the labels, with additional matchers.
	buckets func(matchers ...string) string
	mean    string
	// highest is the highest finite bucket.
	highest string
}

// poolHistogram returns a recorded histogram of pools, by labels. Models of a pool may have
// different buckets: a sum over models keeps only the bounds that all of them have.
func poolHistogram(by, name string) histogram {
	h, byModel := histogram{by: by, legend: "{{pool_id}} {{model_id}}"}, strings.Contains(by, "model_id")
	h.mean = total(by, pool(name+"_sum:rate")) + " / (" + total(by, pool(name+"_bucket:rate", `le="+Inf"`)) + " > 0)"
	h.buckets = func(matchers ...string) string {
		recorded := func(more ...string) string { return pool(name+"_bucket:rate", append(more, matchers...)...) }
		le := union("le", by)
		if byModel {
			return fmt.Sprintf("sum by (%s) (%s)", le, recorded())
		}
		return fmt.Sprintf(
			`(sum by (%[1]s) (%[2]s) and (count by (%[1]s) (%[2]s) == on (%[3]s) group_left () count by (%[3]s) (%[4]s)))`,
			le,
			recorded(),
			by,
			pool(name+"_bucket:rate", `le="+Inf"`),
		)
	}
	h.highest = h.finiteBuckets("max")
	if byModel {
		h.highest = total(by, pool(name+"_bucket_ended:rate"))
	}
	return h
}

// newHistogram returns a histogram by labels; sum adds up the series with a suffix by other
// labels, with additional matchers.
func newHistogram(by, legend string, sum func(by, suffix string, matchers ...string) string) histogram {
	h := histogram{
		by: by, legend: legend, mean: sum(by, "_sum") + " / (" + sum(by, "_count") + " > 0)",
		buckets: func(matchers ...string) string { return sum("le, "+by, "_bucket", matchers...) },
	}
	h.highest = h.finiteBuckets("max")
	return h
}

func exporterHistogram(name, selector string) histogram {
	return newHistogram("instance", "{{instance}}", func(by, suffix string, matchers ...string) string {
		return fmt.Sprintf("sum by (%s) (rate(%s%s{%s}[$__rate_interval]))", by, name, suffix, with(selector, matchers))
	})
}

// finiteBuckets aggregates the finite buckets by max or min.
func (h *histogram) finiteBuckets(operator string) string {
	return fmt.Sprintf("%s by (%s) (%s)", operator, h.by, h.buckets(`le!="+Inf"`))
}

// rank returns the number of observations up to a quantile, if there are any.
func (h *histogram) rank(q string) string {
	return fmt.Sprintf("%s * (%s > 0)", q, total(h.by, h.buckets(`le="+Inf"`)))
}

// within returns a condition that a quantile is in a finite bucket.
func (h *histogram) within(q string) string { return "(" + h.highest + " >= " + h.rank(q) + ")" }

// inFirstBucket returns a condition that a quantile is in the first bucket, which has no lower
// bound.
func (h *histogram) inFirstBucket(q string) string {
	return "(" + h.finiteBuckets("min") + " >= " + h.rank(q) + ")"
}

// aboveMean drops a 99th percentile below the mean, which then depends on values above the
// percentile, so that the percentile would mislead.
func (h *histogram) aboveMean(q, expr string) string {
	if q == "0.99" {
		return "(" + expr + ") >= " + h.mean
	}
	return expr
}

// quantile returns a quantile if it is between two bounds.
func (h *histogram) quantile(q string) string {
	return h.aboveMean(
		q,
		fmt.Sprintf("histogram_quantile(%s, %s) and %s unless %s", q, h.buckets(), h.within(q), h.inFirstBucket(q)),
	)
}

// atMost returns the first bound if a quantile is below it. The quantile of equal buckets is the
// first bound.
func (h *histogram) atMost(q string) string {
	return h.aboveMean(q, fmt.Sprintf("histogram_quantile(1, 0 * %s + 1) and %s", h.buckets(), h.inFirstBucket(q)))
}

// lastBound returns the largest bound if a quantile is above it.
func (h *histogram) lastBound(q string) string {
	return fmt.Sprintf("histogram_quantile(%s, %s) >= 0 unless %s", q, h.buckets(), h.within(q))
}

func (h *histogram) queries(percentiles ...string) []query {
	var values, bounds []query
	for _, p := range percentiles {
		q := "0." + p
		values = append(values, query{h.quantile(q), h.legend + " p" + p})
		bounds = append(bounds, query{
			h.atMost(q), h.legend + " p" + p + " ≤",
		}, query{h.lastBound(q), h.legend + " p" + p + " >"})
	}
	return append(append(values, query{h.mean, h.legend + " mean"}), bounds...)
}

// distribution returns the buckets of a recorded histogram for a heatmap, over all pools
// and models. Grafana subtracts each bucket from the next, so only bounds that every pool
// has at all times are included.
func distribution(name string) string {
	recorded := func(matchers ...string) string { return pool(name+"_bucket:rate", matchers...) }
	return fmt.Sprintf(
		`sum by (le) (%[1]s) and (sum by (le) (count_over_time(%[1]s[$__range] @ end())) == scalar(sum(count_over_time(%[2]s[$__range] @ end()))))`,
		recorded(),
		recorded(`le="+Inf"`),
	)
}
