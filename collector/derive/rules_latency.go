package derive

import (
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// histograms are those that a formula reads for one model version, usually one.
type histograms struct {
	// signal is what they measure, under which a family passes them on.
	signal engine.Signal
	inputs inputs
	// byModel reports that they may belong to single models.
	byModel bool
	groups  func(p *Plan, id string, mv modelVersion) []*group
}

func observed(signal engine.Signal) histograms {
	return histograms{signal: signal, inputs: allOf(signal), groups: func(p *Plan, id string, mv modelVersion) []*group { return p.exposed(signal, id, mv) }}
}

// rule returns a rule that calls add with the histograms of each model version, and the
// labels of what is computed from them.
func (h histograms) rule(more inputs, add func(p *Plan, f *Family, id string, mv modelVersion, groups []*group, lset labels.Labels)) Rule {
	in := h.inputs.or(more)
	one := func(p *Plan, f *Family, id string, mv modelVersion) {
		groups := h.groups(p, id, mv)
		add(p, f, id, mv, groups, p.forGroups(groups, id, mv))
	}
	if h.byModel {
		return eachModelVersion(in, one)
	}
	return eachEntry(in, func(p *Plan, f *Family, id string) { one(p, f, id, modelVersion{}) })
}

// exposed returns the groups of a signal of an engine, which cover all model versions:
// the first one stands for all, and so does the zero value.
func (p *Plan) exposed(signal engine.Signal, id string, mv modelVersion) []*group {
	if mv != (modelVersion{}) && mv != p.modelVersions(id)[0] {
		return nil
	}
	return p.groupsOf(signal, id)
}

// forGroups returns the labels of what is computed from groups: those of the model
// version, unless the groups belong to the engine.
func (p *Plan) forGroups(groups []*group, id string, mv modelVersion, pairs ...string) labels.Labels {
	if len(groups) == 0 || groups[0].meaning.Scope != engine.OfModel {
		mv = modelVersion{}
	}
	return p.forModelVersion(id, mv, pairs...)
}

// firstTokens returns the times to the first token: as exposed, or the times to the
// first response of entry models that stream.
func firstTokens() histograms { return orFirstResponse(engine.FirstToken, true) }

// wholeRequests returns the times of requests: as exposed by an engine, or by a model
// that does not hand them over, or the times to the first response of entry models that
// do not stream, which is their last.
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

// orFirstResponse returns the histograms of a signal, or the first responses of models.
func orFirstResponse(signal engine.Signal, streaming bool) histograms {
	return histograms{signal, anyOf(signal, engine.ModelFirstResponse), true, func(p *Plan, id string, mv modelVersion) []*group {
		if len(p.groupsOf(signal, id)) > 0 {
			return p.exposed(signal, id, mv)
		}
		return filter(p.versionGroups(engine.ModelFirstResponse, id, mv), func(g *group) bool {
			streams, known := p.streams(g.model)
			return known && streams == streaming
		})
	}}
}

// passedOn passes on histograms, one for each model version.
func passedOn(h histograms) Rule {
	return h.rule(inputs{}, func(p *Plan, f *Family, _ string, _ modelVersion, groups []*group, lset labels.Labels) {
		for _, g := range groups {
			p.distribute(f, g, lset)
		}
	}).because(whyShown).typed(model.MetricTypeHistogram)
}

// streams reports whether a model's first response is its first token. If the server
// does not tell, a model that has the histogram while others lack it is decoupled: up
// to 25.12 only those had it. Else it is unknown.
func (p *Plan) streams(name string) (streams, known bool) {
	if streams, known = p.identity.Topology.Streams(name); known {
		return streams, true
	}
	have := make(map[string]bool)
	for _, g := range p.groups[engine.ModelFirstResponse] {
		have[g.model] = true
	}
	return true, len(have) < p.loadedModels
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
	}).queried("rate(" + name + "_sum[1m]) / rate(" + name + "_count[1m])").computes("rate(sum) / rate(count) of " + string(h.signal))
}

func durations() inputs {
	return anyOf(engine.RequestDuration).or(allOf(engine.ModelRequestSeconds, engine.ModelSuccess))
}

// duration returns the mean time of a model version's requests over the window, the
// groups that it is computed from, and its gate.
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

// tokenTimeEstimate exposes the time between tokens, from means alone. The tokens of a
// request are those of all model versions, so that it takes a single one.
func tokenTimeEstimate() Rule {
	in := durations().and(allOf(engine.ModelFirstResponse, engine.RequestOutputTokens))
	return eachEntry(in, func(p *Plan, f *Family, id string) {
		versions := p.modelVersions(id)
		if len(versions) != 1 {
			return
		}
		whole, _, gate := p.duration(id, versions[0])
		first, tokens := p.meanOver(firstTokens().groups(p, id, versions[0])), p.meanOver(p.groupsOf(engine.RequestOutputTokens, id))
		if whole == nil || first == nil || tokens == nil {
			return
		}
		p.emit(f, p.forModel(id), gate, func(w *Window) (float64, bool) {
			e2e, okE := whole(w)
			ttft, okT := first(w)
			n, okN := tokens(w)
			if !okE || !okT || !okN || n <= 1 || e2e < ttft {
				return 0, false
			}
			return (e2e - ttft) / (n - 1), true
		})
	}).because(whyModels)
}
