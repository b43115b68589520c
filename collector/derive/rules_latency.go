package derive

import (
	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// histograms are those that a formula reads, for one front: usually one.
type histograms struct {
	// signal is what they are of, by which a family passes them on.
	signal engine.Signal
	inputs inputs
	// byModel says that they may be of single models.
	byModel bool
	of      func(p *Plan, id string, at front) []*group
}

// observed are the histograms of a signal of an engine.
func observed(signal engine.Signal) histograms {
	return histograms{signal: signal, inputs: allOf(signal), of: func(p *Plan, id string, at front) []*group { return p.exposed(signal, id, at) }}
}

// rule makes series of the histograms of one front after the other, given the
// labels of what is made of them.
func (h histograms) rule(more inputs, of func(p *Plan, f *Family, id string, at front, groups []*group, lset labels.Labels)) Rule {
	in := h.inputs.or(more)
	one := func(p *Plan, f *Family, id string, at front) {
		groups := h.of(p, id, at)
		of(p, f, id, at, groups, p.forGroups(groups, id, at))
	}
	if h.byModel {
		return eachFront(in, one)
	}
	return eachEntry(in, func(p *Plan, f *Family, id string) { one(p, f, id, front{}) })
}

// exposed are the groups of a signal of an engine, which are of all fronts
// together: the first of them stands for all, and so does none.
func (p *Plan) exposed(signal engine.Signal, id string, at front) []*group {
	if at != (front{}) && at != p.fronts(id)[0] {
		return nil
	}
	return p.of(signal, id)
}

// forGroups are the labels of what is made of groups: those of the front, unless
// they are of the engine.
func (p *Plan) forGroups(groups []*group, id string, at front, pairs ...string) labels.Labels {
	if len(groups) == 0 || groups[0].meaning.Scope != engine.OfModel {
		at = front{}
	}
	return p.forFront(id, at, pairs...)
}

// firstTokens are the times to the first token: as exposed, or the times to the
// first response of entry models that stream.
func firstTokens() histograms {
	return orFirstResponse(engine.FirstToken, true)
}

// wholeRequests are the times of requests: as exposed, of an engine or of a model that
// does not hand them over, or the times to the first response of entry models that do
// not stream, which is their last.
func wholeRequests() histograms {
	h := orFirstResponse(engine.RequestDuration, false)
	orFirst := h.of
	h.inputs = h.inputs.or(anyOf(engine.ModelRequestTimes))
	h.of = func(p *Plan, id string, at front) []*group {
		times := p.at(engine.ModelRequestTimes, id, at)
		if len(p.of(engine.RequestDuration, id)) > 0 || len(times) == 0 || !p.trusted(at.model) {
			return orFirst(p, id, at)
		}
		return times
	}
	return h
}

// orFirstResponse are the histograms of a signal, or else the first responses of
// models that stream, or of those that do not.
func orFirstResponse(signal engine.Signal, streaming bool) histograms {
	return histograms{signal, anyOf(signal, engine.ModelFirstResponse), true, func(p *Plan, id string, at front) []*group {
		if len(p.of(signal, id)) > 0 {
			return p.exposed(signal, id, at)
		}
		return selected(p.at(engine.ModelFirstResponse, id, at), func(g *group) bool {
			streams, known := p.streams(g.model)
			return known && streams == streaming
		})
	}}
}

// passedOn passes histograms on, one for each front.
func passedOn(h histograms) Rule {
	return h.rule(inputs{}, func(p *Plan, f *Family, _ string, _ front, groups []*group, lset labels.Labels) {
		for _, g := range groups {
			p.distribute(f, g, lset)
		}
	}).because(whyShown)
}

// streams says whether a model's first response is its first token. Where the
// server did not say, one that has the histogram while others have not is
// decoupled: up to 25.12 only those had it; else it is not known.
func (p *Plan) streams(model string) (streams, known bool) {
	if streams, known = p.identity.Topology.Streams(model); known {
		return streams, true
	}
	have := make(map[string]bool)
	for _, g := range p.groups[engine.ModelFirstResponse] {
		have[g.model] = true
	}
	return true, len(have) < p.loaded
}

// meanOver is the mean of a histogram's observations over the window.
func (p *Plan) meanOver(groups []*group) Eval { return quotient(p.observations(groups)) }

// observations are the columns of histograms that have the sum and the number of what
// was observed.
func (p *Plan) observations(groups []*group) (sums, counts []int) {
	for _, g := range groups {
		sums = append(sums, p.columnsOf(g.sum)...)
		counts = append(counts, p.columnsOf(g.count)...)
	}
	return sums, counts
}

// mean is the mean of histograms over the window.
func mean(h histograms) Rule {
	name := Prefix + string(h.signal)
	return h.rule(inputs{}, func(p *Plan, f *Family, _ string, _ front, groups []*group, lset labels.Labels) {
		p.emit(f, lset, p.gatesOf(groups), p.meanOver(groups))
	}).queried("rate(" + name + "_sum[1m]) / rate(" + name + "_count[1m])")
}

// durations are the signals of which [Plan.duration] is made.
func durations() inputs {
	return anyOf(engine.RequestDuration).or(allOf(engine.ModelRequestSeconds, engine.ModelSuccess))
}

// duration is the mean time of a front's requests over the window, what it is
// made of, and what holds it back.
func (p *Plan) duration(id string, at front) (Eval, []*group, Gate) {
	if of := p.of(engine.RequestDuration, id); len(of) > 0 {
		of = p.exposed(engine.RequestDuration, id, at)
		return p.meanOver(of), of, nil
	}
	if !p.trusted(at.model) {
		return nil, nil, nil
	}
	gate := every(p.onlyWithout(checkFrozen, id), p.onlyWithout(checkDurations, at.model))
	times, counts := p.at(engine.ModelRequestSeconds, id, at), p.at(engine.ModelSuccess, id, at)
	return quotient(p.counted(times), p.counted(counts)), times, gate
}

// meanDuration is the mean time of a front's requests.
func meanDuration() Rule {
	return eachFront(durations(), func(p *Plan, f *Family, id string, at front) {
		e, of, gate := p.duration(id, at)
		p.emit(f, p.forGroups(of, id, at), gate, e)
	}).because(whyModels)
}

// tokenTimeEstimate is the time between tokens from means alone. The tokens of a
// request are those of all fronts, so that it takes a sole one.
func tokenTimeEstimate() Rule {
	in := durations().and(allOf(engine.ModelFirstResponse, engine.RequestOutputTokens))
	return eachEntry(in, func(p *Plan, f *Family, id string) {
		fronts := p.fronts(id)
		if len(fronts) != 1 {
			return
		}
		whole, _, gate := p.duration(id, fronts[0])
		first, tokens := p.meanOver(firstTokens().of(p, id, fronts[0])), p.meanOver(p.of(engine.RequestOutputTokens, id))
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
