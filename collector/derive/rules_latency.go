package derive

import (
	"slices"

	"github.com/prometheus/common/model"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// histograms selects the histograms, usually one, that a formula reads for a version.
type histograms struct {
	// signal is what they measure; a family that copies them has its name.
	signal engine.Signal
	needs  inputs
	// labels lists model and version if the histograms may belong to single models.
	labels []string
	// of returns them, nil if there are none.
	of func(v *View, version *Model) *shown
}

func observed(signal engine.Signal) histograms {
	return histograms{signal: signal, needs: allOf(signal), of: func(v *View, version *Model) *shown {
		return v.exposed(version, signal)
	}}
}

// exposed returns what the page shows of a signal of an engine: it covers all versions, so only the
// first one has it.
func (v *View) exposed(version *Model, signal engine.Signal) *shown {
	if version.nth > 0 {
		return nil
	}
	return v.shown(version.of, signal)
}

// rule returns a rule that is run for each version.
func (h histograms) rule(additional inputs, set func(v *View, version *Model, s *shown, out *Out)) Rule {
	rule := eachVersion(h.needs.or(additional), func(v *View, version *Model, out *Out) {
		set(v, version, h.of(v, version), out)
	})
	rule.labels = h.labels
	return rule
}

// subject returns what the series of histograms are about: a version, or its model id if they belong
// to its engine.
func (s *shown) subject(version *Model) *Model {
	if s == nil || len(s.groups) == 0 || !s.groups[0].ofModel {
		return version.of
	}
	return version
}

// firstTokens returns the times to the first token: as exposed, or the times to the first
// response of streaming entry models.
func firstTokens() histograms {
	return histograms{
		signal: engine.FirstToken,
		needs:  anyOf(engine.FirstToken, engine.ModelFirstResponse),
		labels: []string{"model", "version"},
		of:     (*View).firstTokens,
	}
}

// wholeRequests returns the durations of requests: as exposed, or the times to the first response
// of entry models that do not stream, which is also the last.
func wholeRequests() histograms {
	return histograms{
		signal: engine.RequestDuration,
		needs:  anyOf(engine.RequestDuration, engine.ModelFirstResponse, engine.ModelRequestTimes),
		labels: []string{"model", "version"},
		of:     (*View).wholeRequests,
	}
}

func (v *View) firstTokens(version *Model) *shown {
	v.ask(version, engine.FirstToken, engine.ModelFirstResponse)
	return version.firstTokens
}

func (v *View) wholeRequests(version *Model) *shown {
	v.ask(version, engine.RequestDuration, engine.ModelFirstResponse, engine.ModelRequestTimes)
	return version.wholeRequests
}

func (ix *index) firstTokensOf(version *Model) *shown {
	return ix.orFirstResponse(version, engine.FirstToken, true)
}

func (ix *index) wholeRequestsOf(version *Model) *shown {
	times := version.signals[engine.ModelRequestTimes]
	if version.of.signals[engine.RequestDuration] != nil || times == nil || !ix.countsWhole(version.name) {
		return ix.orFirstResponse(version, engine.RequestDuration, false)
	}
	return times
}

// orFirstResponse returns a signal of an engine, or the times to the first response of a version
// that streams, or does not.
func (ix *index) orFirstResponse(version *Model, signal engine.Signal, streaming bool) *shown {
	if s := version.of.signals[signal]; s != nil {
		if version.nth > 0 {
			return nil
		}
		return s
	}
	responses := filter(version.groups(engine.ModelFirstResponse), func(g *group) bool {
		streams, known := ix.streams(g.name)
		return known && streams == streaming
	})
	if len(responses) == 0 {
		return nil
	}
	return &shown{groups: responses}
}

// streams reports whether a model's first response is its first token. If the server does not say
// so, a model with the histogram is decoupled if others lack it, since up to 25.12 only decoupled
// models had it. Otherwise it is unknown.
func (ix *index) streams(name string) (streams, known bool) {
	if streams, known = ix.topology.Streams(name); known {
		return streams, true
	}
	return true, ix.lackFirstResponse
}

// passedOn copies histograms.
func passedOn(h histograms) Rule {
	return h.rule(inputs{}, func(_ *View, version *Model, s *shown, out *Out) {
		if s == nil {
			return
		}
		for _, g := range s.groups {
			out.CopyDistribution(g, s.subject(version))
		}
	}).because(whyShown).typed(model.MetricTypeHistogram)
}

// mean exposes the mean of what histograms observed over the window.
func mean(h histograms) Rule {
	name := Prefix + h.signal.String()
	return h.rule(inputs{}, func(v *View, version *Model, s *shown, out *Out) {
		if o := v.observations(s); o.haveMean() {
			mean, ok := v.mean(o)
			trusted, well := v.trusts(s.groups...), v.ofSuccesses(s)
			ok = ok && trusted && well && (mean > 0 || !h.signal.TakesTime())
			out.Set(s.subject(version), mean, ok)
		}
	}).queried("rate("+name+"_sum[1m]) / rate("+name+"_count[1m])", "rate(sum) / rate(count) of "+h.signal.String())
}

func durationNeeds() inputs {
	return anyOf(engine.RequestDuration).or(allOf(engine.ModelRequestSeconds, engine.ModelSuccess))
}

// durations returns the durations of requests to a version, as exposed or as a model counts them of
// whole requests, which may not be trusted now, and what shows them.
func (v *View) durations(version *Model) (times observations, of *shown, trusted bool) {
	if v.Has(version.of, engine.RequestDuration) {
		of = v.exposed(version, engine.RequestDuration)
		return v.observations(of), of, true
	}
	of = v.shown(version, engine.ModelRequestSeconds)
	if v.index.countsWhole(version.name) {
		seconds, ends := v.counters(version, engine.ModelRequestSeconds), v.counters(version, engine.ModelSuccess)
		times = observations{seconds, ends}
	}
	return times, of, v.Trust(version, frozenCounters, decoupledDurations)
}

func meanDurationRule() Rule { return eachVersion(durationNeeds(), meanDuration).because(whyModels) }

// meanDuration exposes the mean duration of requests to a version.
func meanDuration(v *View, version *Model, out *Out) {
	if times, of, trusted := v.durations(version); times.haveMean() {
		mean, ok := v.mean(times)
		well := v.ofSuccesses(of)
		out.Set(of.subject(version), mean, ok && trusted && well && mean > 0)
	}
}

func tokenTimeEstimateRule() Rule {
	needs := durationNeeds().and(allOf(engine.ModelFirstResponse, engine.RequestOutputTokens))
	return eachModel(needs, tokenTimeEstimate).reads(engine.FirstToken).because(whyModels)
}

// tokenTimeEstimate exposes the time between tokens, estimated from means, for a single version.
func tokenTimeEstimate(v *View, m *Model, out *Out) {
	if len(m.versions) != 1 {
		return
	}
	version := m.versions[0]
	times, _, trusted := v.durations(version)
	responses := v.firstTokens(version)
	first := v.observations(responses)
	lengths := v.observations(v.shown(m, engine.RequestOutputTokens))
	if !times.haveMean() || !first.haveMean() || !lengths.haveMean() {
		return
	}
	duration, okDuration := v.mean(times)
	firstToken, okFirst := v.mean(first)
	tokens, okTokens := v.mean(lengths)
	well := v.ofSuccesses(responses)
	ok := trusted && well && okDuration && okFirst && okTokens && tokens > 1 && duration >= firstToken && firstToken > 0
	out.Set(m, (duration-firstToken)/(tokens-1), ok)
}

// percentages returns the percentiles that are exposed, in ascending order.
func percentages() []percentage { return []percentage{{50, "50"}, {95, "95"}, {99, "99"}} }

type percentage struct {
	of100 float64
	text  string
}

// percentiles exposes percentiles of a histogram over the window, or of a summary. A percentile
// in the last bucket is absent, since that has no upper bound, and the highest percentile is
// absent if it is below the mean, which a few very long requests may cause.
func percentiles(h histograms, summaries ...engine.Signal) Rule {
	all := percentages()
	rule := h.rule(anyOf(summaries...), func(v *View, version *Model, s *shown, out *Out) {
		g := v.windowHistogram(s)
		if g == nil {
			for _, signal := range summaries {
				v.summaryPercentiles(version, v.shown(version, signal), out)
			}
			return
		}
		grown, ok := v.growth(g)
		mean, hasMean := v.meanOf(s)
		trusted, well := v.trusts(g), v.ofSuccesses(s)
		for i, p := range all {
			value, known := 0.0, false
			if ok {
				value, known = quantile(g.buckets, grown, p.of100/100)
			}
			tail := hasMean && i == len(all)-1 && value < mean
			out.Set(s.subject(version), value, known && !tail && trusted && well, "percentile", p.text)
		}
	}).by("percentile")
	if len(summaries) > 0 {
		return rule.because("without the histogram it is the quantile of the server's own summary")
	}
	return rule.queried("histogram_quantile(0.95, rate("+Prefix+h.signal.String()+"_bucket[1m]))",
		"quantile of "+h.signal.String()+" over the window")
}

// aboveBound exposes the share of observations above the largest bound of a histogram.
func aboveBound(h histograms) Rule {
	name := Prefix + h.signal.String()
	return h.rule(inputs{}, func(v *View, version *Model, s *shown, out *Out) {
		g := v.windowHistogram(s)
		if g == nil {
			return
		}
		grown, ok := v.growth(g)
		above := 0.0
		if last := len(grown) - 1; ok {
			above = 1 - grown[last-1]/grown[last]
		}
		trusted, well := v.trusts(g), v.ofSuccesses(s)
		out.Set(s.subject(version), above, trusted && well && ok)
	}).queried("1 - max without (le) (rate("+name+`_bucket{le!="+Inf"}[1m])) / rate(`+name+"_count[1m])",
		"1 - rate(bucket of the largest bound) / rate(count) of "+h.signal.String())
}

// summaryPercentiles exposes the quantiles of summaries.
func (v *View) summaryPercentiles(version *Model, s *shown, out *Out) {
	if s == nil {
		return
	}
	for _, p := range percentages() {
		for _, g := range s.groups {
			i := slices.IndexFunc(g.quantiles, func(q point) bool { return q.bound == p.of100/100 })
			if i < 0 || g.endsEarly {
				continue
			}
			value, ok := v.combined(&g.quantiles[i].numbers, engine.Max)
			ok = v.trusts(g) && ok
			out.Set(version, value, ok, "percentile", p.text)
		}
	}
}

// windowHistogram returns the only complete histogram, or nil.
func (v *View) windowHistogram(s *shown) *group {
	if s == nil || len(s.groups) != 1 {
		return nil
	}
	if g := s.groups[0]; len(g.buckets) >= 2 && g.complete() && v.observations(s).haveMean() {
		return g
	}
	return nil
}
