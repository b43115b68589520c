package derive

import (
	"fmt"
	"slices"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// histograms selects the histograms, usually one, that a formula reads for a model version.
type histograms struct {
	// signal is what they measure; a family that copies them has its name.
	signal engine.Signal
	inputs inputs
	// labels lists model and version if the histograms may belong to single models.
	labels []string
	groups func(p *Plan, id string, mv modelVersion) []*group
}

func observed(signal engine.Signal) histograms {
	return histograms{signal: signal, inputs: allOf(signal), groups: func(p *Plan, id string, mv modelVersion) []*group { return p.exposed(signal, id, mv) }}
}

// rule returns a rule that calls add for each model version.
func (h histograms) rule(additional inputs, add func(p *Plan, f *Family, id string, mv modelVersion, groups []*group, lset labels.Labels)) Rule {
	rule := eachModelVersion(h.inputs.or(additional), func(p *Plan, f *Family, id string, mv modelVersion) {
		groups := h.groups(p, id, mv)
		add(p, f, id, mv, groups, p.forGroups(groups, id, mv))
	})
	rule.labels = h.labels
	return rule
}

// exposed returns the groups of a signal of an engine. They cover all model versions, so only the
// first version has them, and the zero value.
func (p *Plan) exposed(signal engine.Signal, id string, mv modelVersion) []*group {
	if mv != (modelVersion{}) && mv != p.modelVersions(id)[0] {
		return nil
	}
	return p.groupsOf(signal, id)
}

// forGroups returns the labels of the model version, or of the engine if the groups belong to it.
func (p *Plan) forGroups(groups []*group, id string, mv modelVersion, pairs ...string) labels.Labels {
	if len(groups) == 0 || groups[0].meaning.Scope() != engine.OfModel {
		mv = modelVersion{}
	}
	return p.forModelVersion(id, mv, pairs...)
}

// firstTokens returns the times to the first token: as exposed, or the times to the first
// response of streaming entry models.
func firstTokens() histograms { return orFirstResponse(engine.FirstToken, true) }

// wholeRequests returns the durations of requests: as exposed, or the times to the first response
// of entry models that do not stream, which is also the last.
func wholeRequests() histograms {
	h := orFirstResponse(engine.RequestDuration, false)
	orFirst := h.groups
	h.inputs = h.inputs.or(anyOf(engine.ModelRequestTimes))
	h.groups = func(p *Plan, id string, mv modelVersion) []*group {
		times := p.versionGroups(engine.ModelRequestTimes, id, mv)
		if len(p.groupsOf(engine.RequestDuration, id)) > 0 || len(times) == 0 || !p.trusted(mv.model) {
			return orFirst(p, id, mv)
		}
		return times
	}
	return h
}

func orFirstResponse(signal engine.Signal, streaming bool) histograms {
	return histograms{signal, anyOf(signal, engine.ModelFirstResponse), []string{"model", "version"}, func(p *Plan, id string, mv modelVersion) []*group {
		if len(p.groupsOf(signal, id)) > 0 {
			return p.exposed(signal, id, mv)
		}
		return filter(p.versionGroups(engine.ModelFirstResponse, id, mv), func(g *group) bool {
			streams, known := p.streams(g.model)
			return known && streams == streaming
		})
	}}
}

func passedOn(h histograms) Rule {
	return h.rule(inputs{}, func(p *Plan, f *Family, _ string, _ modelVersion, groups []*group, lset labels.Labels) {
		for _, g := range groups {
			p.distribute(f, g, lset)
		}
	}).because(whyShown).typed(model.MetricTypeHistogram)
}

// streams reports whether a model's first response is its first token. If the server does not say
// so, a model with the histogram is decoupled if others lack it, since up to 25.12 only decoupled
// models had it. Otherwise it is unknown.
func (p *Plan) streams(name string) (streams, known bool) {
	if streams, known = p.identity.Topology.Streams(name); known {
		return streams, true
	}
	return true, p.lackFirstResponse
}

func (p *Plan) meanOver(groups []*group) Eval { return growthRatio(p.observations(groups)) }

func (p *Plan) observations(groups []*group) (sums, counts []int) {
	for _, g := range groups {
		sums = append(sums, p.columnsOf(g.sum)...)
		counts = append(counts, p.columnsOf(g.count)...)
	}
	return sums, counts
}

func mean(h histograms) Rule {
	name := Prefix + string(h.signal)
	return h.rule(inputs{}, func(p *Plan, f *Family, _ string, _ modelVersion, groups []*group, lset labels.Labels) {
		p.emit(f, lset, p.gatesOf(groups), p.meanOver(groups))
	}).queried("rate("+name+"_sum[1m]) / rate("+name+"_count[1m])", "rate(sum) / rate(count) of "+string(h.signal))
}

func durations() inputs {
	return anyOf(engine.RequestDuration).or(allOf(engine.ModelRequestSeconds, engine.ModelSuccess))
}

// duration returns the mean duration of requests over the window, with its groups and its gate.
func (p *Plan) duration(id string, mv modelVersion) (Eval, []*group, Gate) {
	if len(p.groupsOf(engine.RequestDuration, id)) > 0 {
		groups := p.exposed(engine.RequestDuration, id, mv)
		return p.meanOver(groups), groups, nil
	}
	if !p.trusted(mv.model) {
		return nil, nil, nil
	}
	gate := every(p.gate(id, checkFrozen), p.gate(mv.model, checkDurations))
	times, counts := p.versionGroups(engine.ModelRequestSeconds, id, mv), p.versionGroups(engine.ModelSuccess, id, mv)
	return growthRatio(p.groupColumns(times), p.groupColumns(counts)), times, gate
}

func meanDuration() Rule {
	return eachModelVersion(durations(), func(p *Plan, f *Family, id string, mv modelVersion) {
		e, groups, gate := p.duration(id, mv)
		p.emit(f, p.forGroups(groups, id, mv), gate, e)
	}).because(whyModels)
}

// tokenTimeEstimate exposes the time between tokens, estimated from means, for a single version.
func tokenTimeEstimate() Rule {
	in := durations().and(allOf(engine.ModelFirstResponse, engine.RequestOutputTokens))
	return eachEntry(in, func(p *Plan, f *Family, id string) {
		versions := p.modelVersions(id)
		if len(versions) != 1 {
			return
		}
		duration, _, gate := p.duration(id, versions[0])
		firstToken, tokens := p.meanOver(firstTokens().groups(p, id, versions[0])), p.meanOver(p.groupsOf(engine.RequestOutputTokens, id))
		if duration == nil || firstToken == nil || tokens == nil {
			return
		}
		p.emit(f, p.forModel(id), gate, func(w *Window) (float64, bool) {
			e2e, okE := duration(w)
			ttft, okT := firstToken(w)
			n, okN := tokens(w)
			if !okE || !okT || !okN || n <= 1 || e2e < ttft {
				return 0, false
			}
			return (e2e - ttft) / (n - 1), true
		})
	}).because(whyModels)
}

// percentages returns the percentiles that are exposed, in ascending order.
func percentages() []float64 { return []float64{50, 95, 99} }

// percentiles exposes percentiles of a histogram over the window, or of a summary. A percentile
// in the last bucket is absent, since that has no upper bound, and the highest percentile is
// absent if it is below the mean, which a few very long requests may cause.
func percentiles(h histograms, summaries ...engine.Signal) Rule {
	rule := h.rule(anyOf(summaries...), func(p *Plan, f *Family, id string, mv modelVersion, groups []*group, lset labels.Labels) {
		if window := p.windowHistogram(groups); window != nil {
			mean := p.meanOver(groups)
			for _, percentage := range percentages() {
				p.emit(f, withLabels(lset, "percentile", fmt.Sprint(percentage)), p.gatesOf(groups), func(w *Window) (float64, bool) {
					v, ok := window.quantile(w, percentage/100)
					meanValue, hasMean := mean(w)
					tail := hasMean && percentage == slices.Max(percentages()) && v < meanValue
					return v, ok && !tail
				})
			}
			return
		}
		for _, signal := range summaries {
			p.passQuantiles(f, id, mv, p.versionGroups(signal, id, mv))
		}
	}).by("percentile")
	if len(summaries) > 0 {
		return rule.because("for a Triton without the histogram it is the quantile of its own summary")
	}
	return rule.queried("histogram_quantile(0.95, rate("+Prefix+string(h.signal)+"_bucket[1m]))",
		"quantile of "+string(h.signal)+" over the window")
}

// aboveBound exposes the share of observations above the largest bound of a histogram.
func aboveBound(h histograms) Rule {
	name := Prefix + string(h.signal)
	return h.rule(inputs{}, func(p *Plan, f *Family, _ string, _ modelVersion, groups []*group, lset labels.Labels) {
		window := p.windowHistogram(groups)
		if window == nil {
			return
		}
		last := len(window.bounds) - 1
		p.emit(f, lset, p.gatesOf(groups), func(w *Window) (float64, bool) {
			grown, ok := window.growth(w)
			if !ok {
				return 0, false
			}
			return 1 - grown[last-1]/grown[last], true
		})
	}).queried("1 - max without (le) (rate("+name+`_bucket{le!="+Inf"}[1m])) / rate(`+name+"_count[1m])",
		"1 - rate(bucket of the largest bound) / rate(count) of "+string(h.signal))
}

func (p *Plan) passQuantiles(f *Family, id string, mv modelVersion, groups []*group) {
	for _, percentage := range percentages() {
		for _, g := range groups {
			i := slices.IndexFunc(g.quantiles, func(v point) bool { return v.bound == percentage/100 })
			if i < 0 || p.endsEarly(g) {
				continue
			}
			p.emit(f, p.forModelVersion(id, mv, "percentile", fmt.Sprint(percentage)), p.gateOf(g), combine(p.columnsOf(g.quantiles[i].members), engine.Max))
		}
	}
}

// windowHistogram is a histogram of the observations in the window.
type windowHistogram struct {
	bounds []float64
	growth func(w *Window) ([]float64, bool)
}

// windowHistogram returns the only complete histogram of the groups, or nil.
func (p *Plan) windowHistogram(groups []*group) *windowHistogram {
	if len(groups) != 1 || len(groups[0].buckets) < 2 || !groups[0].complete() || p.meanOver(groups) == nil {
		return nil
	}
	h := &windowHistogram{}
	var columns [][]int
	for _, b := range groups[0].buckets {
		h.bounds = append(h.bounds, b.bound)
		columns = append(columns, p.columnsOf(b.members))
	}
	all := slices.Concat(columns...)
	h.growth = oncePerPage(p, func(w *Window) ([]float64, bool) {
		row, _, ok := w.stretch(all)
		if !ok {
			return nil, false
		}
		grown := make([]float64, len(columns))
		for i := range columns {
			grown[i] = w.increaseFrom(row, columns[i])
		}
		return grown, slices.IsSorted(grown) && grown[len(grown)-1] > 0
	})
	return h
}

// quantile is like Prometheus' histogram_quantile, but has no value in the last bucket.
func (h *windowHistogram) quantile(w *Window, q float64) (float64, bool) {
	grown, ok := h.growth(w)
	if !ok {
		return 0, false
	}
	last := len(grown) - 1
	rank := q * grown[last]
	i := slices.IndexFunc(grown, func(n float64) bool { return n >= rank })
	if i == last {
		return 0, false
	}
	below, from := 0.0, 0.0
	if i > 0 {
		below, from = grown[i-1], h.bounds[i-1]
	} else if h.bounds[0] <= 0 {
		return h.bounds[0], true
	}
	return from + (h.bounds[i]-from)*(rank-below)/(grown[i]-below), true
}
